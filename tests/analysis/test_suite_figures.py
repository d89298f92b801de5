"""Figures of the exchange benchmarks and of NICs: what is drawn from records with known numbers, and its words."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from support import synthetic
from support.evidence import Change
from support.records.figures import fom as fom_of

from railyard.analysis.cases import cases
from railyard.analysis.figures import drawing, general, painting, registry, svg
from railyard.analysis.figures.drawing import Drawing
from railyard.analysis.judge.judged import judge
from railyard.records.assemble import LaunchRun
from railyard.records.folded import nic_bytes
from railyard.records.record import Verdict


def drawn(
    benchmark: str, series: list[dict[str, Any]], change: Change = lambda run, _: run, **changes: Any
) -> list[Drawing]:
    """The figures of one job whose launches all found these series."""
    asked = {"placements": ["custom"], "launches_per_combination": 2, "extents": [2, 1, 1], **changes}
    made = synthetic.case(benchmark=benchmark, **asked)
    (case,) = cases.group([synthetic.job(made, lambda *_: series, change=change)])
    return registry.own_drawings(case)


def point(fom: str, value: float, **labels: str | int) -> dict[str, Any]:
    return {"fom": fom, "labels": labels, "samples": [value, value]}


def splits(collective: str, size: int, **times_us: float) -> list[dict[str, Any]]:
    return [
        point("slowest_us", value, collective=collective, split=way, ranks=4, size_bytes=size)
        for way, value in times_us.items()
    ]


def test_rows_and_planes_say_what_the_paper_says() -> None:
    series = splits("alltoall", 1024, YZ=410, X=100, Y=26, Z=100, XY=410, XZ=1000)
    series += splits("alltoall", 8, X=1, Y=1)
    (figure,) = drawn("rowcol", series)
    assert figure.name == "rowcol-alltoall"
    assert "Alltoall, 1 KiB" in figure.title
    said = figure.statement.replace("\N{MINUS SIGN}", "-")
    few = "(n too small to tell)"
    assert (
        said
        == f"Y takes 74.0 % less time than X {few}; XY takes 59.0 % less time than XZ {few}; YZ takes 59.0 % less time "
        f"than XZ {few}."
    )
    assert [row[1] for row in figure.data.rows] == ["X", "Y", "Z", "XY", "XZ", "YZ"]
    assert figure.foms >= {"slowest_us", "split_us", "mean_us"}


def test_every_collective_has_its_figure_and_every_placement_its_bars() -> None:
    series = splits("alltoall", 8, X=3) + splits("barrier", 0, X=2)
    figures = drawn("rowcol", series, placements=["plain", "custom"])
    assert [figure.name for figure in figures] == ["rowcol-alltoall", "rowcol-barrier"]
    assert [row[0] for row in figures[0].data.rows] == ["plain", "custom"]
    assert "Barrier: the slowest" in figures[1].title
    assert "<svg" in drawing.inline_svg(figures[0], "c1")


def test_parallel_paths_are_lines_by_dimension_and_number() -> None:
    series = [
        point(
            "aggregate_bandwidth_gbyte_s",
            rate * hops,
            test="bandwidth",
            dimension=dimension,
            hops=hops,
            paths=paths,
            size_bytes=1 << 20,
        )
        for dimension, paths, rate in (("X", 1, 1.0), ("X", 2, 1.0), ("Y", 1, 0.5), ("Y", 2, 1.0))
        for hops in (2, 1)
    ]
    (figure,) = drawn("paths", series)
    assert figure.title == "Aggregate bandwidth, 1 MiB"
    assert figure.statement == "The most paths carry 1.00 times as much in X, 2.00 times as much in Y as one path."
    assert [row[:2] for row in figure.data.rows][:2] == [("X, 1 path", "1"), ("X, 1 path", "2")]


def test_contention_is_drawn_over_the_pairs_of_a_node() -> None:
    series = [
        point(fom, pairs * (1 + round_), test=test, pairs_per_node=pairs, round=round_, size_bytes=size)
        for fom, test in (("aggregate_bandwidth_gbyte_s", "bandwidth"), ("slowest_latency_us", "latency"))
        for pairs in (1, 2, 4)
        for round_ in (0, 1)
        for size in (8, 65536)
    ]
    rate, latency = drawn("contention", series)
    assert (rate.title, latency.title) == ("Aggregate bandwidth, 64 KiB", "Latency of the slowest pair, 8 B")
    assert [row[1] for row in rate.data.rows] == ["1", "2", "4"]
    assert "GB/s at 1 pair per node" in rate.statement and "at 4 pairs per node" in rate.statement


def test_halo_shows_where_the_time_goes_by_variant() -> None:
    series = [
        point(fom, value, variant=variant)
        for variant, times in (
            ("manual", {"pack_us": 10, "unpack_us": 20, "exchange_us": 70, "wait_us": 60}),
            ("neighbours", {"exchange_us": 90, "wait_us": 80}),
        )
        for fom, value in times.items()
    ]
    (figure,) = drawn("halo", series)
    assert [tuple(row) for row in figure.data.rows] == [
        ("manual", "10.0", "10.0", "60.0", "20.0"),
        ("neighbours", "0.0", "10.0", "80.0", "0.0"),
    ]
    assert all(figure.data.columns), "a head without a name is a button without one"


@pytest.mark.parametrize("benchmark", ["rowcol", "paths", "contention", "halo"])
def test_a_record_without_such_series_has_no_such_figure(benchmark: str) -> None:
    assert drawn(benchmark, [point("other_us", 1.0)]) == []


SENT_BYTES = {"round-robin": (500, 500), "nic-1": (0, 2000)}


def counted(run: LaunchRun, document: dict[str, Any], rails: int = 2) -> LaunchRun:
    """A launch whose two nodes sent what its policy says, twice as much from the second node."""
    nics = [
        {"node": node, "nic": f"nic{rail}", "tx_bytes": factor * SENT_BYTES[run.nic_policy][rail], "rx_bytes": 0}
        for (node, factor), rail in itertools.product((("n-0-0-0", 1), ("n-1-0-0", 2)), range(rails))
    ]
    return dataclasses.replace(run, nics=nic_bytes.of_rows(nics), nic_verdict=Verdict.OBEYED)


def test_each_policy_has_the_share_of_every_nic_and_its_proof() -> None:
    (figure,) = drawn("halo", [point("iteration_us", 5.0)], counted, nic_policies=list(SENT_BYTES))
    assert figure.statement == (
        "round-robin sent 50.0 % through nic0, 50.0 % through nic1 (obeyed in 2 of 2); "
        "nic-1 sent 0.0 % through nic0, 100.0 % through nic1 (obeyed in 2 of 2)."
    )
    assert all(figure.data.columns)
    assert figure.data.rows[3] == ("nic-1", "nic1", "100.00", f"{6000 / 2**20:.3f}", "2", "2")


def test_nodes_with_one_nic_or_no_evidence_have_no_figure() -> None:
    one_nic = functools.partial(counted, rails=1)
    for changes in ({}, {"change": one_nic}):
        assert drawn("halo", [point("iteration_us", 5.0)], nic_policies=list(SENT_BYTES), **changes) == []


# ---- axes: 1.4 s, and not 1.4 with 1e6 µs in a corner ----


@pytest.mark.parametrize(
    ("fom", "largest", "heading"),
    [
        ("iteration_us", 1_477_309, "s (lower is better)"),
        ("iteration_us", 1_000_000, "s (lower is better)"),
        ("iteration_us", 20_500, "ms (lower is better)"),
        ("latency_us", 999, "µs (lower is better)"),
        ("latency_us", 0.0, "µs (lower is better)"),
        ("time_s", 1_477_309, "1e6 s (lower is better)"),
        ("fom_kzone_s", 2.5e7, "1e6 kzones/s (higher is better)"),
        ("fom_kzone_s", 99_999, "kzones/s (higher is better)"),
        ("bandwidth_gbyte_s", 11.7, "GB/s (1e9 bytes/s, higher is better)"),
    ],
)
def test_the_unit_follows_from_the_largest_number(fom: str, largest: float, heading: str) -> None:
    assert painting.scale_of(fom_of(fom), largest).heading == heading


@given(st.floats(min_value=0.01, max_value=1e12))
def test_no_number_needs_more_than_five_digits_before_the_point_but_hours_in_seconds(largest: float) -> None:
    for fom in ("iteration_us", "fom_kzone_s"):
        shown = largest / painting.scale_of(fom_of(fom), largest).divisor
        assert shown < painting.LONG or (fom == "iteration_us" and largest >= 1e11)


def test_ticks_have_the_same_decimals() -> None:
    assert painting.Divided(1e6).format_ticks([800_000.0, 1_000_000.0, 1_200_000.0]) == ["0.8", "1.0", "1.2"]
    assert painting.Divided(1e3).format_ticks([0.0, 5_000.0, 10_000.0]) == ["0", "5", "10"]


def test_a_picture_of_long_iterations_is_in_seconds_and_a_curve_keeps_its_unit() -> None:
    slow = synthetic.halo({"plain": 700_000.0, "custom": 1_400_000.0}, launches=8)
    (judged,) = judge([slow]).cases
    picture = drawing.svg_file(general.comparison_drawing(judged.comparisons[:1], "f0"))
    words = re.findall(r">([^<>]+)</text>", picture)
    assert "s (lower is better)" in words
    assert not [word for word in words if re.fullmatch(r"1e\+?\d+", word)]


def test_an_axis_over_sizes_is_logarithmic_and_keeps_the_unit_of_its_samples() -> None:
    with svg.style():
        axes = Figure().subplots()
        axes.plot([1, 2], [1.0, 2e6])
        axes.set_yscale("log")
        painting.name_axis(axes.yaxis, fom_of("latency_us"))
    assert axes.get_ylabel() == "µs (lower is better)"
