"""Bound the difference between groups of launches that is still possible although none was shown.

Models: the interval of the ratio of two groups that goes with the Mann-Whitney U test (Hodges and Lehmann, Ann. Math.
Stat. 34, 1963): the ratios of all pairs of launches in order, from the k-th smallest to the k-th largest, where U is
below k with at most half the level. The level is shared out over the pairs of groups (Bonferroni), so that all
intervals hold together. What is excluded is printed only where a test found nothing, which is where intervals are too
low. So its confidence is 99 %; `python -m perf statistics` measures how often it holds there.

Leaves out: whether groups differ (`analysis.stats.ranktest`).
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from analysis.stats.jobs import CONFIDENCE

Values = Sequence[float]
#: The confidence of what is excluded.
EXCLUDED = 0.99
#: Above this many pairs of launches the exact distribution is left for the normal one.
_MOST_EXACT = 1000


def largest_percent(groups: Sequence[Values], *, looked: float = 1) -> float | None:
    """Return the difference, in percent of the smaller, that no two of the groups exceed with 99 % confidence.

    Having looked counts as `looked` times as many pairs (`railyard.records.rules.looks`). None for fewer than two
    groups, for too few launches, and for values that are not positive.
    """
    pairs = list(itertools.combinations(groups, 2))
    if not pairs or any(value <= 0 for group in groups for value in group):
        return None
    level = (1 - EXCLUDED) / (len(pairs) * looked)
    bounds = [_log_interval(one, other, level) for one, other in pairs]
    logs = [max(map(abs, bound)) for bound in bounds if bound is not None]
    return 100 * math.expm1(max(logs)) if len(logs) == len(bounds) else None


def percent_interval(one: Values, other: Values, *, tests: float = 1) -> tuple[float, float] | None:
    """Return the 95 % interval of the change from `other` to `one` in percent, one of `tests` that hold together.

    None for too few launches, and for values that are not positive.
    """
    if min(*one, *other) <= 0:
        return None
    logs = _log_interval(one, other, (1 - CONFIDENCE) / tests)
    return logs and (100 * math.expm1(logs[0]), 100 * math.expm1(logs[1]))


def _log_interval(one: Values, other: Values, level: float) -> tuple[float, float] | None:
    lowest = rank(len(one), len(other), level)
    if lowest == 0:
        return None
    logs = np.sort(np.subtract.outer(np.log(one), np.log(other)), axis=None)
    return float(logs[lowest - 1]), float(logs[-lowest])


@functools.cache
def rank(n: int, m: int, level: float) -> int:
    """Return the largest k for which U of groups of n and m launches is below k with at most half the level."""
    if n * m > _MOST_EXACT:
        deviation = math.sqrt(n * m * (n + m + 1) / 12)
        return max(0, math.floor(n * m / 2 + NormalDist().inv_cdf(level / 2) * deviation))
    most = level / 2 * math.comb(n + m, n)
    upto = itertools.accumulate(_ways(n, m))
    return sum(1 for _ in itertools.takewhile(lambda ways: ways <= most, upto))


def _ways(n: int, m: int) -> list[int]:
    """Return how many orders of n and m launches have each U from 0 to n m: the coefficients of a Gaussian binomial."""
    ways = [1] + [0] * (n * m)
    for i in range(1, m + 1):
        for u in range(n * m, n + i - 1, -1):
            ways[u] -= ways[u - n - i]
        for u in range(i, n * m + 1):
            ways[u] += ways[u - i]
    return ways
