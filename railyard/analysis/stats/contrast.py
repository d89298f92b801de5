"""Estimate how far sides differ, and decide whether they do: the one test and the one interval of this project.

Models: sides as logarithms of independent units (launches of one job, or medians of jobs). An estimate is a weighted
sum of the sides' means. Its variance is the sum of the units' contributions, a unit of several rows counted once
(cluster-robust), and its interval Student's with the degrees of freedom of Welch and Satterthwaite, so that neither the
numbers nor the spreads of the sides need to agree. The interval is extended to the same sum of the sides' medians:
sides with equal medians and unlike, skewed spreads have other means, and a winner needs both. A difference is found if
Holm's correction (Scand. J. Stat. 6, 1979) over its family rejects it; the interval of each estimate has the level at
which that happened, so that it excludes 0 exactly if the difference is found. Jobs that resemble their predecessors
widen the interval. Leaves out: which units are independent (`railyard.analysis.stats.samples`), and what a difference
means to the reader (`railyard.analysis.stats.verdicts`).
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from railyard.placements.arrays import np

#: The level of a family of tests, and of intervals, and the coverage that they state.
ALPHA = 0.05
CONFIDENCE = 1 - ALPHA
#: The fewest units per side.
FEWEST = 4
#: An autocorrelation of jobs counts from this many standard errors and jobs of all sides on. Fewer jobs show none: with
#: a correlation of 0.7 equal sides have a winner in 35 % of cases with 5 jobs per side, in 7 % with 30.
_LEAST_CORRELATION, _LEAST_SERIAL = 1.5, 20
MOST_CORRELATION = 0.97
#: How far Welch's degrees of freedom are trusted, which are too many if the smaller side varies little by chance: with
#: 20 and 4 values a test at 1 % would reject 1.9 %, and one at 0.1 % up to 0.6 %. Equal sides are trusted most.
_LEAST_TRUST, _MOST_TRUST = 0.4, 0.9
#: The least share of the variance that is assumed to remain about the mean of correlated values.
LEAST_SHARE = 0.2

#: The weight of a side in a sum, and the logarithm of each of its units; the units of jobs are in order of time.
Weighted = tuple[float, Mapping[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A weighted sum of means with its standard error and degrees of freedom, and the same sum of medians.

    `slack` is by how much the readings of a coarse clock may be wrong in the sum; every interval is wider by it.
    """

    value: float
    error: float
    freedom: float
    median: float
    slack: float = 0.0

    @property
    def p_value(self) -> float:
        """Return the two-sided p-value of a true value of 0."""
        distance = min(abs(self.value), abs(self.median)) - self.slack
        if distance <= 0 or self.value * self.median < 0:
            return 1.0
        if self.error == 0:
            return 0.0
        import scipy.special  # imported here: not needed by commands without sides

        return 2 * float(scipy.special.stdtr(self.freedom, -distance / self.error))

    def interval(self, level: float = ALPHA) -> tuple[float, float] | None:
        """Return the interval that excludes 0 if `p_value` is below `level`; None if nothing varies."""
        half = self.slack + (self.error and self.error * -quantile(level / 2, self.freedom))
        low, high = sorted((self.value, self.median))
        return (low - half, high + half) if half > 0 or low < high else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """One test of a family: the estimate, Holm's adjusted p-value, and the level at which its interval is printed."""

    estimate: Estimate
    p_holm: float
    level: float

    @property
    def is_significant(self) -> bool:
        """Return whether the interval excludes 0."""
        return self.estimate.p_value < self.level

    @property
    def interval(self) -> tuple[float, float] | None:
        """Return the interval at the test's level."""
        return self.estimate.interval(self.level)

    def alone(self, tests: float) -> Test:
        """Return the test of the same estimate as one of `tests` tests, each corrected alone (Bonferroni)."""
        p_holm = min(1.0, tests * self.estimate.p_value)
        return Test(estimate=self.estimate, p_holm=p_holm, level=ALPHA / tests)

    def times(self, sign: float) -> Test:
        """Return the same test of the estimate with another sign."""
        value, median = sign * self.estimate.value, sign * self.estimate.median
        return replace(self, estimate=replace(self.estimate, value=value, median=median))


