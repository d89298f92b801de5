"""Estimate how two sides differ from one value per job, because launches of one job are no independent evidence.

Models: a job adds its own effect (nodes, routes, neighbours, time of day) to all its launches, in every row that it
has. The estimate is the weighted mean over rows of the difference between the mean logarithms of the sides' jobs. Its
variance is that of the jobs' contributions, each summed over the rows of the job (a cluster-robust variance). The
interval is Student's, with the degrees of freedom of Welch and Satterthwaite. Leaves out: what a difference means.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
#: The fewest jobs per side: a rank test of 4 against 4 can be significant, and an interval of 4 covers what it should.
FEWEST = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of a comparison: its weight in the mean, and the logarithm of the value of each job of the two sides."""

    weight: float
    side: Mapping[str, float]
    baseline: Mapping[str, float]


def difference(rows: Sequence[Row]) -> float:
    """Return the weighted mean difference of the sides' mean logarithms."""
    return math.fsum(row.weight * (_mean(row.side) - _mean(row.baseline)) for row in rows)


def interval(rows: Sequence[Row], confidence: float = CONFIDENCE) -> tuple[float, float] | None:
    """Return the interval of `difference`, or None if a side of a row has fewer than `FEWEST` jobs."""
    return contrast(
        [(sign * row.weight, jobs) for row in rows for sign, jobs in ((1, row.side), (-1, row.baseline))],
        confidence,
    )


Weighted = tuple[float, Mapping[str, float]]


def contrast(sides: Sequence[Weighted], confidence: float = CONFIDENCE) -> tuple[float, float] | None:
    """Return the interval of a weighted sum of the mean logarithms of sides, or None as `interval` does."""
    if min(len(jobs) for _, jobs in sides) < FEWEST:
        return None
    value = math.fsum(weight * _mean(jobs) for weight, jobs in sides)
    error, freedom = standard_error(sides)
    if error == 0:
        return value, value
    import scipy.stats  # imported here: takes 1 s, and commands without sides do not need it

    half = float(scipy.stats.t.ppf((1 + confidence) / 2, freedom)) * error
    return value - half, value + half


def standard_error(sides: Sequence[Weighted]) -> tuple[float, float]:
    """Return the standard error of a weighted sum of mean logarithms, and its degrees of freedom (0 without error)."""
    variances = [_variance(cluster) for cluster in _clusters(sides)]
    variance = math.fsum(value for value, _ in variances)
    if variance == 0:
        return 0.0, 0.0
    return math.sqrt(variance), variance**2 / math.fsum(value**2 / degrees for value, degrees in variances)


def _clusters(sides: Sequence[Weighted]) -> list[list[Weighted]]:
    """Return the sides of rows in groups that share no job."""
    clusters: list[tuple[set[str], list[Weighted]]] = []
    for weight, jobs in sides:
        joined: tuple[set[str], list[Weighted]] = (set(jobs), [(weight, jobs)])
        disjoint = []
        for cluster in clusters:
            if cluster[0].isdisjoint(jobs):
                disjoint.append(cluster)
            else:
                joined = (joined[0] | cluster[0], joined[1] + cluster[1])
        clusters = [*disjoint, joined]
    return [members for _, members in clusters]


def _variance(cluster: Sequence[Weighted]) -> tuple[float, int]:
    """Return the variance of the sum of weighted means of a cluster, and its degrees of freedom."""
    contributions: defaultdict[str, float] = defaultdict(float)
    for weight, jobs in cluster:
        mean, n = _mean(jobs), len(jobs)
        for job, value in jobs.items():
            contributions[job] += weight * (value - mean) / math.sqrt(n * (n - 1))
    return math.fsum(value**2 for value in contributions.values()), min(len(jobs) for _, jobs in cluster) - 1


def _mean(jobs: Mapping[str, float]) -> float:
    return math.fsum(jobs.values()) / len(jobs)
