"""sonar on this machine: pings between pretended nodes, counters from trees of files; no time is asserted."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import counter_trees
from support.benchmark_runs import (
    BIN,
    Outcome,
    assert_data_wrong,
    assert_refused,
    document,
    mpirun,
    preload,
    run,
)

QUICK = ["--sizes", "1,4KiB", "--repeats", "1", "--count", "2", "--settle", "0"]


def sounded(
    library: Path, tmp_path: Path, ranks: int, *arguments: str, folder: Path = BIN, **env: str
) -> Outcome:
    for rank in range(ranks):
        counter_trees.net_device(tmp_path / f"tree/n{rank}", "nic0", {"tx_bytes": 100})
    command = [*preload(library, folder / "sonar"), *QUICK, "--root", f"{tmp_path}/tree/%h", *arguments]
    return mpirun("-n", str(ranks), *command, env={"TEST_RANKS_PER_NODE": "1", **env})


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_pings_of_every_kind_are_verified(pretend_hosts: Path, tmp_path: Path, ranks: int) -> None:
    path = tmp_path / "sonar.json"
    outcome = sounded(pretend_hosts, tmp_path, ranks, "--pings", "send,put,get", "--json", str(path))
    assert (outcome.status, outcome.err) == (0, "")
    read = document(path)
    labels = [tuple(s["labels"].values()) for s in read["series"] if s["fom"] == "source_sent_bytes"]
    kinds = ["send", "put", "get"]
    assert labels == [(k, p, s) for k in kinds for p in ("random", "zero") for s in (1, 4096)]
    assert {sample for s in read["series"] for sample in s["samples"]} == {0.0}, "files that nobody counts in"
    assert {m["fom"] for m in read["not_measured"]} == {"efficiency_percent"}


def test_help_is_printed_once() -> None:
    outcome = run("sonar", 2, "--help")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.count("Usage:") == 1 and "--settle SECONDS" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ("--pings shout", ["--pings shout", "send, put, get"]),
        ("--payloads ones", ["--payloads ones", "random, zero"]),
        ("--sizes 0-4", ["--sizes 0-4", "from 1 B"]),
        ("--count 0", ["--count 0"]),
        ("--settle soon", ["--settle soon"]),
        ("--json /no/such/folder/x", ["cannot be written"]),
    ],
)
def test_sonar_refuses(arguments: str, parts: list[str]) -> None:
    assert_refused(run("sonar", 2, *arguments.split()), "sonar", *parts)


def test_one_rank_is_refused() -> None:
    assert_refused(run("sonar", 1), "sonar", "1 rank", "2 ranks")


def test_two_ranks_of_one_node_are_refused(tmp_path: Path) -> None:
    assert_refused(run("sonar", 2), "sonar", "share a node")


def test_an_unreadable_counter_ends_the_run_with_one_line(pretend_hosts: Path, tmp_path: Path) -> None:
    outcome = sounded(pretend_hosts, tmp_path, 2, "--group", "slingshot")
    assert outcome.status == 2
    assert len(outcome.error_lines) == 1 and "sys/class/cxi" in outcome.err


def test_sonar_under_sanitizers(sanitized: Path, pretend_hosts: Path, tmp_path: Path) -> None:
    path = tmp_path / "sonar.json"
    outcome = sounded(pretend_hosts, tmp_path, 3, "--json", str(path), folder=sanitized)
    assert (outcome.status, outcome.err) == (0, "")
    assert document(path)["verified"] is True


def test_sonar_finds_a_corrupted_byte(sanitized: Path, pretend_hosts: Path, tmp_path: Path) -> None:
    path = tmp_path / "sonar.json"
    outcome = sounded(
        pretend_hosts, tmp_path, 2, "--json", str(path), folder=sanitized, RAILYARD_TEST_FAULT="1"
    )
    assert_data_wrong(outcome, path, "rank 1, send of 1 bytes")
