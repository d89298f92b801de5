"""contention: who meets whom, one node, uneven nodes, the aggregate of the pairs, wrong data."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.benchmark_runs import BIN, document, measured, mpirun, pairs_of, preload

AT_ONCE = ["--min-time-per-point", "0", "--warmup-time", "0"]
QUICK = ["--sizes", "8,1KiB", "--repeats", "3", *AT_ONCE]


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_runs_on_one_host_by_ranks(ranks: int, tmp_path: Path) -> None:
    read = measured("contention", ranks, *QUICK, "--groups", "ranks", folder=tmp_path)
    assert pairs_of(read, size_bytes=8, round=0) == [(rank, rank + ranks // 2) for rank in range(ranks // 2)]
    foms = {"slowest_latency_us", "mean_latency_us", "pair_latency_us"}
    foms |= {"aggregate_bandwidth_gbyte_s", "pair_bandwidth_gbyte_s"}
    assert {s["fom"] for s in read["series"]} == foms | {"overlap_percent"}
    assert all(len(s["samples"]) == 3 for s in read["series"])
    assert all(min(s["samples"]) > 0 for s in read["series"] if s["fom"] in foms)


@pytest.mark.parametrize(
    ("ranks", "per_node", "options", "met", "resting"),
    [
        # nodes n0, n1 against n2, n3: rank 1 of n0 meets rank 1 of n3
        (8, 2, "", {0: [(0, 4), (1, 7), (2, 6), (3, 5)]}, 0),
        # a node keeps one partner
        (8, 2, "--spread 0", {0: [(0, 4), (1, 5), (2, 6), (3, 7)]}, 0),
        (4, 1, "--groups alternate --rounds 2", {0: [(0, 1), (2, 3)], 1: [(0, 3), (2, 1)]}, 0),
        (6, 2, "", {0: [(0, 2), (1, 3)]}, 1),
        (4, 2, "--pairs 1", {0: [(0, 2)]}, 0),
    ],
)
def test_who_meets_whom_in_each_round(
    *,
    pretend_hosts: Path,
    tmp_path: Path,
    ranks: int,
    per_node: int,
    options: str,
    met: dict[int, list[tuple[int, int]]],
    resting: int,
) -> None:
    """Rank r is on host n<r / per_node>; an odd node rests."""
    program = preload(pretend_hosts, BIN / "contention")
    words = [*QUICK, *options.split(), "--json", str(tmp_path / "c.json")]
    outcome = mpirun("-n", str(ranks), *program, *words, env={"TEST_RANKS_PER_NODE": str(per_node)})
    assert (outcome.status, outcome.err) == (0, "")
    read = document(tmp_path / "c.json")
    assert {number: pairs_of(read, size_bytes=8, round=number) for number in met} == met
    assert read["parameters"]["resting_nodes"] == resting


def test_the_load_is_kept_up_until_all_pairs_have_finished(tmp_path: Path) -> None:
    """The windows of a sample are those asked for, whatever the pairs transfer after them."""
    arguments = ["--groups", "ranks", "--tests", "bandwidth", "--sizes", "64KiB", "--repeats", "5", *AT_ONCE]
    read = measured("contention", 4, *arguments, "--windows", "50", folder=tmp_path)
    units = {u["test"]: (u["least"], u["most"]) for u in read["parameters"]["sample_units"]}
    assert units == {"bandwidth": (50, 50)}
    aggregate = next(s["samples"] for s in read["series"] if s["fom"] == "aggregate_bandwidth_gbyte_s")
    each = [s["samples"] for s in read["series"] if s["fom"] == "pair_bandwidth_gbyte_s"]
    for whole, *pair in zip(aggregate, *each, strict=True):
        assert whole <= 2 * min(pair) * (1 + 1e-9)


@pytest.mark.parametrize(("test", "size"), [("latency", "4MiB"), ("bandwidth", "64KiB")])
def test_samples_become_longer_until_a_point_takes_its_time(test: str, size: str, tmp_path: Path) -> None:
    """A unit copies megabytes, so ranks that wait for a processor do not slow it a thousand times.

    They do slow a unit of short messages so much: a sample that was planned in a quiet moment took more than a minute.
    """
    arguments = ["--groups", "ranks", "--sizes", size, "--repeats", "1", "--tests", test, "--windows", "1"]
    read = measured("contention", 2, *arguments, "--min-time-per-point", "0.5", folder=tmp_path)
    assert all(units["least"] > 1 for units in read["parameters"]["sample_units"])


def test_slow_points_get_fewer_samples_on_all_pairs(tmp_path: Path) -> None:
    arguments = "--groups ranks --sizes 64KiB --repeats 500 --max-time-per-point 0.000001"
    read = measured("contention", 4, *arguments.split(), *AT_ONCE, folder=tmp_path)
    assert {len(s["samples"]) for s in read["series"]} == {3}