def decide(estimates: Sequence[Estimate], *, tests: int = 0, looked: float = 1.0) -> list[Test]:
    """Return the tests of one family of `tests` tests, of which at least these were made.

    Holm rejects the k-th smallest p-value at ALPHA / (tests - k + 1), until the first that is not below it. From there
    on all intervals have the level of that one. Having looked counts as `looked` times as many tests
    (`railyard.records.looks`).
    """
    p_values = [estimate.p_value for estimate in estimates]
    tests = max(tests, len(estimates))
    adjusted, levels = holm(p_values, tests, looked), dict.fromkeys(p_values, ALPHA)
    level, goes_on = ALPHA, True
    for rank, p_value in enumerate(sorted(p_values)):
        level = ALPHA / ((tests - rank) * looked) if goes_on else level
        levels[p_value], goes_on = level, p_value < level
    return [
        Test(estimate=one, p_holm=p_holm, level=levels[p_value])
        for one, p_holm, p_value in zip(estimates, adjusted, p_values, strict=True)
    ]


def shortage(combinations: int, launches: int) -> str:
    """Return what so few launches of each combination cannot show, in one sentence; empty for enough."""
    if combinations < 2 or launches >= FEWEST:
        return ""
    requested = f"{launches} {'is' if launches == 1 else 'are'} requested"
    return f"{combinations} combinations need {FEWEST} launches each before they can be compared; {requested}"


def holm(p_values: Sequence[float], tests: int = 0, looked: float = 1.0) -> list[float]:
    """Return Holm's adjusted p-values in the order given: max over the smaller ones of (tests - rank) p, at most 1."""
    adjusted, highest = [0.0] * len(p_values), 0.0
    tests = max(tests, len(p_values))
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (tests - rank) * looked * p_values[index]))
        adjusted[index] = highest
    return adjusted


def estimate(sides: Iterable[Weighted], *, is_serial: bool = True, slack: float = 0.0) -> Estimate | None:
    """Return the weighted sum of the sides' means; None if a side has fewer than `FEWEST` units.

    `is_serial` is whether units may resemble their predecessors, as jobs do and launches in random order do not.
    """
    sides = list(sides)
    if min(len(units) for _, units in sides) < FEWEST:
        return None
    value = math.fsum(weight * mean(units) for weight, units in sides)
    grouped = _clusters(sides)
    clusters = [(_contributions(cluster), min(len(units) for _, units in cluster) - 1) for cluster in grouped]
    correlation = _correlation([contributions for contributions, _ in clusters]) if is_serial else 0.0
    variances = [
        (math.fsum(one**2 for one in contributions) * _inflation(len(contributions), correlation), freedom)
        for contributions, freedom in clusters
    ]
    share = math.sqrt(math.fsum(_inflation(len(one), correlation) for one, _ in clusters) / len(clusters))
    own = of_variances(value, variances, share=share)
    return replace(own, median=math.fsum(map(_median, grouped)), slack=slack)


def of_variances(value: float, variances: Sequence[tuple[float, int]], *, share: float = 1.0) -> Estimate:
    """Return the estimate of a sum from the variance of each part and its degrees of freedom.

    The degrees of freedom of the whole are those of Welch and Satterthwaite, drawn in to the fewest of a part, and
    divided by `share`.
    """
    variance, degrees = math.fsum(one for one, _ in variances), [freedom for _, freedom in variances]
    if variance == 0:
        return Estimate(value=value, error=0.0, freedom=1.0, median=value)
    by_welch = 1 / math.fsum((one / variance) ** 2 / freedom for one, freedom in variances)
    fewest, most = min(degrees), max(degrees)
    trust = _LEAST_TRUST + (_MOST_TRUST - _LEAST_TRUST) * 2 * fewest / (fewest + most)
    freedom = 1 / (trust / by_welch + (1 - trust) / max(fewest, fewest * len(variances) / 2))
    return Estimate(value=value, error=math.sqrt(variance), freedom=max(1.0, freedom / share), median=value)


