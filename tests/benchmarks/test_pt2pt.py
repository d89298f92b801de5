"""pt2pt: who meets whom in each pattern, on any number of ranks, with a torus and without; percentiles; wrong data."""

from __future__ import annotations

import statistics
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.benchmark_runs import (
    BIN,
    ENVIRONMENT,
    MPIRUN,
    PretendedTorus,
    block,
    document,
    measured,
    pairs_of,
    run,
    samples_of,
)
from support.waiting import wait_until

from railyard.analysis.pairs import matrices
from railyard.base.errors import InputError

AT_ONCE = ["--min-time-per-point", "0", "--warmup-time", "0", "--warmups", "0", "--repeats", "2"]
QUICK = ["--sizes", "8", "--tests", "latency", *AT_ONCE]
Pretend = Callable[[str], PretendedTorus]


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
def test_who_meets_whom_among_five_ranks(
    pattern: str, expected: list[tuple[int, int]], tmp_path: Path
) -> None:
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
def test_every_test_of_every_pattern_ends_with_verified_data(
    pattern: str, ranks: int, tmp_path: Path
) -> None:
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


def test_samples_too_short_for_the_clock_are_no_figure(sanitized: Path, tmp_path: Path) -> None:
    """With a tick of 1 s every sample is shorter than 100 ticks: the reason stands where figures would."""
    path = tmp_path / "p.json"
    arguments = ["--units", "ranks", *QUICK, "--json", str(path)]
    assert run("pt2pt", 2, *arguments, folder=sanitized, RAILYARD_TEST_TICK_S="1").status == 0
    read = document(path)
    assert samples_of(read) == {"under_sampled_percent": [100]}
    missing = {s["fom"] for s in read["not_measured"]}
    assert missing == {"slowest_latency_us", "mean_latency_us", "overlap_percent"}
    assert all("100 ticks" in s["reason"] for s in read["not_measured"])


def test_the_pattern_all_and_its_matrix_refuse_samples_too_short_for_the_clock(
    sanitized: Path, tmp_path: Path
) -> None:
    path, pairs = tmp_path / "p.json", tmp_path / "all.pairs"
    arguments = ["--units", "ranks", "--pattern", "all", *QUICK, "--pairs", str(pairs), "--json", str(path)]
    assert run("pt2pt", 3, *arguments, folder=sanitized, RAILYARD_TEST_TICK_S="1").status == 0
    read = document(path)
    assert samples_of(read) == {"under_sampled_percent": [100]}
    assert [s["fom"] for s in read["not_measured"]] == ["slowest_latency_us"]
    assert all(point.measured.size == 0 for point in matrices.read(pairs).points)


ALL_PAIRS = ["--units", "ranks", "--pattern", "shift", "--steps", "1-4", "--tests", "latency,bandwidth"]


def test_a_matrix_has_the_median_of_every_pair(tmp_path: Path) -> None:
    path = tmp_path / "all.pairs"
    # Of two samples rates have another median.
    arguments = [*ALL_PAIRS, "--sizes", "8,1KiB", *AT_ONCE[:-1], "3"]
    read = measured("pt2pt", 5, *arguments, "--pairs", str(path), folder=tmp_path)
    found = matrices.read(path)
    assert len(found.points) == 4 and all(point.measured.size == 5 * 4 for point in found.points)
    for series in read["series"]:
        labels = series["labels"]
        if "from_rank" in labels:
            (point,) = (
                one
                for one in found.points
                if (one.test, one.size_bytes) == (labels["test"], labels["size_bytes"])
            )
            value = point.values[labels["from_rank"], labels["to_rank"]]
            assert value == pytest.approx(statistics.median(series["samples"]), rel=1e-6)


def test_all_pairs_are_a_matrix_and_a_sample_for_each_step(tmp_path: Path) -> None:
    path = tmp_path / "all.pairs"
    arguments = ["--units", "ranks", "--pattern", "all", *QUICK, "--pairs", str(path)]
    (slowest,) = measured("pt2pt", 5, *arguments, folder=tmp_path)["series"]
    (point,) = matrices.read(path).points
    assert (slowest["fom"], len(slowest["samples"])) == ("slowest_latency_us", 4)
    assert (point.values > 0).sum() == 20 and not point.values.diagonal().any()


def test_a_run_that_is_killed_leaves_the_pairs_that_it_has_measured(tmp_path: Path) -> None:
    path = tmp_path / "all.pairs"
    options = ["--units", "ranks", "--pattern", "all", "--tests", "latency", "--sizes", "8", "--repeats", "3"]
    options += ["--min-time-per-point", "1", "--warmup-time", "0", "--pairs", str(path)]
    command = [*MPIRUN, "-n", "4", str(BIN / "pt2pt"), *options]
    output = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=output, stderr=output, env=ENVIRONMENT) as running:
        wait_until(lambda: _has_a_pair(path), "a pair in the file")
        running.terminate()
    assert _has_a_pair(path)


def _has_a_pair(path: Path) -> bool:
    try:
        return matrices.read(path).points[0].measured.size > 0
    except InputError:
        return False  # rank 0 has not written the head yet


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--pairs", "/nowhere/all.pairs"], "--pairs /nowhere/all.pairs: cannot be written"),
        (["--pairs", "x", "--per-node", "1,2"], "--pairs x: of one rank of each node"),
    ],
)
def test_pairs_that_cannot_be_written_are_one_line(arguments: list[str], line: str) -> None:
    done = run("pt2pt", 4, "--units", "ranks", *QUICK, *arguments)
    assert done.status in (2, 3) and line in done.err and len(done.error_lines) == 1, done.err
