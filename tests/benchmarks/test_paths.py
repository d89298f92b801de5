"""paths: which pairs stand on parallel lines, the aggregate of their rates, what is missing, wrong data."""

from __future__ import annotations

from typing import Any

import pytest
from support.benchmark_runs import Pretend, block, series_of

AT_ONCE = ["--min-time-per-point", "0", "--warmup-time", "0"]
QUICK = ["--sizes", "1KiB", "--repeats", "3", *AT_ONCE]


def pairs(read: dict[str, Any], dimension: str, paths: int) -> list[tuple[int, str, str]]:
    """Hops and ends of each path of one direction."""
    found = series_of(read, "pair_bandwidth_gbyte_s", test="bandwidth", dimension=dimension, paths=paths)
    return [(one["hops"], one["from"], one["to"]) for one in found]


def test_two_nodes_of_a_router_are_parallel_along_x_and_z(pretend: Pretend) -> None:
    read = pretend(block(2, 1, 2, nodes_per_router=2)).measured("paths", 8, *QUICK)
    assert pairs(read, "X", 1) == [(1, "n0", "n4")]
    assert pairs(read, "X", 2) == [(1, "n0", "n4"), (1, "n1", "n5")]
    assert pairs(read, "Z", 2) == [(1, "n0", "n2"), (1, "n1", "n3")]
    assert {(m["labels"]["dimension"], m["reason"]) for m in read["not_measured"]} == {
        ("Y", "extent 1: no hops in this dimension")
    }


def test_rows_along_y_are_parallel_along_z(pretend: Pretend) -> None:
    read = pretend(block(1, 2, 2, nodes_per_router=2)).measured("paths", 8, *QUICK, "--dimensions", "Y")
    assert pairs(read, "Y", 2) == [(1, "n0", "n4"), (1, "n2", "n6")]


def test_the_aggregate_is_all_bytes_over_the_whole_time(pretend: Pretend) -> None:
    """The whole runs from the first start to the last end, so no aggregate exceeds what the slowest pair allows."""
    read = pretend(block(2, 2, 2)).measured("paths", 8, *QUICK, "--dimensions", "X", "--paths", "2")
    for test in ("bandwidth", "bibandwidth"):
        chosen = [s for s in read["series"] if s["labels"]["test"] == test]
        aggregate = next(s["samples"] for s in chosen if s["fom"] == "aggregate_bandwidth_gbyte_s")
        overlap = next(s["samples"] for s in chosen if s["fom"] == "overlap_percent")
        each = [s["samples"] for s in chosen if s["fom"] == "pair_bandwidth_gbyte_s"]
        for whole, share, *pair in zip(aggregate, overlap, *each, strict=True):
            assert 0 < whole <= 2 * min(pair) * (1 + 1e-9)
            assert 0 <= share <= 100
            assert share / 100 * sum(pair) <= whole * (1 + 1e-9)  # what flowed while all were active


def test_one_path_alone_overlaps_with_itself(pretend: Pretend) -> None:
    read = pretend(block(2, 1, 1)).measured("paths", 2, *QUICK, "--paths", "1", "--tests", "bandwidth")
    (overlap,) = (s["samples"] for s in read["series"] if s["fom"] == "overlap_percent")
    assert overlap == [100, 100, 100]


def test_latency_of_paths_is_that_of_the_slowest(pretend: Pretend) -> None:
    torus = pretend(block(2, 2, 1))
    read = torus.measured(
        "paths", 4, "--tests", "latency", "--sizes", "0", "--repeats", "3", *AT_ONCE, "--dimensions", "X"
    )
    two = [s for s in read["series"] if s["labels"]["paths"] == 2]
    slowest = next(s["samples"] for s in two if s["fom"] == "slowest_latency_us")
    each = [s["samples"] for s in two if s["fom"] == "pair_latency_us"]
    assert slowest == [max(samples) for samples in zip(*each, strict=True)]
    mean = next(s["samples"] for s in two if s["fom"] == "mean_latency_us")
    assert mean == pytest.approx([sum(samples) / 2 for samples in zip(*each, strict=True)])


def test_what_cannot_be_measured_says_why(pretend: Pretend) -> None:
    torus = pretend(block(2, 2, 1, torus="4 2 2"))
    read = torus.measured("paths", 4, *QUICK, "--paths", "2,3", "--hops", "1-3", "--tests", "bandwidth")
    missing = {
        (m["labels"]["dimension"], m["labels"]["hops"], m["labels"]["paths"]): m["reason"] for m in read["not_measured"]
    }
    assert missing["X", 3, 2] == "extent 4: at most 2 hops"
    assert missing["X", 2, 2] == "no ranks at both ends of 2 such paths"
    assert missing["Y", 1, 3] == "at most 2 parallel paths"
    assert pairs(read, "X", 2) == [(1, "n0", "n2"), (1, "n1", "n3")]
