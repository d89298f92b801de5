"""Statistics of launches: medians with exact nonparametric intervals, spread, and when a winner may be named.

Models: the launch as the unit of sampling (repeats inside a launch share its connections, routes and
neighbours, so they are no independent evidence); the interval of the median between two order statistics,
exact for any continuous distribution (David & Nagaraja, Order Statistics, 7.1). A winner is named from the rank
tests of `analysis.ranktest`, never from intervals. Leaves out: outlier removal, anything that assumes a normal
distribution.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

import numpy as np
import scipy.stats

from analysis.stats.ranktest import Pair, enough
from railyard.records.units import Better

Key = TypeVar("Key")

CONFIDENCE = 0.95
#: The fewest launches whose full range covers the median with 95 %: 1 - 2 / 2^6 = 96.9 %.
ENOUGH = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Covers the median with probability `coverage`, at least the confidence asked for."""

    low: float
    high: float
    coverage: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Of one group of launches. `interval` is None when n is too small for 95 %.

    `spread_percent` is the run-to-run variation, the relative standard deviation of the launches' values (n - 1 in
    the denominator); None for a single launch or a mean of 0.
    """

    n: int
    median: float
    minimum: float
    maximum: float
    interval: Interval | None
    spread_percent: float | None = None


class Outcome(StrEnum):
    """What a comparison of several groups shows."""

    BEST = "best"  # one group is significantly better than every other
    NO_DIFFERENCE = "no difference shown"  # the best median is not significantly better than every other
    TOO_FEW = "n too small"  # so few launches that no result of theirs could be significant
    EXACT = "exact"  # a deterministic model: no spread, no test needed
    ALONE = "alone"  # fewer than two groups have a value
    UNDIRECTED = "undirected"  # the FOM has no better direction


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(Generic[Key]):
    """`best` has the best median; `apart` are the groups that it is significantly better than (all: BEST).

    `p_holm` is the largest corrected p-value among those; `needed` the launches a group that the family needs.
    """

    outcome: Outcome
    best: Key | None
    apart: tuple[Key, ...] = ()
    p_holm: float | None = None
    needed: int = 0


def median_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval | None:
    """The interval of the median between order statistics r and n + 1 - r, r as large as `confidence` lets.

    Returns None when even the full range covers less than `confidence` (n < 6 for 95 %).
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    found = _interval_rank(ordered.size, confidence)
    if found is None:
        return None
    rank, coverage = found
    return Interval(low=float(ordered[rank - 1]), high=float(ordered[-rank]), coverage=coverage)


@functools.cache
def _interval_rank(n: int, confidence: float) -> tuple[int, float] | None:
    """The largest rank r whose interval covers the median with `confidence`, and the coverage."""
    half = scipy.stats.binom(n, 0.5)
    rank = int(
        half.ppf((1 - confidence) / 2)
    )  # the smallest k with P(X <= k) at least half of what may be missed
    while rank > 0 and 1 - 2 * half.cdf(rank - 1) < confidence:
        rank -= 1
    while rank < n // 2 and 1 - 2 * half.cdf(rank) >= confidence:
        rank += 1
    return (rank, float(1 - 2 * half.cdf(rank - 1))) if rank > 0 else None


def summarise(values: Sequence[float]) -> Summary:
    """Raises ValueError for no values."""
    if not values:
        raise ValueError("no launch has a value")
    return Summary(
        n=len(values),
        median=float(np.median(np.asarray(values, dtype=float))),
        minimum=min(values),
        maximum=max(values),
        interval=median_interval(values),
        spread_percent=spread_percent(values),
    )


def spread_percent(values: Sequence[float]) -> float | None:
    """100 times the standard deviation over the mean, or None where there is none."""
    mean = math.fsum(values) / len(values)
    if len(values) < 2 or mean == 0:
        return None
    squares = (np.asarray(values, dtype=float) - mean) ** 2
    variance = math.fsum(squares.tolist()) / (len(values) - 1)
    return 100 * math.sqrt(variance) / abs(mean)


def percentiles(values: Sequence[float], wanted: Sequence[float] = (5, 50, 95)) -> list[float]:
    """Percentiles of repeats by linear interpolation between order statistics; values must not be empty."""
    return [float(each) for each in np.percentile(np.asarray(values, dtype=float), list(wanted))]


def change_percent(value: float, baseline: float) -> float | None:
    """100 (value / baseline - 1), or None where the baseline is 0."""
    return None if baseline == 0 else 100 * (value / baseline - 1)


def judge(
    groups: Mapping[Key, Summary],
    better: Better,
    pairs: Mapping[tuple[Key, Key], Pair[Key]],
    *,
    tests: int,
    deterministic: bool = False,
) -> Verdict[Key]:
    """What groups of launches show; ties of the median go to the first.

    `pairs` are the tests between the groups, `tests` the size of their family. `deterministic` says that the origin
    is a model: groups without spread are then compared as they are.
    """
    if len(groups) < 2:
        return Verdict(outcome=Outcome.ALONE, best=None)
    if better is Better.NEITHER:
        return Verdict(outcome=Outcome.UNDIRECTED, best=None)
    sign = 1 if better is Better.LOWER else -1
    best = min(groups, key=lambda key: sign * groups[key].median)
    others = [key for key in groups if key != best]
    if deterministic and all(each.minimum == each.maximum for each in groups.values()):
        apart = tuple(key for key in others if groups[key].median != groups[best].median)
        outcome = Outcome.EXACT if len(apart) == len(others) else Outcome.NO_DIFFERENCE
        return Verdict(outcome=outcome, best=best, apart=apart)
    with_best = {key: _pair(pairs, best, key) for key in others}
    needed = enough(tests)
    if not all(each.attainable for each in with_best.values()):
        return Verdict(outcome=Outcome.TOO_FEW, best=best, needed=needed)
    won = {key: each for key, each in with_best.items() if _wins(best, each, better)}
    outcome = Outcome.BEST if len(won) == len(others) else Outcome.NO_DIFFERENCE
    largest = max((each.p_holm for each in won.values()), default=None)
    return Verdict(outcome=outcome, best=best, apart=tuple(won), p_holm=largest, needed=needed)


def _pair(pairs: Mapping[tuple[Key, Key], Pair[Key]], one: Key, other: Key) -> Pair[Key]:
    return pairs[one, other] if (one, other) in pairs else pairs[other, one]


def _wins(best: Key, pair: Pair[Key], better: Better) -> bool:
    """Whether the difference is significant, and its ranks agree with the medians."""
    return pair.is_significant and better_share(best, pair, better) > 0.5


def better_share(key: Key, pair: Pair[Key], better: Better) -> float:
    """The share of pairs of launches in which `key` has the better value; 0.5 is no effect."""
    lower = pair.lower if key == pair.one else 1 - pair.lower
    return lower if better is Better.LOWER else 1 - lower
