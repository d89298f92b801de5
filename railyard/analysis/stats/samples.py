"""Reduce what groups measured to independent units, so that one estimate compares them.

Models: which units the groups of one series have (`railyard.analysis.stats.contrast` compares them).

- Groups that share no job: one unit per job, the median of its launches, because the launches of a job share its nodes,
  routes, neighbours and time of day.
- Groups that share at least `FEWEST` jobs: the same, paired by job, so that an effect that differs from allocation to
  allocation counts as noise.
- Groups that share fewer jobs: their launches, with the level of each job subtracted. What they show holds for these
  jobs alone.

Units are logarithms, because differences are stated as ratios; values of a series with one that is not positive stay as
they are. A launch that an outside event disturbed (more than `FAR` deviations from its group's median) is left out of a
comparison if such launches are at most one in ten of both groups. Between jobs nothing is left out. A clock that shows
a group at most two readings leaves its values uncertain by half a step. Leaves out: words and verdicts.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from railyard.analysis.stats import contrast
from railyard.analysis.stats.contrast import FEWEST, Estimate

#: The standard deviation of normal values over their median absolute deviation.
OF_A_NORMAL = 1.4826
#: Standard deviations, estimated from the median deviation, from which on a launch was disturbed, and how many of ten
#: launches of two groups may be. Fewer than six launches do not show what is far.
FAR, MOST_FAR, LEAST_FAR = 20.0, 0.1, 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """What a group measured: the launches' values, and the job of each, none if one job has them all."""

    values: Sequence[float]
    jobs: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A group as independent units. `values` has one value for each: of a launch, or the median of a job.

    `of_jobs` has the job of each. `far` are the units that were disturbed, and `slack` is how far the clock's step may
    shift their mean. Units are logarithms if `is_ratio`.
    """

    values: Sequence[float]
    of_jobs: Sequence[str]
    units: Mapping[str, float]
    by_job: bool
    is_ratio: bool = True
    far: frozenset[str] = frozenset()
    slack: float = 0.0

    @property
    def jobs(self) -> int:
        """Return the number of jobs."""
        return len(set(self.of_jobs))


def shift(one: Sample, other: Sample) -> float:
    """Return how much larger the mean of one sample is, as `difference` estimates it."""
    ours, theirs = _undisturbed(one, other)
    return contrast.mean(ours) - contrast.mean(theirs)


def difference(one: Sample, other: Sample) -> Estimate | None:
    """Return how much larger the mean of one sample is; None for too few units."""
    return weighted([(1.0, one, other)])


def weighted(rows: Sequence[tuple[float, Sample, Sample]]) -> Estimate | None:
    """Return the weighted sum of differences of samples, each (weight, one, other); None for too few units."""
    sides = [
        (sign * weight, units)
        for weight, *pair in rows
        for sign, units in zip((1, -1), _undisturbed(*pair), strict=True)
    ]
    return contrast.estimate(
        sides,
        is_serial=all(sample.by_job for _, *pair in rows for sample in pair),
        slack=math.fsum(abs(weight) * (one.slack + other.slack) for weight, one, other in rows),
    )


def _undisturbed(one: Sample, other: Sample) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """Return the units of two samples without those that were disturbed, if these are few enough in both together."""
    far, sizes = one.far | other.far, (len(one.units), len(other.units))
    if not far or min(sizes) < LEAST_FAR or len(far) > max(1.0, MOST_FAR * sum(sizes)):
        return one.units, other.units
    undisturbed = [{unit: value for unit, value in sample.units.items() if unit not in far} for sample in (one, other)]
    return undisturbed[0], undisturbed[1]


def of_groups(groups: Mapping[str, Values], *, is_counted: bool = False) -> dict[str, Sample]:
    """Return the groups that have values as samples that can be compared with each other.

    Groups that share a job are reduced to the jobs that all share. `is_counted` is whether values are counts, which no
    clock rounds.
    """
    groups = {name: group for name, group in groups.items() if group.values}
    shared = set.intersection(*(set(group.jobs or [""]) for group in groups.values())) if groups else set()
    if shared:
        groups = {name: _of_jobs(group, shared) for name, group in groups.items()}
    is_ratio = all(value > 0 for group in groups.values() for value in group.values)
    slacks = {name: 0.0 if is_counted else _slack(group, groups, is_ratio) for name, group in groups.items()}
    if len(groups) > 1 and not 0 < len(shared) < FEWEST:
        return {name: _by_job(group, slacks[name], is_ratio) for name, group in groups.items()}
    levels = _levels(groups, is_ratio) if len(shared) > 1 else {}
    return {name: _by_launch(name, group, levels, slacks[name], is_ratio=is_ratio) for name, group in groups.items()}


def _of_jobs(group: Values, jobs: set[str]) -> Values:
    if not group.jobs or jobs.issuperset(group.jobs):
        return group
    shared = [(value, job) for value, job in zip(group.values, group.jobs, strict=True) if job in jobs]
    return Values(values=[value for value, _ in shared], jobs=[job for _, job in shared])


def _by_job(group: Values, slack: float, is_ratio: bool) -> Sample:
    launches: dict[str, list[float]] = {}
    for job, value in zip(group.jobs or itertools.repeat(""), group.values, strict=bool(group.jobs)):
        launches.setdefault(job, []).append(value)
    medians = {job: statistics.median(values) for job, values in launches.items()}
    units = {job: _unit(value, is_ratio) for job, value in medians.items()}
    return Sample(
        values=list(medians.values()), of_jobs=list(units), units=units, by_job=True, is_ratio=is_ratio, slack=slack
    )


def _by_launch(name: str, group: Values, levels: Mapping[str, float], slack: float, *, is_ratio: bool) -> Sample:
    jobs = group.jobs or [""] * len(group.values)
    logs = [_unit(value, is_ratio) - levels.get(job, 0.0) for job, value in zip(jobs, group.values, strict=True)]
    middle, lost = math.fsum(logs) / len(logs), max(0, len(levels) - 1)
    # The levels are estimated from these launches, so the residuals vary too little; `wider` corrects that.
    wider = math.sqrt((len(logs) - 1) / (len(logs) - 1 - lost / 2)) if len(logs) > 1 + lost / 2 else 1.0
    counts: Counter[str] = Counter()
    units = {}
    for job, value in zip(jobs, logs, strict=True):
        units[f"{name}/{job}/{counts[job]}"] = middle + wider * (value - middle)
        counts[job] += 1
    median = statistics.median(units.values())
    reach = FAR * OF_A_NORMAL * statistics.median(abs(value - median) for value in units.values())
    far = frozenset(unit for unit, value in units.items() if abs(value - median) > reach > 0)
    return Sample(values=group.values, of_jobs=jobs, units=units, by_job=False, is_ratio=is_ratio, far=far, slack=slack)


def _levels(groups: Mapping[str, Values], is_ratio: bool) -> dict[str, float]:
    """Return the level of each job: the mean over groups of the groups' means in it."""
    means: dict[str, list[float]] = {}
    for group in groups.values():
        of_job: dict[str, list[float]] = {}
        for job, value in zip(group.jobs, group.values, strict=True):
            of_job.setdefault(job, []).append(_unit(value, is_ratio))
        for job, units in of_job.items():
            means.setdefault(job, []).append(statistics.fmean(units))
    return {job: statistics.fmean(of_groups) for job, of_groups in means.items()}


def _unit(value: float, is_ratio: bool) -> float:
    return math.log(value) if is_ratio else value


def clock_step(groups: Sequence[Sequence[float]]) -> float:
    """Return the smallest difference between the readings of some groups; 0 if none of them repeats a reading.

    A group of at least `FEWEST` values with at most two readings shows the step of its clock and not its noise.
    """
    if not any(len(values) >= FEWEST and len(set(values)) <= 2 for values in groups):
        return 0.0
    readings = sorted(set(itertools.chain.from_iterable(groups)))
    return min((high - low for low, high in itertools.pairwise(readings)), default=0.0)


def _slack(group: Values, groups: Mapping[str, Values], is_ratio: bool) -> float:
    """Return how far the clock may shift a group's mean: half a step if its values have at most two readings."""
    if len(set(group.values)) > 2:
        return 0.0
    step = clock_step([other.values for other in groups.values()])
    return step / 2 / (statistics.median(group.values) if is_ratio else 1.0)
