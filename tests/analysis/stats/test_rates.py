"""A small version of `python -m perf statistics`, with the same seed: the rates of a group keep its limit together."""

from __future__ import annotations

import dataclasses

import pytest

from perf import statistics
from perf.statistics import Rate

#: Draws of each row.
DRAWS = 10


def test_error_rates_and_coverage_keep_their_limits() -> None:
    groups: dict[str, list[Rate]] = {}
    for rate in statistics.rates(DRAWS):
        groups.setdefault(rate.group, []).append(rate)
    for group, members in groups.items():
        count, draws = sum(rate.count for rate in members), sum(rate.draws for rate in members)
        whole = dataclasses.replace(members[0], what=group, count=count, draws=draws)
        assert whole.is_kept, whole
        assert whole.most > 0.005 or count == 0  # a winner from too few jobs, or a wrong one


@pytest.mark.parametrize(("count", "is_kept"), [(5, True), (8, True), (15, False)])
def test_a_limit_allows_for_two_standard_errors(count: int, is_kept: bool) -> None:
    assert Rate(group="", what="", count=count, draws=100, most=0.05).is_kept is is_kept
