"""Score how much better a side or combination is than a baseline over all cases, as a geometric mean with an interval.

Models: each case (everything but the figure of merit) counts once, by the first of its figures of merit that has a
better direction; a ratio is turned so that above 1 is better. The scores against one baseline are one family of tests,
and a unit of several rows counts once (`railyard.analysis.stats.contrast`). A score of one row is that row's test. The
scoreboard has a row for every system, origin, baseline and combination (placement, NIC policy, software); cases in
which a combination has no value are counted, not dropped. Leaves out: weights, figures of merit without a direction,
and curves, whose points are not ranked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from railyard.analysis.cases.cases import Case, Combination
from railyard.analysis.cases.judgement import Comparison, Group
from railyard.analysis.cases.titles import title
from railyard.analysis.stats import contrast, samples, verdicts
from railyard.analysis.stats.contrast import Estimate, Test
from railyard.analysis.stats.samples import Sample
from railyard.analysis.stats.verdicts import Finding
from railyard.analysis.text import Format, counted
from railyard.records import programs
from railyard.records.record import combination_name
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


# ---- the scoreboard ----


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One row; `missing` is the number of cases that requested the combination and have no value of it.

    `only` is the title of the case with a value, if there is just one; `what` names what the cases measure.
    """

    system: str
    origin: str
    combination: str
    baseline: str
    score: Score | None
    missing: int = 0
    only: str = ""
    what: str = ""

    @property
    def value(self) -> str:
        """Return the score as text."""
        return f"{self.score.value:.3f}" if self.score else "no value"

    @property
    def interval(self) -> str:
        """Return the 95 % interval as text, or why there is none."""
        if self.score is None or self.score.low is None:
            return "too few launches or jobs"
        return f"{self.score.low:.3f} to {self.score.high:.3f}"

    @property
    def cases(self) -> str:
        """Return in how many cases the combination has a value, and in how many it has none."""
        missing = f", {self.missing} without a value" if self.missing else ""
        return f"{self.score.cases if self.score else 0}{missing}"

    @property
    def verdict(self) -> Finding:
        """Return what the score shows."""
        return self.score.finding if self.score else Finding.NO_VALUE


def faster(name: str, score: Score, baseline: str, what: str = "") -> str:
    """Return `a is 2.11 times as fast as b (95 %: 2.09 to 2.13, 3 cases)`, the faster one first.

    With `what` it is `a makes WHAT 2.11 times as fast as b`. Where launches are compared, it ends in `, in this job)`.
    """
    value, low, high = score.value, score.low, score.high
    if value < 1:
        name, baseline, value = baseline, name, 1 / value
        low, high = (None, None) if low is None or high is None else (1 / high, 1 / low)
    form = Format.for_values([value - 1 or 1.0])
    decimals = Format(decimals=min(4, max(2, form.decimals - 2 if form.decimals is not None else 4)))
    between = "" if low is None or high is None else f"95 %: {decimals.text(low)} to {decimals.text(high)}, "
    basis = counted(score.cases, "case")
    if score.jobs is not None:
        ours, theirs = score.jobs
        same = f"{counted(ours, 'shared job')}" if score.is_shared else f"{counted(ours, 'job')} per side"
        of_jobs = same if ours == theirs else f"{ours} and {theirs} jobs"
        of_launches = f"in {'this job' if ours == 1 else f'these {ours} jobs'}"
        basis += f", {of_jobs if score.by_job else of_launches}"
    verb = f"makes {what}" if what else "is"
    return f"{name} {verb} {decimals.text(value)} times as fast as {baseline} ({between}{basis})"


def standings(judged: Sequence[tuple[Case, Sequence[Comparison]]]) -> list[Standing]:
    """Return a row for each combination that some case compares with its baseline, in the order of the cases."""
    rows: dict[tuple[str, str, str, str], list[tuple[Case, list[Ratio]]]] = {}  # system, origin, combination, baseline
    for case, comparisons in judged:
        for combination in case.combinations:
            if combination != case.baseline:
                key = (case.first.system.name, str(case.origin), _name(combination), _name(case.baseline))
                name = case.name(combination)
                ratios = (ratio(one, name, (case.key,)) for one in comparisons)
                rows.setdefault(key, []).append((case, list(filter(None, ratios))))
    scored: dict[tuple[str, str, str, str], Score | None] = {}
    for family in dict.fromkeys((system, origin, baseline) for system, origin, _, baseline in rows):
        members = {key: of_cases for key, of_cases in rows.items() if (*key[:2], key[3]) == family}
        scored |= scores(
            {key: [ratio for _, ratios in of_cases for ratio in ratios] for key, of_cases in members.items()}
        )
    standings = []
    for (system, origin, name, baseline), of_cases in rows.items():
        titles = [title(case) for case, ratios in of_cases if ratios]
        standings.append(
            Standing(
                system=system,
                origin=origin,
                combination=name,
                baseline=baseline,
                score=scored[system, origin, name, baseline],
                missing=len(of_cases) - len(titles),
                only=titles[0] if len(titles) == 1 else "",
                what=programs.what({case.first.case.benchmark for case, _ in of_cases}),
            )
        )
    return standings


def _name(combination: Combination) -> str:
    return combination_name(combination.placement, combination.nic_policy, combination.software)
