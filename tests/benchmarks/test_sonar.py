"""sonar on this machine: pings between pretended nodes, counters from trees of files; no time is asserted."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import counter_trees
from support.benchmark_runs import BIN, MPICC, Outcome, assert_data_wrong, assert_refused, document, mpirun, preload

QUICK = ["--sizes", "1,4KiB", "--repeats", "1", "--count", "2", "--settle", "0"]


def sounded(library: Path, tmp_path: Path, ranks: int, *arguments: str, folder: Path = BIN, **env: str) -> Outcome:
    for rank in range(ranks):
        counter_trees.net_device(tmp_path / f"tree/n{rank}", "nic0", {"tx_bytes": 100})
    command = [*preload(library, folder / "sonar"), *QUICK, "--root", f"{tmp_path}/tree/%h", *arguments]
    return mpirun("-n", str(ranks), *command, env={"TEST_RANKS_PER_NODE": "1"} | env)


def heard(library: Path, tmp_path: Path, ranks: int, *arguments: str, folder: Path = BIN) -> dict[str, Any]:
    """The document of a good run."""
    path = tmp_path / "sonar.json"
    outcome = sounded(library, tmp_path, ranks, *arguments, "--json", str(path), folder=folder)
    assert (outcome.status, outcome.err) == (0, "")
    return document(path)


@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_pings_of_every_kind_are_verified(sanitized: Path, pretend_hosts: Path, tmp_path: Path, ranks: int) -> None:
    read = heard(pretend_hosts, tmp_path, ranks, "--pings", "send,put,get", folder=sanitized)
    labels = [tuple(s["labels"].values()) for s in read["series"] if s["fom"] == "source_sent_bytes"]
    kinds = ["send", "put", "get"]
    assert labels == [(k, p, s) for k in kinds for p in ("random", "zero") for s in (1, 4096)]
    assert {sample for s in read["series"] for sample in s["samples"]} == {0.0}, "files that nobody counts in"
    assert {m["fom"] for m in read["not_measured"]} == {"efficiency_percent"}


def test_an_unreadable_counter_ends_the_run_with_one_line(pretend_hosts: Path, tmp_path: Path) -> None:
    outcome = sounded(pretend_hosts, tmp_path, 2, "--group", "slingshot")
    assert outcome.status == 2
    assert len(outcome.error_lines) == 1 and "sys/class/cxi" in outcome.err


def test_a_metric_that_the_group_does_not_have_is_not_measured_instead_of_zero(
    pretend_hosts: Path, tmp_path: Path
) -> None:
    for rank in range(2):
        counter_trees.cxi_adapter(tmp_path / f"tree/n{rank}", "cxi0", {})
    read = heard(pretend_hosts, tmp_path, 2, "--group", "slingshot")
    packets = {f"{end}_{way}_packets_count" for end in ("source", "destination") for way in ("sent", "received")}
    assert {each["fom"] for each in read["not_measured"]} == {*packets, "efficiency_percent"}
    assert not packets & {each["fom"] for each in read["series"]}


def test_the_default_group_is_the_fabrics(pretend_hosts: Path, tmp_path: Path) -> None:
    for rank in range(2):
        counter_trees.rdma_port(tmp_path / f"tree/n{rank}", "mlx5_0", {})
    assert heard(pretend_hosts, tmp_path, 2)["parameters"]["group"] == "infiniband"


def test_counters_that_see_less_than_the_payload_give_no_efficiency(pretend_hosts: Path, tmp_path: Path) -> None:
    """A counter that another process moves on by a few bytes: a management network."""
    file = tmp_path / "tree/n0/sys/class/net/nic0/statistics/tx_bytes"
    ticking = subprocess.Popen(
        ["sh", "-c", f"n=100; while :; do n=$((n+1)); echo $n > {file}.new; mv {file}.new {file}; done"]
    )
    try:
        read = heard(pretend_hosts, tmp_path, 2, "--sizes", "1MiB", "--repeats", "3")
    finally:
        ticking.terminate()
        ticking.wait()
    reasons = {each["fom"]: each["reason"] for each in read["not_measured"]}
    assert "another network" in reasons["efficiency_percent"]


def test_a_window_that_one_rank_cannot_make_is_made_by_none(pretend_hosts: Path, tmp_path: Path) -> None:
    source = tmp_path / "no_window.c"
    source.write_text(
        "#include <mpi.h>\n"
        "int MPI_Win_create(void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *window) {\n"
        "    int rank = 0, code = PMPI_Win_create(base, size, unit, info, comm, window);\n"
        "    PMPI_Comm_rank(comm, &rank);\n"
        "    return rank == 1 ? MPI_ERR_OTHER : code;\n"
        "}\n"
    )
    library = tmp_path / "no_window.so"
    subprocess.run([MPICC, "-shared", "-fPIC", "-o", library, source], check=True)
    read = heard(Path(f"{pretend_hosts}:{library}"), tmp_path, 2, "--pings", "put")
    assert {each["reason"] for each in read["not_measured"]} == {"this MPI makes no window on this network"}


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
@pytest.mark.parametrize("wrong", [["--group", "myrinet"], ["--json", "/no/such/folder/x"], ["--count", "0"], []])
def test_error_paths_of_sonar_under_sanitizers(
    *, sanitized: Path, pretend_hosts: Path, tmp_path: Path, ranks: int, wrong: list[str]
) -> None:
    """Without a wrong option, all ranks are on one node."""
    alone = {} if wrong else {"TEST_RANKS_PER_NODE": str(ranks)}
    outcome = sounded(pretend_hosts, tmp_path, ranks, *wrong, folder=sanitized, **alone)
    program = "railyard-counters" if "--group" in wrong and ranks > 1 else "sonar"
    assert_refused(outcome, program, *(wrong[1:] if ranks > 1 and "--group" in wrong else []))


def test_sonar_finds_a_corrupted_byte(sanitized: Path, pretend_hosts: Path, tmp_path: Path) -> None:
    path = tmp_path / "sonar.json"
    outcome = sounded(pretend_hosts, tmp_path, 2, "--json", str(path), folder=sanitized, RAILYARD_TEST_FAULT="1")
    assert_data_wrong(outcome, path, "rank 1, send of 1 bytes")
