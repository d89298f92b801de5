"""A small version of `python -m perf statistics`, with the same seeds: no rate misses its limit."""

from __future__ import annotations

import itertools

import pytest

from perf import statistics
from perf.statistics import Rate

#: Draws of each row; the limits allow for their standard error.
DRAWS = 4


def test_error_rates_and_coverage_keep_their_limits() -> None:
    missed = [
        f"{rate.what}: {rate.count} of {rate.draws}" for rate in statistics.rates(DRAWS) if not rate.is_kept
    ]
    assert missed == []


def test_one_job_per_side_never_names_a_winner_and_five_find_five_percent() -> None:
    rates = list(itertools.islice(statistics.of_sides(10), 72))
    assert sum(rate.count for rate in rates if ", 1 jobs:" in rate.what) == 0
    assert min(rate.share for rate in rates if rate.what.endswith("found")) >= 0.8


@pytest.mark.parametrize(("count", "is_kept"), [(5, True), (8, True), (15, False)])
def test_a_limit_allows_for_two_standard_errors(count: int, is_kept: bool) -> None:
    assert Rate(what="", count=count, draws=100, most=0.05).is_kept is is_kept
