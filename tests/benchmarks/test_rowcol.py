"""rowcol: which ranks share a row or plane, the slowest split, blocks with gaps, wrong data."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from support.benchmark_runs import Pretend, assert_refused, block, measured, run, samples_of

AT_ONCE = ["--start", "barrier", "--min-time-per-point", "0", "--warmup-time", "0"]
QUICK = ["--sizes", "8,1KiB", "--repeats", "3", *AT_ONCE]
ALL = ["alltoall", "allgather", "allreduce", "bcast", "barrier"]


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_runs_without_coordinates_on_all_ranks(ranks: int, tmp_path: Path) -> None:
    read = measured("rowcol", ranks, *QUICK, folder=tmp_path)
    slowest = [s["labels"] for s in read["series"] if s["fom"] == "slowest_us"]
    sizes = {"barrier": (0,)}
    assert slowest == [
        {"collective": collective, "split": "all", "ranks": ranks, "size_bytes": size}
        for collective in ALL
        for size in sizes.get(collective, (8, 1024))
    ]
    timed = [s for s in read["series"] if s["fom"] != "calls_count"]
    assert all(len(s["samples"]) == 3 and min(s["samples"]) > 0 for s in timed)
    assert {calls for s in read["series"] if s not in timed for calls in s["samples"]} == {1 + 2 + 3}


@pytest.mark.parametrize(
    ("text", "ranks", "expected"),
    [
        (
            *(block(2, 2, 2), 8),
            {
                "X": [("n0", "n4"), ("n1", "n5"), ("n2", "n6"), ("n3", "n7")],
                "Y": [("n0", "n2"), ("n1", "n3"), ("n4", "n6"), ("n5", "n7")],
                "Z": [("n0", "n1"), ("n2", "n3"), ("n4", "n5"), ("n6", "n7")],
                "XY": [("n0", "n6"), ("n1", "n7")],
                "XZ": [("n0", "n5"), ("n2", "n7")],
                "YZ": [("n0", "n3"), ("n4", "n7")],
            },
        ),
        # both nodes of a router are in one row along Y
        (
            *(block(2, 2, 1, nodes_per_router=2), 8),
            {"X": [("n0", "n4"), ("n1", "n5"), ("n2", "n6"), ("n3", "n7")], "Y": [("n0", "n3"), ("n4", "n7")]},
        ),
        # the block may wrap round the torus and be odd
        ("torus 5 1 2\nn0 4 0 1\nn1 0 0 1\nn2 1 0 1\n", 3, {"X": [("n0", "n2")], "Z": []}),
    ],
)
def test_rows_and_planes_are_those_of_the_block(
    *, text: str, ranks: int, expected: dict[str, list[tuple[str, str]]], pretend: Pretend
) -> None:
    words = ["--collectives", "barrier", "--splits", ",".join(expected)]
    read = pretend(text).measured("rowcol", ranks, *QUICK, *words)
    found = [s["labels"] for s in read["series"] if s["fom"] == "split_us"]
    ends = {way: [(one["from"], one["to"]) for one in found if one["split"] == way] for way in expected}
    assert ends == expected
    box = read["parameters"]["box_nodes"]
    extent = {way: math.prod(box["XYZ".index(letter)] for letter in way) for way in expected if expected[way]}
    assert {s["labels"]["split"]: s["labels"]["ranks"] for s in read["series"]} == extent
    missing = [(way, "1 rank in each split") for way in expected if not expected[way]]
    assert [(m["labels"]["split"], m["reason"]) for m in read["not_measured"]] == missing


def test_ranks_of_a_node_are_in_its_row(pretend: Pretend) -> None:
    torus = pretend(block(2, 2, 1))
    read = torus.measured("rowcol", 8, *QUICK, "--collectives", "alltoall", "--splits", "X", per_node=2)
    assert {s["labels"]["ranks"] for s in read["series"]} == {4}
    assert read["parameters"]["ranks_per_node"] == 2


def test_the_slowest_split_is_the_largest_of_each_sample(pretend: Pretend) -> None:
    read = pretend(block(2, 4, 1)).measured("rowcol", 8, "--sizes", "8", "--repeats", "5", *AT_ONCE, "--splits", "X")
    for collective in ALL:
        chosen = [s for s in read["series"] if s["labels"]["collective"] == collective]
        slowest = next(s["samples"] for s in chosen if s["fom"] == "slowest_us")
        each = [s["samples"] for s in chosen if s["fom"] == "split_us"]
        assert len(each) == 4
        assert slowest == [max(samples) for samples in zip(*each, strict=True)]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("torus 4 1 1\nn0 0 0 0\nn1 2 0 0\nn2 3 1 0\n", ["line 4", "inside the torus"]),
        ("torus 5 1 1\nn0 0 0 0\nn1 2 0 0\nn2 3 0 0\n", ["not contiguous along X"]),
        ("torus 4 4 1\nn0 0 0 0\nn1 1 0 0\nn2 0 1 0\n", ["span 2x2x1", "position 1,1,0"]),
    ],
)
def test_allocations_that_are_no_block_are_refused(text: str, parts: list[str], pretend: Pretend) -> None:
    torus = pretend(text)
    assert_refused(torus.run("rowcol", 3, *QUICK), "rowcol", f"--coordinates {torus.coordinates}", *parts)


def test_uneven_ranks_and_splits_of_one_are_refused(pretend: Pretend) -> None:
    torus = pretend(block(2, 1, 1))
    assert_refused(torus.run("rowcol", 3, *QUICK, per_node=2), "rowcol", "1 ranks on n1, 2 on n0")
    assert_refused(torus.run("rowcol", 2, "--splits", "Y,Z"), "rowcol", "--splits", "1 rank")


def by_clock(late: str, *arguments: str, folder: Path) -> dict[str, Any]:
    clock = ["--start", "clock", "--clock", "pings", "--late", late, "--repeats", "5"]
    return measured("rowcol", 3, *clock, "--warmup-time", "0", "--min-time-per-point", "0", *arguments, folder=folder)


@pytest.mark.parametrize("collective", [*ALL, "alltoallv", "reduce-scatter", "allreduce-float"])
def test_samples_begin_at_an_agreed_time_of_one_clock(collective: str, tmp_path: Path) -> None:
    """Nobody is late by a minute, so every sample counts, and the mean of the ranks is below the largest."""
    read = by_clock("60", "--collectives", collective, "--sizes", "8,24", folder=tmp_path)
    of = {s["fom"]: s["samples"] for s in read["series"] if s["labels"]["size_bytes"] in (0, 24)}
    assert of["dropped_count"] == [0]
    assert len(of["slowest_us"]) == 5
    for mean, slowest in zip(of["mean_us"], of["slowest_us"], strict=True):
        assert 0 < mean <= slowest * (1 + 1e-9)
    assert read["parameters"]["start"] == "clock"
    assert 0 <= read["parameters"]["clock_error_us"] <= read["parameters"]["clock_bound_us"]


def test_samples_in_which_a_rank_was_late_are_dropped(tmp_path: Path) -> None:
    """No clock is that good: every sample is dropped, and the point says so instead of a number."""
    path = tmp_path / "r.json"
    arguments = "--start clock --late 1e-15 --late-percent 1e-12 --max-time-per-point 0.01 --sizes 8"
    outcome = run("rowcol", 2, *arguments.split(), "--collectives", "barrier", "--json", path)
    assert (outcome.status, outcome.err) == (0, "")
    assert "not measured: slowest_us" in outcome.out and "did not begin together" in outcome.out


def test_what_is_late_grows_where_samples_are_dropped(tmp_path: Path) -> None:
    """Nobody begins within 1e-7 of a sample; a busy machine gives numbers, and how late they began.

    170 drops raise that to the whole sample, which ends the search. At 1e-4 a machine that stops ranks for
    10 ms drops nothing: it was seen once.
    """
    arguments = ["--late-percent", "1e-5", "--late-most", "100", "--max-time-per-point", "600"]
    read = by_clock("1e-15", *arguments, "--collectives", "barrier", folder=tmp_path)
    of = samples_of(read)
    assert of["dropped_count"][0] > 0
    assert len(of["slowest_us"]) == 5
    assert 0 <= of["latest_start_us"][0] <= max(of["slowest_us"])


@pytest.mark.parametrize(
    ("collective", "bus"),
    [("alltoall", 2 / 3), ("allgather", 2 / 3), ("allreduce", 4 / 3), ("bcast", 1), ("reduce-scatter", 2 / 3)],
)
def test_bandwidths_are_those_of_nccl_tests(collective: str, bus: float, tmp_path: Path) -> None:
    read = by_clock("60", "--collectives", collective, "--sizes", "24", folder=tmp_path)
    of = samples_of(read)
    whole = 24 if collective in ("allreduce", "bcast") else 24 * 3
    expected = [1e-9 * whole / (1e-6 * microseconds) for microseconds in of["slowest_us"]]
    assert of["algorithmic_bandwidth_gbyte_s"] == pytest.approx(expected)
    assert of["bus_bandwidth_gbyte_s"] == pytest.approx([bus * rate for rate in expected])


def test_planes_under_sanitizers(sanitized: Path, pretend: Pretend) -> None:
    pretend(block(2, 2, 1)).measured("rowcol", 4, *QUICK, folder=sanitized)
