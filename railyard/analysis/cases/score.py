"""Score how much better a side is than a baseline over all cases, as a geometric mean with an interval.

Models: each case (everything but the figure of merit) counts once, by the first of its figures of merit that has a
better direction; a ratio is turned so that above 1 is better. The scores against one baseline are one family of tests,
and a unit of several rows counts once (`railyard.analysis.stats.contrast`). A score of one row is that row's test.
Leaves
out: weights, figures of merit without a direction.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from railyard.analysis.cases.judgement import Comparison, Group
from railyard.analysis.stats import contrast, samples, verdicts
from railyard.analysis.stats.contrast import Estimate, Test
from railyard.analysis.stats.samples import Sample
from railyard.analysis.stats.verdicts import Finding
from railyard.records.units import Better

Key = TypeVar("Key")
#: The ratios of each case's first figure of merit that has a direction, one for each point, and their weights.
Chosen = Sequence[tuple["Ratio", float]]


class Ratio(NamedTuple):
    """One contribution: what identifies its case, a comparison, a side in it, and the samples of side and baseline.

    A difference of at most `noise_percent` of either shows nothing.
    """

    case: tuple[object, ...]
    of: Comparison
    group: Group
    samples: tuple[Sample, Sample]
    noise_percent: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """`value` above 1 is better than the baseline; `low` and `high` bound 95 %, None without enough launches or jobs.

    `finding` is what may be stated. If jobs are compared (`by_job`), `jobs` are the fewest of the side and of the
    baseline in any case; `is_shared` is whether both sides ran in the same jobs. If launches are compared, the score
    holds for these jobs alone, and `jobs` is their number, twice. It is None for exact values of a model.
    """

    value: float
    low: float | None
    high: float | None
    cases: int
    finding: Finding
    jobs: tuple[int, int] | None
    by_job: bool
    is_shared: bool


def ratio(compared: Comparison, name: str, case: tuple[object, ...]) -> Ratio | None:
    """Return what a side contributes to its score over cases.

    It is None if the side or the baseline has no value, and for a figure that follows another.
    """
    group, base = compared.group(name), compared.group(compared.baseline)
    if compared.follows or not group.sample or not base.sample:
        return None
    noise_percent = max(group.evidence.noise_percent, base.evidence.noise_percent)
    return Ratio(case, compared, group, (group.sample, base.sample), noise_percent)


def scores(ratios: Mapping[Key, Iterable[Ratio]]) -> dict[Key, Score | None]:
    """Return the score of each side; None if no case has a figure of merit with a direction on both sides.

    There is no interval with fewer than `contrast.FEWEST` units on either side of any case.
    """
    chosen = {key: _headline(of_side) for key, of_side in ratios.items()}
    looked = max((one.of.looked for of_side in chosen.values() for one, _ in of_side), default=1.0)
    estimates: dict[Key, Estimate] = {}
    tests: dict[Key, Test | None] = {}
    for key, of_side in chosen.items():
        if _is_exact(of_side):
            estimates[key] = contrast.of_variances(_value(of_side), [])
        elif len(of_side) > 1 and (estimate := samples.weighted([(weight, *one.samples) for one, weight in of_side])):
            estimates[key] = estimate
        elif len(of_side) == 1:  # the row's own test, turned so that above 0 is better
            ((one, sign),) = of_side
            tests[key] = (test := one.group.test) and test.times(sign)
    tests |= zip(estimates, contrast.decide(list(estimates.values()), looked=looked), strict=True)
    return {key: _score(of_side, tests.get(key)) if of_side else None for key, of_side in chosen.items()}


def _value(chosen: Chosen) -> float:
    """Return the logarithm of a score."""
    return math.fsum(weight * samples.shift(*one.samples) for one, weight in chosen)


def _is_exact(chosen: Chosen) -> bool:
    return bool(chosen) and all(one.of.is_exact for one, _ in chosen)


def _score(chosen: Chosen, test: Test | None) -> Score:
    ratios = [one for one, _ in chosen]
    value = test.estimate.value if test else _value(chosen)
    low, high = (math.exp(bound) for bound in bounds) if (bounds := test and test.interval) else (None, None)
    floor = max(ratio.noise_percent for ratio in ratios)
    finding = verdicts.of_score(test, [ratio.group.finding for ratio in ratios], floor)
    sides, baselines = zip(*(ratio.samples for ratio in ratios), strict=True)
    by_job = all(side.by_job for side in sides)
    fewest = min(side.jobs for side in sides), min(baseline.jobs for baseline in baselines)
    every = len({job for side in sides for job in side.of_jobs})
    is_shared = all(set(side.of_jobs) & set(baseline.of_jobs) for side, baseline in zip(sides, baselines, strict=True))
    return Score(
        value=math.exp(value),
        low=low,
        high=high,
        cases=len({ratio.case for ratio in ratios}),
        finding=Finding.EQUAL if _is_exact(chosen) and value == 0 else finding,
        jobs=None if _is_exact(chosen) else fewest if by_job else (every, every),
        by_job=by_job,
        is_shared=is_shared,
    )


def _headline(ratios: Iterable[Ratio]) -> Chosen:
    """Return the ratios of each case's first FOM with a direction; several labels count as one case.

    A weight is below 0 where lower is better, so that a sum of logarithms above 0 is better.
    """
    by_case: dict[tuple[object, ...], list[Ratio]] = {}
    for ratio in ratios:
        if ratio.of.fom.better is Better.NEITHER or not ratio.samples[0].is_ratio:
            continue
        members = by_case.setdefault(ratio.case, [])
        if not members or members[0].of.fom == ratio.of.fom:
            members.append(ratio)
    return [
        (ratio, (-1.0 if ratio.of.fom.better is Better.LOWER else 1.0) / len(by_case) / len(members))
        for members in by_case.values()
        for ratio in members
    ]
