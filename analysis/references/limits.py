"""Compute the limit of each performance variable of a case: how much worse than its history a record may be.

Models: logarithms of the records' medians. The level is the median of three windows of the history: the oldest three
records, the last ten, and the last three. The limit is the strictest of the three. So neither many small steps nor the
loss of a new improvement passes. The spread from record to record comes from differences of neighbouring records, with
outliers drawn in; a slow drift does not enlarge it. Ten records determine a spread badly. Therefore a prior and all
variables of the case take part in it (Smyth, Statistical Applications in Genetics and Molecular Biology 3, 2004). The
expectation for a variable is the noise of its own launches and the run-to-run spread that the variables share. The
quantile is such that all variables together give a false alarm in 50 runs with a probability of at most `ALPHA`.
Leaves out: change points, seasons, causes.
"""

from __future__ import annotations

import functools
import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import scipy.special
import scipy.stats

from analysis.stats.samples import OF_A_NORMAL
from railyard.records.references import Point

Name = TypeVar("Name", bound=str)

#: The probability of any false alarm of `RUNS` runs.
ALPHA, RUNS = 0.10, 50
OLDEST, LAST, NEWEST = 3, 10, 3
#: The run-to-run spread that is assumed before there is a history, and how many records it counts as.
PRIOR, PRIOR_RECORDS = 0.0175, 4.0
#: What the prior counts as for the quantile while no case has neighbouring records to learn from.
UNKNOWN = 20.0
#: The most degrees of freedom that the other variables of a case contribute.
MOST_SHARED = 60.0
#: The fewest variables from which the spread between variables is estimated, and a ratio of variances that is none.
FEWEST, NOTHING = 3, 1e-6
#: The least tolerance. A smaller difference is not worth a failed run.
LEAST = 0.03
#: Differences are drawn in to so many standard deviations.
DRAWN_IN = 3.0
#: The change for which `Limit.found_of_100` is given.
CHANGE = 0.10


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One variable: its level, the worst value that passes, and what that can find.

    `noise` is the relative standard deviation of one record's value. `found_of_100` is how many of 100 runs that are
    10 % worse exceed the limit.
    """

    level: float
    worst: float
    noise: float
    found_of_100: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spread:
    """Variances of logarithms: between records with its degrees of freedom, and that of a median of launches."""

    between: float
    degrees: float
    of_launches: float


def limits(
    histories: Mapping[Name, Sequence[Point]], *, larger_is_worse: Mapping[Name, bool], family: int
) -> dict[Name, Limit]:
    """Return the limits of a case's variables, each from its records in order of time.

    `family` is the number of variables of all cases that one run judges.
    """
    moderated = _moderated({name: _spread(points) for name, points in histories.items()})
    return {
        name: _limit(points, *moderated[name], tests=RUNS * family, larger_is_worse=larger_is_worse[name])
        for name, points in histories.items()
    }


def _limit(
    points: Sequence[Point], variance: float, degrees: float, *, tests: int, larger_is_worse: bool
) -> Limit:
    sign = 1 if larger_is_worse else -1
    values = [sign * math.log(point.median) for point in points]
    quantile = _quantile(tests, int(degrees))
    noise = math.sqrt(variance)
    worst = min(
        statistics.median(window)
        + max(math.log1p(LEAST), quantile * noise * math.sqrt(1 + _variance_of_median(len(window))))
        for window in (values[:OLDEST], values[-LAST:], values[-NEWEST:])
    )
    level = statistics.median(values[-LAST:])
    margin = level + math.log1p(CHANGE) - worst
    power = math.erfc(-margin / noise / math.sqrt(2)) / 2 if noise else float(margin > 0)
    return Limit(
        level=math.exp(sign * level),
        worst=math.exp(sign * worst),
        noise=noise,
        found_of_100=round(100 * power),
    )


@functools.lru_cache(maxsize=1024)
def _quantile(tests: int, degrees: int) -> float:
    return float(scipy.stats.t.isf(ALPHA / tests, degrees))


def _variance_of_median(n: int) -> float:
    """Return the variance of a median of normal values, in that of one: exact for 1 and 2, near for more."""
    return 1 / n if n <= 2 else math.pi / 2 / (n + 0.5)


def _spread(points: Sequence[Point]) -> _Spread:
    of_launches = statistics.fmean(point.noise**2 for point in points)
    steps = [math.log(two.median / one.median) for one, two in itertools.pairwise(points)]
    if len(steps) < 2:
        return _Spread(between=0.0, degrees=0.0, of_launches=of_launches)
    middle = statistics.median(steps)
    most = DRAWN_IN * OF_A_NORMAL * statistics.median(abs(step - middle) for step in steps)
    steps = [min(most, max(-most, step - middle)) for step in steps]
    mean = statistics.fmean(steps)
    squares = math.fsum((step - mean) ** 2 for step in steps)
    n = len(steps)
    return _Spread(between=squares / (2 * (n - 1 / n)), degrees=2 / 3 * (n - 0.5), of_launches=of_launches)


def _moderated(spreads: Mapping[Name, _Spread]) -> dict[Name, tuple[float, float]]:
    """Return of each variable the variance of a record's value, and its degrees of freedom."""
    degrees = max(spread.degrees for spread in spreads.values())
    repeated = {name: spread for name, spread in spreads.items() if spread.degrees}
    excess = [spread.between - spread.of_launches for spread in repeated.values()] or [0.0]
    weighted = PRIOR_RECORDS * PRIOR**2 + degrees * statistics.fmean(excess)
    shared = max(0.0, weighted / (PRIOR_RECORDS + degrees))
    expected = {name: shared + spread.of_launches for name, spread in spreads.items()}
    weight = _weight(
        [(s.between / expected[name], s.degrees) for name, s in repeated.items() if expected[name]]
    )
    return {
        name: (
            (weight * expected[name] + spread.degrees * spread.between) / (weight + spread.degrees),
            weight + spread.degrees,
        )
        for name, spread in spreads.items()
    }


def _weight(ratios: Sequence[tuple[float, float]]) -> float:
    """Return how many degrees of freedom the expectation is worth: many where the variables follow it alike."""
    if not ratios:
        return UNKNOWN
    logarithms = [math.log(ratio) for ratio, _ in ratios if ratio > NOTHING]
    if len(logarithms) < FEWEST:
        return PRIOR_RECORDS
    chance = statistics.fmean(_trigamma(degrees / 2) for _, degrees in ratios)
    spread = statistics.variance(logarithms)
    excess = spread / (1 + math.sqrt(2 / (len(logarithms) - 1))) - chance
    return min(MOST_SHARED, max(PRIOR_RECORDS, 2 * _inverse_trigamma(excess))) if excess > 0 else MOST_SHARED


@functools.lru_cache(maxsize=1024)
def _trigamma(x: float) -> float:
    return float(scipy.special.polygamma(1, x))


def _inverse_trigamma(value: float) -> float:
    """Return x with trigamma(x) = value > 0, by bisection."""
    low, high = 1e-3, 1e6
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if float(scipy.special.polygamma(1, middle)) > value else (low, middle)
    return low
