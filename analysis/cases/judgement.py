"""Judge groups of launches side by side against a baseline. Every table, sentence, score and export prints the result.

Models: what a judgement is, in one place, for the combinations of a case and for the sides of a comparison alike. A
group's evidence is one value per launch, or per job. The rank tests of each group against the baseline, in all series
of one figure of merit, are one family, because these answer the question of a user. Those of other pairs are
corrected for all pairs, and only decide which group is the best of all (`analysis.stats.ranktest`,
`analysis.stats.verdicts`). Leaves out: which series are judged together (`analysis.cases.comparison`,
`analysis.compare.compare`), words and tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.cases.cases import Tally
from analysis.stats import equivalence, medians, ranktest, verdicts
from analysis.stats.medians import Summary
from analysis.stats.ranktest import Pair
from analysis.stats.score import Ratio
from analysis.stats.verdicts import Finding, Verdict
from analysis.text.numbers import Format
from railyard.records.benchmark import Labels
from railyard.records.units import Better, Fom, Unit

Pairs = Mapping[tuple[str, str], Pair[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One group: a value of each launch that has one, and all their repeats where these are needed.

    `jobs` has the job of each value; none means that one job has them all. If `by_job`, each value is that of a job and
    not of a launch. A difference of at most `noise_percent` shows nothing. `tally` counts how all launches ended, where
    that is known.
    """

    values: Sequence[float] = ()
    repeats: Sequence[float] = ()
    jobs: Sequence[str] = ()
    by_job: bool = False
    noise_percent: float = 0.0
    tally: Tally | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """The evidence of each group by its name, in the order of tables; a model's values need no test."""

    labels: Labels
    evidence: Mapping[str, Evidence]
    deterministic: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One combination or side. `summary` is None if no launch has a value.

    The rest is against the baseline, and None for the baseline itself and where either has no value: the change of the
    median, the test, and the share of pairs of launches in which this group is better.
    """

    name: str
    evidence: Evidence
    summary: Summary | None
    change_percent: float | None
    pair: Pair[str] | None
    better_share: float | None
    finding: Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The groups of one series, each against the baseline, and the verdict on all.

    `tests` are those of all pairs of groups in the family, `baseline_tests` those of pairs with the baseline. An
    interval of a ratio counts as `looked` of them if the job ended by looking at it (`railyard.records.rules.looks`).
    `is_exact` means that a model computed the values, and that no group varies.
    `follows` names the figure of which this one is a function: the two are one measurement, which counts once.
    """

    fom: Fom
    labels: Labels
    groups: tuple[Group, ...]
    baseline: str
    verdict: Verdict[str]
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
            [summary.median for summary in summaries],
            [interval.high - interval.low for interval in intervals],
        )

    @property
    def measured(self) -> list[Group]:
        """Return the groups that have a value."""
        return [group for group in self.groups if group.summary]

    def group(self, name: str | None) -> Group:
        """Return the group of a name; StopIteration for none."""
        return next(group for group in self.groups if group.name == name)

    def interval_percent(self, one: Group, other: Group, *, tests: int) -> tuple[float, float] | None:
        """Return the interval of the change from `other` to `one` in percent, one of `tests` that hold together."""
        return equivalence.percent_interval(
            one.evidence.values, other.evidence.values, tests=tests * self.looked
        )

    def ratio(self, name: str, case: tuple[object, ...]) -> Ratio | None:
        """Return what a group contributes to its score over cases.

        It is None if the group or the baseline has no value, and for a figure that follows another.
        """
        group, base = self.group(name), self.group(self.baseline)
        if self.follows or not group.summary or not base.summary:
            return None
        return Ratio(
            case=case,
            fom=self.fom,
            values=group.evidence.values,
            baseline=base.evidence.values,
            jobs=(group.evidence.jobs, base.evidence.jobs) if group.evidence.by_job else ((), ()),
            finding=group.finding,
        )


def compare(fom: Fom, family: Sequence[Series], baseline: str, *, looked: float = 1.0) -> list[Comparison]:
    """Return the comparisons of all series of one figure of merit, in their order."""
    values = [
        {name: data.values for name, data in series.evidence.items() if data.values} for series in family
    ]
    pairs = ranktest.family(values, baseline)
    tests = sum(map(len, pairs)), sum(baseline in names for of_series in pairs for names in of_series)
    return [
        _compare(fom, series, baseline, pairs=of_series, tests=tests, looked=looked)
        for series, of_series in zip(family, pairs, strict=True)
    ]


def _compare(
    fom: Fom, series: Series, baseline: str, *, pairs: Pairs, tests: tuple[int, int], looked: float
) -> Comparison:
    summaries = {
        name: medians.summarise(evidence.values, evidence.noise_percent, evidence.jobs)
        for name, evidence in series.evidence.items()
        if evidence.values
    }
    better, deterministic = fom.better, series.deterministic
    groups = []
    for name, evidence in series.evidence.items():
        pair = pairs.get((name, baseline)) or pairs.get((baseline, name))
        group = Group(
            name=name,
            evidence=evidence,
            summary=summaries.get(name),
            change_percent=medians.change_percent(summaries[name].median, summaries[baseline].median)
            if pair
            else None,
            pair=pair,
            better_share=verdicts.better_share(name, pair, better)
            if pair and better is not Better.NEITHER
            else None,
            finding=verdicts.between(name, pair, summaries, better, deterministic=deterministic)
            if pair
            else Finding.NO_VALUE,
        )
        groups.append(group)
    return Comparison(
        fom=fom,
        labels=series.labels,
        groups=tuple(groups),
        baseline=baseline,
        verdict=verdicts.judge(summaries, better, pairs, tests=tests[0], deterministic=deterministic),
        tests=tests[0],
        baseline_tests=tests[1],
        is_exact=deterministic and verdicts.is_flat(summaries),
        looked=looked,
    )
