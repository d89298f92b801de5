"""Summarise launches: medians with nonparametric intervals, spread and percentiles.

Models: the launch as the unit of sampling (repeats inside a launch share its connections, routes and neighbours, so
they are not independent evidence), and the job where there are at least `FEWEST` of them. The interval of the median
lies between order statistics, and is interpolated (Hettmansperger and Sheather, Stat. Probab. Lett. 4, 1986), so that
it covers what it states and not more. It covers the median of the jobs whose launches these are, and that of the
machine if the units are jobs. Leaves out: which group is better (`railyard.analysis.stats.verdicts`).
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from railyard.analysis.stats.contrast import CONFIDENCE, FEWEST
from railyard.analysis.stats.samples import clock_step
from railyard.placements.arrays import np

#: The fewest units whose full range covers the median with 95 %: 1 - 2 / 2^6 = 96.9 %.
ENOUGH = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Covers the median of `of` (this job, these 3 jobs, the machine) with probability `coverage`."""

    low: float
    high: float
    coverage: float
    of: str = "this job"


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The statistics of one group of launches; `interval` is None if n is too small for 95 %.

    `spread_percent` is the run-to-run variation, the relative standard deviation of the launches' values (n - 1 in
    the denominator); None for a single launch or a mean of 0.
    """

    n: int
    median: float
    minimum: float
    maximum: float
    interval: Interval | None
    spread_percent: float | None = None


def median_interval(values: Sequence[float], of: str = "this job") -> Interval | None:
    """Return the interval of the median; None for fewer than `ENOUGH` values, and if it has no width.

    A clock that shows at most two readings widens it by half of its step on either side.
    """
    n = len(values)
    if n < ENOUGH:
        return None
    ordered, (rank, share) = sorted(values), _interpolation(n)
    half_step = clock_step([values]) / 2
    # Rounding does not take an end past the value that it approaches.
    low = min((1 - share) * ordered[rank - 1] + share * ordered[rank], ordered[rank]) - half_step
    high = max((1 - share) * ordered[n - rank] + share * ordered[n - rank - 1], ordered[n - rank - 1]) + half_step
    return Interval(low=low, high=high, coverage=CONFIDENCE, of=of) if low < high else None


@functools.cache
def _interpolation(n: int) -> tuple[int, float]:
    """Return the rank r from which the interval begins, and the share of the way to the rank after it.

    The interval from rank r to n + 1 - r covers the median with at least `CONFIDENCE`, that from r + 1 with less.
    """

    def heads(k: int) -> float:  # the probability of k heads of n coins
        return math.exp(math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2))

    missed, rank = 2 * 0.5**n, 1
    while (more := missed + 2 * heads(rank)) <= 1 - CONFIDENCE:
        missed, rank = more, rank + 1
    share = (1 - CONFIDENCE - missed) / (more - missed)
    return rank, (n - rank) * share / (rank + (n - 2 * rank) * share)


def summarise(values: Sequence[float], of_jobs: Sequence[str] = ()) -> Summary:
    """Return the statistics of one group of launches; raises ValueError for no values.

    `of_jobs` has the job of each value, and is empty if one job has them all. From `FEWEST` jobs on the interval is
    that of the machine, of the median of the jobs' medians.
    """
    if not values:
        raise ValueError("no launch has a value")
    by_job: dict[str, list[float]] = {}
    for job, value in zip(of_jobs, values, strict=bool(of_jobs)):
        by_job.setdefault(job, []).append(value)
    if len(by_job) >= FEWEST:
        interval = median_interval([statistics.median(launches) for launches in by_job.values()], "the machine")
    else:
        interval = median_interval(values, f"these {len(by_job)} jobs" if len(by_job) > 1 else "this job")
    return Summary(
        n=len(values),
        median=float(statistics.median(values)),
        minimum=min(values),
        maximum=max(values),
        interval=interval,
        spread_percent=spread_percent(values),
    )


def spread_percent(values: Sequence[float]) -> float | None:
    """Return 100 times the standard deviation over the mean, or None if there is none."""
    mean = math.fsum(values) / len(values)
    if len(values) < 2 or mean == 0:
        return None
    squares = (np.asarray(values, dtype=float) - mean) ** 2
    variance = math.fsum(squares.tolist()) / (len(values) - 1)
    return 100 * math.sqrt(variance) / abs(mean)


def percentiles(values: Sequence[float]) -> tuple[float, float]:
    """Return the 5th and 95th percentile by linear interpolation between order statistics; there must be a value."""
    low, high = np.percentile(np.asarray(values, dtype=float), [5, 95])
    return float(low), float(high)


def change_percent(value: float, baseline: float) -> float | None:
    """Return 100 (value / baseline - 1), or None if the baseline is 0."""
    return None if baseline == 0 else 100 * (value / baseline - 1)
