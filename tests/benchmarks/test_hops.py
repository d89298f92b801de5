"""hops: which pair stands for which hops, points and samples, bad coordinates, wrong data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.benchmark_runs import Pretend, assert_refused, block, measured

AT_ONCE = ["--min-time-per-point", "0", "--warmup-time", "0"]
QUICK = ["--sizes", "0,1KiB,64KiB", "--repeats", "3", *AT_ONCE]
TWICE = ["--repeats", "2", *AT_ONCE]


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_runs_and_writes_its_document(ranks: int, tmp_path: Path) -> None:
    read = measured("hops", ranks, *QUICK, folder=tmp_path)
    points = [(s["labels"]["test"], s["labels"]["size_bytes"]) for s in read["series"]]
    assert points == [
        *(("latency", size) for size in (0, 1024, 65536)),
        *(("bandwidth", size) for size in (1024, 65536)),
        *(("bibandwidth", size) for size in (1024, 65536)),
    ]
    assert all(len(series["samples"]) == 3 and min(series["samples"]) > 0 for series in read["series"])
    assert {s["labels"]["dimension"] for s in read["series"]} == {"none"}
    assert {s["fom"] for s in read["series"]} == {"latency_us", "bandwidth_gbyte_s"}


RING = "# a ring of 4, one node above\ntorus 4 2 1\nn0 0 0 0\nn1 1 0 0\nn2 2 0 0\nn3 0 1 0  # above n0\n"


def pairs(read: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [tuple(s["labels"][key] for key in ("dimension", "hops", "from", "to")) for s in read["series"]]


def test_measures_each_dimension_and_hop_count(pretend: Pretend) -> None:
    read = pretend(RING).measured("hops", 4, "--sizes", "8", "--tests", "latency", *TWICE)
    assert pairs(read) == [("X", 1, "n0", "n1"), ("X", 2, "n0", "n2"), ("Y", 1, "n0", "n3")]
    assert [(m["labels"]["dimension"], m["reason"]) for m in read["not_measured"]] == [
        ("Z", "extent 1: no hops in this dimension")
    ]
    assert read["parameters"]["torus"] == [4, 2, 1]


def test_wraps_and_reaches_the_samples_of_other_leaders(pretend: Pretend) -> None:
    torus = pretend("torus 3 4 1\nn0 0 1 0\nn1 2 0 0\nn2 0 0 0\n")
    arguments = ["--sizes", "1KiB", "--dimensions", "YX", "--hops", "1-2", *TWICE]
    read = torus.measured("hops", 3, *arguments)
    assert list(dict.fromkeys(pairs(read))) == [("Y", 1, "n2", "n0"), ("X", 1, "n1", "n2")]
    missing = read["not_measured"][::3]  # one per test
    assert [(m["labels"]["dimension"], m["labels"]["hops"], m["reason"]) for m in missing] == [
        ("Y", 2, "no two ranks are that many hops apart"),
        ("X", 2, "extent 3: at most 1 hops"),
    ]
    printed = torus.run("hops", 3, *arguments).out
    assert "not measured: latency_us, test latency, dimension X, hops 2" in printed


LONG = "torus 24 1 1\n" + "".join(f"n{i} {i} 0 0\n" for i in range(13))
FOUR = "torus 1 1 2 3\n" + "".join(f"n{i} 0 0 {z} {w}\n" for i, (z, w) in enumerate([(0, 0), (0, 1), (1, 0), (1, 2)]))


@pytest.mark.parametrize(
    ("text", "ranks", "per_node", "options", "expected"),
    [
        # the first rank of a node, the first node of a router
        (block(2, 1, 1, nodes_per_router=2), 8, 2, "", [("X", 1, "n0", "n2"), ("Y", 1, "n0", "n1")]),
        # as Peña et al. count (section 4.1): one hop stays inside the router, two are the next router
        (block(1, 2, 1, nodes_per_router=2), 4, 1, "--dimensions Y", [("Y", 1, "n0", "n1"), ("Y", 2, "n0", "n2")]),
        # several pairs of a point: the first and others at equal steps
        (
            *(block(4, 1, 2), 8, 1, "--dimensions X --pairs-per-point 2"),
            [("X", 1, "n0", "n2"), ("X", 1, "n4", "n6"), ("X", 2, "n0", "n4"), ("X", 2, "n2", "n6")],
        ),
        # at half the extent each pair once, not once a direction
        (
            *(block(4, 1, 2), 8, 1, "--dimensions X --pairs-per-point 9 --hops 2"),
            [("X", 2, f"n{i}", f"n{i + 4}") for i in range(4)],
        ),
        # the range of Peña et al., Figure 3: Blue Waters has 24 routers along Y and Z
        (LONG, 13, 1, "--dimensions X", [("X", hops, "n0", f"n{hops}") for hops in range(1, 13)]),
        # of Z and W with extents of 2 and 3 the programs see one ring of six: (z, w) is 3 z + w
        (FOUR, 4, 1, "--dimensions Z --hops 3", [("Z", 3, "n0", "n2")]),
    ],
)
def test_which_pair_stands_for_which_hops(
    *, pretend: Pretend, text: str, ranks: int, per_node: int, options: str, expected: list[tuple[Any, ...]]
) -> None:
    words = ["--tests", "latency", "--sizes", "8", *TWICE, *options.split()]
    assert pairs(pretend(text).measured("hops", ranks, *words, per_node=per_node)) == expected


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["no node"]),
        ("n0 0 0 0\n", ["line 1", "before the line torus"]),
        ("torus 2 2\n", ["line 1", "torus X Y Z"]),
        ("torus 2 2 2\ntorus 2 2 2\n", ["line 2", "second"]),
        ("torus 2 1 1\n\nn0 0 0\n", ["line 3", "HOST X Y Z"]),
        ("torus 2 1 1\nn0 2 0 0\n", ["line 2", "inside the torus 2x1x1"]),
        ("torus 2 1 1\nn0 0 0 0\nn0 1 0 0\n", ["line 3", "twice"]),
        ("torus 2 1 1\nn0 0 0 0\nx 1 0 0\n", ["rank 1", "host n1"]),
        ("torus 4 1 1\nn0 0 0 0\nn1 2 0 0\n", ["no two of the 2 ranks"]),
        ("torus 2 1 1 1\nn0 0 0 0\n", ["line 2", "inside the torus 2x1x1x1"]),
        ("torus 2 1 1\nn0 0 0 0 0\n", ["line 2", "more than HOST X Y Z"]),
        ("torus 2 1 1 1 1 1 1 1 1\nn0 0 0 0\n", ["line 1", "more than 8 dimensions"]),
    ],
)
def test_wrong_coordinates_are_refused(text: str, parts: list[str], pretend: Pretend) -> None:
    torus = pretend(text)
    outcome = torus.run("hops", 2, "--hops", "1", "--sizes", "8")
    assert_refused(outcome, "hops", f"--coordinates {torus.coordinates}", *parts)


def test_a_file_of_200000_nodes_is_read_in_time(pretend: Pretend) -> None:
    """Every host was compared with every other: half an hour at this size, on each rank."""
    text = "torus 200000 1 1\n" + "".join(f"n{i} {i} 0 0\n" for i in range(200_000))
    arguments = ["--hops", "1", "--dimensions", "X", "--sizes", "8", "--tests", "latency", *TWICE]
    assert pairs(pretend(text).measured("hops", 2, *arguments)) == [("X", 1, "n0", "n1")]
    twice = text + "n199999 0 0 0\n"
    assert_refused(pretend(twice).run("hops", 2, *arguments), "hops", "line 200002", "host n199999", "twice")


def test_a_host_is_known_with_and_without_its_domain(pretend: Pretend) -> None:
    """The file has full names, gethostname gives short ones; a short name of two hosts is no host's."""
    full = pretend("torus 2 1 1\nn0.site.org 0 0 0\nn1.site.org 1 0 0\n")
    done = full.run("hops", 2, "--hops", "1", "--sizes", "8", "--repeats", "2")
    assert (done.status, done.err) == (0, "")
    double = pretend("torus 2 1 1\nn0.site.org 0 0 0\nn0.other.org 1 0 0\nn1 1 0 0\n")
    assert_refused(double.run("hops", 2, "--hops", "1", "--sizes", "8"), "hops", "rank 0", "host n0")


def test_slow_points_get_fewer_samples(tmp_path: Path) -> None:
    arguments = ["--sizes", "1MiB", "--repeats", "1000", "--max-time-per-point", "0.000001"]
    read = measured("hops", 2, *arguments, folder=tmp_path)
    assert read["parameters"]["repeats"] == 1000
    assert [len(series["samples"]) for series in read["series"]] == [3, 3, 3]
