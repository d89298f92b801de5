"""pt2pt: who meets whom in each pattern, on any number of ranks, with a torus and without; percentiles; wrong data."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.benchmark_runs import Pretend, block, document, measured, pairs_of, run, samples_of

AT_ONCE = ["--min-time-per-point", "0", "--warmup-time", "0", "--warmups", "0", "--repeats", "2"]
QUICK = ["--sizes", "8", "--tests", "latency", *AT_ONCE]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("ring", [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]),
        ("shift --steps 2", [(0, 2), (1, 3), (2, 4), (3, 0), (4, 1)]),
        ("bisection", [(0, 2), (1, 3)]),
        ("nearest", [(0, 1), (2, 3)]),
        ("farthest", [(0, 4), (1, 3)]),
        ("incast", [(1, 0), (2, 0), (3, 0), (4, 0)]),
        ("fan-out", [(0, 1), (0, 2), (0, 3), (0, 4)]),
    ],
)
def test_who_meets_whom_among_five_ranks(pattern: str, expected: list[tuple[int, int]], tmp_path: Path) -> None:
    arguments = ["--units", "ranks", "--pattern", *pattern.split(), *QUICK]
    assert pairs_of(measured("pt2pt", 5, *arguments, folder=tmp_path)) == expected


def test_a_random_permutation_meets_every_rank_once_and_changes_with_the_step(tmp_path: Path) -> None:
    arguments = ["--units", "ranks", "--pattern", "random", "--steps", "1-3", *QUICK]
    read = measured("pt2pt", 8, *arguments, folder=tmp_path)
    found = [pairs_of(read, step=step) for step in (1, 2, 3)]
    for met in found:
        assert sorted(first for first, _ in met) == sorted(second for _, second in met) == list(range(8))
        assert all(first != second for first, second in met)
    assert len({tuple(sorted(met)) for met in found}) == 3


@pytest.mark.parametrize("ranks", [2, 3, 8])
@pytest.mark.parametrize("pattern", ["ring", "incast", "fan-out", "random"])
def test_every_test_of_every_pattern_ends_with_verified_data(pattern: str, ranks: int, tmp_path: Path) -> None:
    """Two ranks of a ring are two pairs: each leads one and follows in the other."""
    tests = ["--tests", "latency,bandwidth,bibandwidth,rate,tail", "--sizes", "8,64KiB"]
    arguments = ["--units", "ranks", "--pattern", pattern, *tests, *AT_ONCE, "--window", "4"]
    read = measured("pt2pt", ranks, *arguments, folder=tmp_path)
    assert {s["fom"] for s in read["series"] if not s["fom"].startswith("pair_")} == {
        *("slowest_latency_us", "mean_latency_us", "overlap_percent"),
        *("aggregate_bandwidth_gbyte_s", "aggregate_rate_message_s"),
        *(f"{which}_latency_{p}_us" for which in ("slowest", "mean") for p in ("p50", "p99", "p999")),
    }


def test_percentiles_are_in_order(tmp_path: Path) -> None:
    arguments = ["--units", "ranks", "--tests", "tail", "--sizes", "8", "--batch", "1000", *AT_ONCE]
    read = measured("pt2pt", 2, *arguments, "--pattern", "nearest", folder=tmp_path)
    of = samples_of(read)
    for p50, p99, p999 in zip(*(of[f"slowest_latency_{p}_us"] for p in ("p50", "p99", "p999")), strict=True):
        assert 0 < p50 <= p99 <= p999


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("bisection", [(0, 4), (1, 5), (2, 6), (3, 7)]),
        ("nearest", [(0, 2), (1, 3), (4, 6), (5, 7)]),
        ("farthest", [(0, 5), (1, 4), (2, 7), (3, 6)]),
    ],
)
def test_patterns_follow_the_torus(pattern: str, expected: list[tuple[int, int]], pretend: Pretend) -> None:
    """4x1x2 routers, two ranks of hosts along X are two hops apart at most."""
    read = pretend(block(4, 1, 2)).measured("pt2pt", 8, "--pattern", pattern, *QUICK)
    assert pairs_of(read) == expected


def test_ranks_of_a_node_meet_those_at_the_same_place(pretend: Pretend) -> None:
    read = pretend(block(2, 1, 1)).measured("pt2pt", 8, "--per-node", "1,2,4", *QUICK, per_node=4)
    assert pairs_of(read, per_node=1) == [(0, 4), (4, 0)]
    assert pairs_of(read, per_node=2) == [(0, 4), (2, 6), (4, 0), (6, 2)]
    assert len(pairs_of(read, per_node=4)) == 8


@pytest.mark.parametrize("which", ["host", "pings"])
def test_the_error_of_the_common_clock_is_written(which: str, tmp_path: Path) -> None:
    read = measured("pt2pt", 4, "--units", "ranks", "--clock", which, *QUICK, folder=tmp_path)
    bound = read["parameters"]["clock_bound_us"]
    assert (bound == 0) == (which == "host") and bound >= 0


@pytest.mark.parametrize(
    ("pattern", "missing"),
    [("ring", ["slowest_latency_us", "mean_latency_us", "overlap_percent"]), ("all", ["slowest_latency_us"])],
)
def test_samples_too_short_for_the_clock_are_no_figure(
    pattern: str, missing: list[str], sanitized: Path, tmp_path: Path
) -> None:
    """With a tick of 1 s every sample is shorter than 100 ticks: the reason stands where figures would."""
    path = tmp_path / "p.json"
    arguments = ["--units", "ranks", "--pattern", pattern, *QUICK, "--json", str(path)]
    assert run("pt2pt", 3, *arguments, folder=sanitized, RAILYARD_TEST_TICK_S="1").status == 0
    read = document(path)
    assert samples_of(read) == {"under_sampled_percent": [100]}
    assert [s["fom"] for s in read["not_measured"]] == missing
    assert all("100 ticks" in s["reason"] for s in read["not_measured"])


def test_all_pairs_have_a_sample_for_each_step(tmp_path: Path) -> None:
    arguments = ["--units", "ranks", "--pattern", "all", *QUICK]
    (slowest,) = measured("pt2pt", 5, *arguments, folder=tmp_path)["series"]
    assert (slowest["fom"], len(slowest["samples"])) == ("slowest_latency_us", 4)
