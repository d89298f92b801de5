"""A small version of `python -m perf statistics`, with the same seeds: rates with one limit keep it together."""

from __future__ import annotations

import pytest

from perf import statistics
from perf.statistics import Draws, Rate

#: Draws of each row.
DRAWS = 5


def test_error_rates_and_coverage_keep_their_limits() -> None:
    together: dict[tuple[float, float], list[Rate]] = {}
    for rate in statistics.rates(Draws(count=DRAWS)):
        together.setdefault((rate.least, rate.most), []).append(rate)
    assert {(0.0, 0.0), (0.0, 0.005), (0.0, 0.05), (0.9, 1.0), (0.93, 1.0)} <= together.keys()
    for (least, most), rates in together.items():
        count, draws = sum(rate.count for rate in rates), sum(rate.draws for rate in rates)
        whole = Rate(group="", what=f"{count} of {draws}", count=count, draws=draws, least=least, most=most)
        assert whole.is_kept, (whole, [rate.what for rate in rates if not rate.is_kept])
        assert most > 0.005 or count == 0  # a winner from too few jobs, or a wrong one


@pytest.mark.parametrize(("count", "is_kept"), [(5, True), (8, True), (15, False)])
def test_a_limit_allows_for_two_standard_errors(count: int, is_kept: bool) -> None:
    assert Rate(group="", what="", count=count, draws=100, most=0.05).is_kept is is_kept
