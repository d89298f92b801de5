"""Statistics of launches: medians with exact nonparametric intervals, and when a difference may be stated.

Models: the launch as the unit of sampling (repeats inside a launch share its connections, routes and
neighbours, so they are no independent evidence); the interval of the median between two order statistics,
exact for any continuous distribution (David & Nagaraja, Order Statistics, 7.1). Leaves out: means, outlier
removal, corrections for many comparisons, anything that assumes a normal distribution.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from results.units import Better

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

    def overlaps(self, other: Interval) -> bool:
        """Whether they share a value; touching counts."""
        return self.low <= other.high and other.low <= self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Of one group of launches. `interval` is None when n is too small for 95 %."""

    n: int
    median: float
    minimum: float
    maximum: float
    interval: Interval | None


class Outcome(StrEnum):
    """What a comparison of several groups shows."""

    BEST = "best"  # one group's interval is apart from every other's, on the better side
    NO_DIFFERENCE = "no difference shown"  # the best median's interval overlaps another's
    TOO_FEW = "n too small"  # some group has no interval
    EXACT = "exact"  # a deterministic model: no spread, no interval needed
    ALONE = "alone"  # fewer than two groups have a value
    UNDIRECTED = "undirected"  # the FOM has no better direction


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(Generic[Key]):
    """`best` has the best median; `apart` are the groups whose intervals are apart from its (all of them:
    BEST).
    """

    outcome: Outcome
    best: Key | None
    apart: tuple[Key, ...] = ()


def median_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval | None:
    """The interval of the median between order statistics r and n + 1 - r, r as large as `confidence` lets.

    Returns None when even the full range covers less than `confidence` (n < 6 for 95 %).
    """
    ordered, n = sorted(values), len(values)
    tail, rank = 0.0, 0
    for below in range(n // 2):
        grown = tail + math.comb(n, below) / 2**n
        if 1 - 2 * grown < confidence:
            break
        tail, rank = grown, below + 1
    if rank == 0:
        return None
    return Interval(low=ordered[rank - 1], high=ordered[n - rank], coverage=1 - 2 * tail)


def summarise(values: Sequence[float]) -> Summary:
    """Raises ValueError for no values."""
    if not values:
        raise ValueError("no launch has a value")
    return Summary(
        n=len(values),
        median=statistics.median(values),
        minimum=min(values),
        maximum=max(values),
        interval=median_interval(values),
    )


def change_percent(value: float, baseline: float) -> float | None:
    """100 (value / baseline - 1), or None where the baseline is 0."""
    return None if baseline == 0 else 100 * (value / baseline - 1)


def judge(groups: Mapping[Key, Summary], better: Better, *, deterministic: bool) -> Verdict[Key]:
    """What groups of launches show; ties of the median go to the first.

    `deterministic` says that the origin is a model: groups without spread are then compared as they are.
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
    if any(each.interval is None for each in groups.values()):
        return Verdict(outcome=Outcome.TOO_FEW, best=best)
    apart = tuple(key for key in others if are_apart(groups[key], groups[best]))
    outcome = Outcome.BEST if len(apart) == len(others) else Outcome.NO_DIFFERENCE
    return Verdict(outcome=outcome, best=best, apart=apart)


def are_apart(one: Summary, other: Summary) -> bool:
    """Whether both have intervals and these share no value."""
    return bool(one.interval and other.interval and not one.interval.overlaps(other.interval))
