"""Judge groups of launches side by side against a baseline. Every table, sentence, score and export prints the result.

Models: what a judgement is, in one place, for the combinations of a case and for the sides of a comparison alike. The
tests of each group against the baseline, in all series of one figure of merit, are one family, because these answer the
question of a user. The best group wins if it is better than the baseline in that family, and than each other group at
the level of its series: a false winner needs a false difference between the two best, whatever the number of groups
(Berger, Technometrics 24, 1982). What else is stated of the best group is corrected for all pairs. Leaves out: which
series are judged together (`railyard.analysis.cases.comparison`, `railyard.analysis.judge.versus`), words and
tables.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from railyard.analysis.stats import contrast, medians, samples, verdicts
from railyard.analysis.stats.contrast import Test
from railyard.analysis.stats.medians import Summary
from railyard.analysis.stats.samples import Sample, Values
from railyard.analysis.stats.verdicts import Finding, Verdict
from railyard.analysis.text import Format
from railyard.records.benchmark import Labels
from railyard.records.units import Fom, Unit

#: The level of what is excluded. It is printed only where a test found nothing, which is where intervals are too low.
EXCLUDED = 0.01
#: What units measure that is counted, so no clock rounds it.
COUNTED = frozenset({"count", "size", "hops", "share", "ratio"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence(Values):
    """What one group measured, and all repeats of its launches where these are needed.

    A difference of at most `noise_percent` shows nothing. `tally` counts how all launches ended, where that is known
    (`railyard.analysis.cases.cases.tally`).
    """

    values: Sequence[float] = ()
    repeats: Sequence[float] = ()
    noise_percent: float = 0.0
    tally: Counter[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """The evidence of each group by its name, in the order of tables; a model's values need no test.

    `follows` names the figure of which this one is a function.
    """

    fom: Fom
    labels: Labels
    evidence: Mapping[str, Evidence]
    deterministic: bool
    follows: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One combination or side. `sample` and `summary` are None if no launch has a value.

    The rest is against the baseline, and None for the baseline itself and where either has no value. `change_percent`
    is the change of the geometric mean, which `test` is about.
    """

    name: str
    evidence: Evidence
    sample: Sample | None
    summary: Summary | None
    change_percent: float | None
    test: Test | None
    finding: Finding

    @property
    def median(self) -> float:
        """Return the median of its launches; there must be one."""
        assert self.summary is not None, self.name
        return self.summary.median

    @property
    def change_interval(self) -> tuple[float, float] | None:
        """Return the interval of `change_percent`, which excludes 0 if the test is significant."""
        return percent_interval(self, self.test.interval if self.test else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The groups of one series, each against the baseline, and the verdict on all.

    `tests` are those of all pairs of groups in the family, `baseline_tests` those of pairs with the baseline. `of_best`
    has the test of the best group against each other one. A test counts as `looked` of them if the job ended by looking
    at its interval (`railyard.records.looks`). `is_exact` means that a model computed the values, and that no
    group varies. `follows` names the figure of which this one is a function: the two are one measurement, which counts
    once.
    """

    fom: Fom
    labels: Labels
    groups: tuple[Group, ...]
    baseline: str
    verdict: Verdict
    of_best: Mapping[str, Test]
    tests: int
    baseline_tests: int
    is_exact: bool
    looked: float = 1.0
    follows: str = ""

    @property
    def unit(self) -> Unit:
        """Return the unit of the FOM, with its better direction."""
        return self.fom.unit

    @property
    def format(self) -> Format:
        """Return one number of decimals for all medians."""
        summaries = [group.summary for group in self.groups if group.summary]
        intervals = [summary.interval for summary in summaries if summary.interval]
        return Format.for_values(
            [summary.median for summary in summaries], [interval.high - interval.low for interval in intervals]
        )

    @property
    def measured(self) -> list[Group]:
        """Return the groups that have a value."""
        return [group for group in self.groups if group.summary]

    @property
    def by_job(self) -> bool:
        """Return whether jobs are compared, and not launches."""
        return any(group.sample.by_job for group in self.groups if group.sample)

    @property
    def units(self) -> str:
        """Return what is compared: jobs or launches."""
        return "jobs" if self.by_job else "launches"

    def group(self, name: str | None) -> Group:
        """Return the group of a name; StopIteration for none."""
        return next(group for group in self.groups if group.name == name)

    def half_width_percent(self, group: Group) -> float | None:
        """Return half the width of the interval of a group's change, one of all with the baseline (Bonferroni)."""
        level = contrast.ALPHA / (self.baseline_tests * self.looked)
        bounds = percent_interval(group, group.test.estimate.interval(level) if group.test else None)
        return bounds and (bounds[1] - bounds[0]) / 2

    def excluded_percent(self, names: Iterable[str]) -> float | None:
        """Return the difference, in percent of the smaller, that no two groups exceed with 99 % confidence.

        None for fewer than two groups, too few launches or jobs, and values that are not positive.
        """
        chosen = [group.sample for group in self.groups if group.name in names and group.sample]
        pairs = list(itertools.combinations(chosen, 2))
        level = EXCLUDED / (max(len(pairs), 1) * self.looked)
        estimates = [samples.difference(*pair) for pair in pairs if pair[0].is_ratio]
        bounds = [one.interval(level) for one in estimates if one is not None]
        logs = [max(map(abs, bound)) for bound in bounds if bound is not None]
        return 100 * math.expm1(max(logs)) if logs and len(logs) == len(pairs) else None


def percent_interval(group: Group, bounds: tuple[float, float] | None) -> tuple[float, float] | None:
    """Return bounds of a difference of logarithms in percent; None for values that are not ratios."""
    if bounds is None or not group.sample or not group.sample.is_ratio:
        return None
    return 100 * math.expm1(bounds[0]), 100 * math.expm1(bounds[1])


def compare(every: Sequence[Series], baseline: str, *, looked: float = 1.0) -> list[Comparison]:
    """Return the comparisons of all series, in their order; those of one figure of merit are one family of tests."""
    compared: dict[int, Comparison] = {}
    for fom in dict.fromkeys(series.fom for series in every):
        places = [at for at, series in enumerate(every) if series.fom == fom]
        compared |= zip(places, _compared(fom, [every[at] for at in places], baseline, looked), strict=True)
    return [compared[at] for at in range(len(every))]


def _compared(fom: Fom, family: Sequence[Series], baseline: str, looked: float) -> list[Comparison]:
    taken = [_samples(series) for series in family]
    summaries = [
        {name: medians.summarise(sample.values, sample.of_jobs) for name, sample in of_series.items()}
        for of_series in taken
    ]
    bests = [verdicts.best_of(groups, fom.better) if groups else "" for groups in summaries]
    pairs = sum(math.comb(len(of_series), 2) for of_series in taken)
    with_baseline = sum(len(of_series) - 1 for of_series in taken if baseline in of_series)
    against_baseline = _tests(taken, [baseline] * len(family), looked=looked)
    against_best = _tests(taken, bests, looked=looked, tests=pairs)
    series_count = sum(len(of_series) > 1 for of_series in taken)
    return [
        _comparison(
            series,
            baseline,
            taken=taken[at],
            summaries=summaries[at],
            against_baseline=against_baseline[at],
            of_best={name: test.times(-1) for name, test in against_best[at].items()},
            tests=(pairs, with_baseline, series_count),
            looked=looked,
        )
        for at, series in enumerate(family)
    ]


def _samples(series: Series) -> dict[str, Sample]:
    """Return the groups as samples; jobs of a model are not evidence of their own."""
    evidence = series.evidence
    if series.deterministic:
        evidence = {name: dataclasses.replace(group, jobs=()) for name, group in evidence.items()}
    return samples.of_groups(evidence, is_counted=series.fom.unit.measures in COUNTED)


def _tests(
    taken: Sequence[Mapping[str, Sample]], others: Sequence[str], *, looked: float, tests: int = 0
) -> list[dict[str, Test]]:
    """Return for each series the test of each group against the other one that is named, all of one family."""
    estimates = {
        (at, name): estimate
        for at, (of_series, other) in enumerate(zip(taken, others, strict=True))
        if other in of_series
        for name in of_series
        if name != other and (estimate := samples.difference(of_series[name], of_series[other])) is not None
    }
    decided = contrast.decide(list(estimates.values()), tests=tests, looked=looked)
    results: list[dict[str, Test]] = [{} for _ in taken]
    for (at, name), test in zip(estimates, decided, strict=True):
        results[at][name] = test
    return results


def _comparison(
    series: Series,
    baseline: str,
    *,
    taken: Mapping[str, Sample],
    summaries: Mapping[str, Summary],
    against_baseline: Mapping[str, Test],
    of_best: Mapping[str, Test],
    tests: tuple[int, int, int],
    looked: float,
) -> Comparison:
    fom, flat = series.fom, all(summary.minimum == summary.maximum for summary in summaries.values())
    is_exact = series.deterministic and flat
    floor = max((series.evidence[name].noise_percent for name in summaries), default=0.0)

    def finding(name: str, other: str, test: Test | None) -> Finding:
        if name == other or name not in summaries or other not in summaries:
            return Finding.NO_VALUE
        if is_exact:
            return verdicts.exactly(summaries[name], summaries[other], fom.better)
        return verdicts.of_test(test, fom.better, floor, is_ratio=taken[name].is_ratio)

    groups = [
        Group(
            name=name,
            evidence=evidence,
            sample=taken.get(name),
            summary=summaries.get(name),
            change_percent=change_percent(taken.get(name), taken.get(baseline)) if name != baseline else None,
            test=None if is_exact else against_baseline.get(name),
            finding=finding(name, baseline, against_baseline.get(name)),
        )
        for name, evidence in series.evidence.items()
    ]
    best = verdicts.best_of(summaries, fom.better) if summaries else ""
    with_baseline = (
        {name: test.times(-1) for name, test in against_baseline.items()}
        if best == baseline
        else {baseline: against_baseline[best]}
        if best in against_baseline
        else {}
    )
    for own in ({name: test.alone(tests[2] * looked) for name, test in of_best.items()}, of_best):
        of_best = {**own, **with_baseline}
        findings = {name: finding(best, name, of_best.get(name)) for name in summaries if name != best}
        if set(findings.values()) == {Finding.BETTER}:
            break
    return Comparison(
        fom=fom,
        labels=series.labels,
        groups=tuple(groups),
        baseline=baseline,
        verdict=verdicts.judge(summaries, fom.better, findings, {} if is_exact else of_best, noise_percent=floor),
        of_best={} if is_exact else of_best,
        tests=tests[0],
        baseline_tests=tests[1],
        is_exact=is_exact,
        looked=looked,
        follows=series.follows,
    )


def change_percent(ours: Sample | None, theirs: Sample | None) -> float | None:
    """Return the change of the mean, for ratios the geometric one; None without values or from a mean of 0."""
    if ours is None or theirs is None:
        return None
    change = samples.shift(ours, theirs)
    if ours.is_ratio:
        return 100 * math.expm1(change)
    base = contrast.mean(theirs.units)
    return 100 * change / abs(base) if base else None
