"""The numbers at an axis are short and in a unit that a reader knows: 1.4 s and not 1.4 with 1e6 µs in a corner."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from support import synthetic
from support.records import figures

from railyard.analysis.figures import drawing, general, painting, svg
from railyard.analysis.judge.judged import judge


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
    assert painting.scale_of(figures.fom(fom), largest).heading == heading


@given(st.floats(min_value=0.01, max_value=1e12))
def test_no_number_needs_more_than_five_digits_before_the_point_but_hours_in_seconds(largest: float) -> None:
    for fom in ("iteration_us", "fom_kzone_s"):
        shown = largest / painting.scale_of(figures.fom(fom), largest).divisor
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
        painting.name_axis(axes.yaxis, figures.fom("latency_us"))
    assert axes.get_ylabel() == "µs (lower is better)"
