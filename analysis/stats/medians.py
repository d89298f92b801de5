"""Summarise launches: medians with exact nonparametric intervals, spread and percentiles.

Models: the launch as the unit of sampling (repeats inside a launch share its connections, routes and
neighbours, so they are no independent evidence); the interval of the median between two order statistics,
exact for any continuous distribution (David & Nagaraja, Order Statistics, 7.1). Leaves out: which group is better
(`analysis.stats.verdicts`), outlier removal, anything that assumes a normal distribution.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from placements.arrays import np

CONFIDENCE = 0.95
#: The standard deviation of normal values over their median absolute deviation.
OF_A_NORMAL = 1.4826
#: The fewest launches whose full range covers the median with 95 %: 1 - 2 / 2^6 = 96.9 %.
ENOUGH = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Covers the median with probability `coverage`, at least the confidence requested."""

    low: float
    high: float
    coverage: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The statistics of one group of launches; `interval` is None if n is too small for 95 %.

    `spread_percent` is the run-to-run variation, the relative standard deviation of the launches' values (n - 1 in
    the denominator); None for a single launch or a mean of 0. A difference from another group of at most
    `noise_percent` of the larger median shows nothing (`railyard.records.noise`).
    """

    n: int
    median: float
    minimum: float
    maximum: float
    interval: Interval | None
    spread_percent: float | None = None
    noise_percent: float = 0.0


def median_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval | None:
    """Return the interval of the median between order statistics r and n + 1 - r, r as large as `confidence` lets.

    None when even the full range covers less than `confidence` (n < 6 for 95 %).
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    rank_and_coverage = _interval_rank(ordered.size, confidence)
    if rank_and_coverage is None:
        return None
    rank, coverage = rank_and_coverage
    return Interval(low=float(ordered[rank - 1]), high=float(ordered[-rank]), coverage=coverage)


@functools.cache
def _interval_rank(n: int, confidence: float) -> tuple[int, float] | None:
    """Return the largest rank r whose interval covers the median with `confidence`, and the coverage."""
    import scipy.stats  # imported here: takes 1 s, and evaluating a tender does not need it

    half = scipy.stats.binom(n, 0.5)
    rank = int(
        half.ppf((1 - confidence) / 2)
    )  # the smallest k with P(X <= k) at least half of what may be missed
    while rank > 0 and 1 - 2 * half.cdf(rank - 1) < confidence:
        rank -= 1
    while rank < n // 2 and 1 - 2 * half.cdf(rank) >= confidence:
        rank += 1
    return (rank, float(1 - 2 * half.cdf(rank - 1))) if rank > 0 else None


def summarise(values: Sequence[float], noise_percent: float = 0.0) -> Summary:
    """Return the statistics of one group of launches; raises ValueError for no values."""
    if not values:
        raise ValueError("no launch has a value")
    return Summary(
        n=len(values),
        median=float(np.median(np.asarray(values, dtype=float))),
        minimum=min(values),
        maximum=max(values),
        interval=median_interval(values),
        spread_percent=spread_percent(values),
        noise_percent=noise_percent,
    )


def spread_percent(values: Sequence[float]) -> float | None:
    """Return 100 times the standard deviation over the mean, or None if there is none."""
    mean = math.fsum(values) / len(values)
    if len(values) < 2 or mean == 0:
        return None
    squares = (np.asarray(values, dtype=float) - mean) ** 2
    variance = math.fsum(squares.tolist()) / (len(values) - 1)
    return 100 * math.sqrt(variance) / abs(mean)


def percentiles(values: Sequence[float], wanted: Sequence[float] = (5, 50, 95)) -> list[float]:
    """Return percentiles of repeats by linear interpolation between order statistics; values must not be empty."""
    return [float(value) for value in np.percentile(np.asarray(values, dtype=float), list(wanted))]


def change_percent(value: float, baseline: float) -> float | None:
    """Return 100 (value / baseline - 1), or None if the baseline is 0."""
    return None if baseline == 0 else 100 * (value / baseline - 1)