def interval(sides: Iterable[Weighted]) -> tuple[float, float] | None:
    """Return the 95 % interval of a weighted sum of means of jobs; None for too few, or if nothing varies."""
    one = estimate(sides)
    return one.interval() if one else None


def mean(units: Mapping[str, float]) -> float:
    """Return the mean of a side."""
    return math.fsum(units.values()) / len(units)


def _clusters(sides: Sequence[Weighted]) -> list[list[Weighted]]:
    """Return the sides of rows in groups that share no unit."""
    clusters: list[tuple[set[str], list[Weighted]]] = []
    for weight, units in sides:
        joined: tuple[set[str], list[Weighted]] = (set(units), [(weight, units)])
        disjoint = []
        for cluster in clusters:
            if cluster[0].isdisjoint(units):
                disjoint.append(cluster)
            else:
                joined = (joined[0] | cluster[0], joined[1] + cluster[1])
        clusters = [*disjoint, joined]
    return [members for _, members in clusters]


def _median(cluster: Sequence[Weighted]) -> float:
    """Return the median of the sums by unit, or the sum of the sides' medians if these have other units."""
    units = set(cluster[0][1])
    if all(side.keys() == units for _, side in cluster):
        return statistics.median(math.fsum(weight * side[unit] for weight, side in cluster) for unit in units)
    return math.fsum(weight * statistics.median(side.values()) for weight, side in cluster)


def _contributions(cluster: Sequence[Weighted]) -> list[float]:
    """Return what each unit of a cluster contributes to the error of the sum; the variance is the sum of squares."""
    contributions: defaultdict[str, float] = defaultdict(float)
    for weight, units in cluster:
        middle, n = mean(units), len(units)
        for unit, value in units.items():
            contributions[unit] += weight * (value - middle) / math.sqrt(n * (n - 1))
    return list(contributions.values())


def _correlation(clusters: Sequence[Sequence[float]]) -> float:
    """Return the lag-1 autocorrelation of contributions in order of time, pooled; 0 if it may be chance.

    The bias of residuals about a mean is corrected (Marriott and Pope, Biometrika 41, 1954).
    """
    varying = [(one, square) for one in clusters if (square := math.fsum(value**2 for value in one)) > 0]
    n = sum(len(one) for one, _ in varying)
    if n < _LEAST_SERIAL:
        return 0.0
    products = (
        len(one) / square * math.fsum(first * second for first, second in itertools.pairwise(one))
        for one, square in varying
    )
    raw = math.fsum(products) / n
    corrected = raw + len(varying) * (1 + 3 * max(raw, 0.0)) / n
    return min(corrected, MOST_CORRELATION) if corrected > _LEAST_CORRELATION / math.sqrt(n) else 0.0


def _inflation(n: int, correlation: float) -> float:
    """Return the variance of a mean of n AR(1) values over the estimate that takes them for independent."""
    if correlation == 0:
        return 1.0
    of_mean = of_serial_mean(n, correlation)
    return of_mean / max(LEAST_SHARE, 1 - (of_mean - 1) / (n - 1))


def of_serial_mean(n: int, correlation: float) -> float:
    """Return the variance of the mean of n AR(1) values over that of the mean of n independent ones."""
    lags = np.arange(1, n)
    return float(1 + 2 * ((1 - lags / n) * correlation**lags).sum())


def quantile(share: float, freedom: float) -> float:
    """Return the value that a share of Student's distribution lies below."""
    import scipy.special

    return float(scipy.special.stdtrit(freedom, share))
