"""Summarise launches: medians with exact nonparametric intervals, spread and percentiles.

Models: the launch as the unit of sampling (repeats inside a launch share its connections, routes and
neighbours, so they are no independent evidence); the interval of the median between two order statistics,
exact for any continuous distribution (David & Nagaraja, Order Statistics, 7.1). It covers the median of the jobs whose
launches these are. The machine's median is covered by jobs alone: from `jobs.FEWEST` on, the interval is Student's over
the logarithms of the jobs' medians. Leaves out: which group is better (`analysis.stats.verdicts`), outlier removal.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.stats import jobs
from analysis.stats.jobs import CONFIDENCE
from placements.arrays import np

#: The standard deviation of normal values over their median absolute deviation.
OF_A_NORMAL = 1.4826
#: The fewest launches whose full range covers the median with 95 %: 1 - 2 / 2^6 = 96.9 %.
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


def machine_interval(by_job: Sequence[float]) -> Interval | None:
    """Return the interval of a machine's median from the medians of its jobs; None for fewer than `jobs.FEWEST`.

    It is Student's over logarithms, or over the medians themselves if one is not positive. It is extended to the median
    of the jobs, which is not always in its middle.
    """
    is_positive = min(by_job) > 0
    of_jobs = {str(job): math.log(value) if is_positive else value for job, value in enumerate(by_job)}
    bounds = jobs.contrast([(1.0, of_jobs)])
    if bounds is None:
        return None
    low, high = (math.exp(bound) if is_positive else bound for bound in bounds)
    middle = statistics.median(by_job)
    return Interval(low=min(low, middle), high=max(high, middle), coverage=CONFIDENCE, of="the machine")


def summarise(values: Sequence[float], noise_percent: float = 0.0, of_jobs: Sequence[str] = ()) -> Summary:
    """Return the statistics of one group of launches; raises ValueError for no values.

    `of_jobs` has the job of each value, and is empty if one job has them all.
    """
    if not values:
        raise ValueError("no launch has a value")
    by_job: dict[str, list[float]] = {}
    for job, value in zip(of_jobs, values, strict=bool(of_jobs)):
        by_job.setdefault(job, []).append(value)
    if len(by_job) >= jobs.FEWEST:
        interval = machine_interval(list(map(statistics.median, by_job.values())))
    else:
        interval = median_interval(values)
        if interval and len(by_job) > 1:
            interval = dataclasses.replace(interval, of=f"these {len(by_job)} jobs")
    return Summary(
        n=len(values),
        median=float(np.median(np.asarray(values, dtype=float))),
        minimum=min(values),
        maximum=max(values),
        interval=interval,
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
