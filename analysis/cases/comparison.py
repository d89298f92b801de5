"""Comparisons: the combinations of one case side by side for one series, and what may be said about them.

Models: a group per combination with its launches, statistics and change to the baseline combination, and
careful words: a best combination is named only when it is significantly better than every other. All pairs of
combinations at all points of one figure of merit of one case are one family of tests. Leaves out: points of a curve
(`analysis.cases.curves`), where nothing is ranked.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from analysis.cases import cases
from analysis.cases.cases import Case, Combination, Observation, Tally
from analysis.stats import equivalence, medians, ranktest, verdicts
from analysis.stats.medians import Summary
from analysis.stats.ranktest import Pair
from analysis.stats.verdicts import Finding, Outcome, Verdict
from analysis.text.numbers import Format, percent
from railyard.records import units
from railyard.records.benchmark import Labels
from railyard.records.record import COMPUTED
from railyard.records.units import Better, Unit

#: Labels that are axes of curves when they take more than one value.
AXES = ("hops", "size_bytes")
#: So many combinations are named one by one in a sentence.
MANY = 4
#: So many figures of one combination alone are stated one by one.
MANY_ALONE = 2
#: FOMs shown first, in this order.
FIRST = ("iteration_us", "bandwidth_gbyte_s", "latency_us")


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One combination. `summary` is None when none of its launches has a value; `pair` is its test against the
    baseline, `finding` what that shows, and `better_share` how often a launch of it is better than one of the baseline.
    """

    combination: Combination
    name: str
    observations: tuple[Observation, ...]
    summary: Summary | None
    tally: Tally
    change_percent: float | None
    pair: Pair[str] | None = None
    better_share: float | None = None
    finding: Finding = Finding.NO_VALUE


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One series of one case."""

    fom: str
    labels: Labels
    groups: tuple[Group, ...]
    baseline: str
    verdict: Verdict[str]
    tests: int = 1

    @property
    def unit(self) -> Unit:
        """Unit and better direction of its FOM."""
        return units.unit_of(self.fom)

    @property
    def title(self) -> str:
        """For people: the FOM without its unit, and the labels."""
        return " ".join(filter(None, [units.stem(self.fom), label_text(self.labels)]))

    @property
    def format(self) -> Format:
        """One number of decimals for all its values."""
        return Format.for_values([each.summary.median for each in self.groups if each.summary])


def comparisons(case: Case) -> list[Comparison]:
    """The comparisons of a case's points: first the FOMs of `FIRST`, then by appearance."""
    found = cases.observations(case)
    curves = curve_foms(found)
    by_fom: dict[str, list[Labels]] = {}
    for fom, labels in found:
        if fom not in curves:
            by_fom.setdefault(fom, []).append(labels)
    made = [
        each for fom in by_fom for each in _family(case, fom, {key: found[fom, key] for key in by_fom[fom]})
    ]
    return sorted(made, key=lambda each: place(each.fom)[0])


def _family(
    case: Case, fom: str, found: Mapping[Labels, Mapping[Combination, list[Observation]]]
) -> list[Comparison]:
    """The comparisons of one FOM: one family of tests."""
    series = [
        {case.name(key): [each.value for each in of_key[key]] for key in case.combinations if key in of_key}
        for of_key in found.values()
    ]
    tests = ranktest.family(series)
    size = sum(map(len, tests))
    return [
        _compare(case, fom, labels, found=found[labels], pairs=pairs, tests=size)
        for labels, pairs in zip(found, tests, strict=True)
    ]


def place(fom: str) -> tuple[int, str]:
    """Return where a FOM stands on the page: those of `FIRST` first, the others by name."""
    return FIRST.index(fom) if fom in FIRST else len(FIRST), fom


def curve_foms(series: Iterable[tuple[str, Labels]]) -> set[str]:
    """The FOMs that have an axis: a label of `AXES` with more than one value."""
    values: dict[tuple[str, str], set[object]] = {}
    for fom, labels in series:
        for name, value in labels:
            if name in AXES:
                values.setdefault((fom, name), set()).add(value)
    return {fom for (fom, _), found in values.items() if len(found) > 1}


def label_text(labels: Labels) -> str:
    """Labels for people: `X, size 65,536 bytes`; empty for none."""
    return ", ".join(_label(name, value) for name, value in labels)


def _label(name: str, value: str | int) -> str:
    if name == "dimension":
        return str(value)
    if name == "hops":
        return f"{value} hop{'' if value == 1 else 's'}"
    if name == "pairs_per_node":
        return f"{value} pair{'' if value == 1 else 's'} per node"
    if name.endswith("_bytes") and isinstance(value, int):
        return f"{name.removesuffix('_bytes').replace('_', ' ')} {value:,} bytes"
    return f"{name.replace('_', ' ')} {value}"


Pairs = Mapping[tuple[str, str], Pair[str]]


def _compare(
    case: Case,
    fom: str,
    labels: Labels,
    *,
    found: Mapping[Combination, list[Observation]],
    pairs: Pairs,
    tests: int,
) -> Comparison:
    better, deterministic = units.unit_of(fom).better, case.origin in COMPUTED
    floor = cases.noise_percent(case)
    summaries = {
        combination: medians.summarise([each.value for each in found[combination]], floor)
        for combination in case.combinations
        if combination in found
    }
    named = {case.name(combination): summary for combination, summary in summaries.items()}
    groups = [
        _group_of(case, key, found.get(key, []), summaries=summaries, pairs=pairs, better=better)
        for key in case.combinations
    ]
    return Comparison(
        fom=fom,
        labels=labels,
        groups=tuple(groups),
        baseline=case.name(case.baseline),
        verdict=verdicts.judge(named, better, pairs, tests=tests, deterministic=deterministic),
        tests=tests,
    )


def _group_of(
    case: Case,
    combination: Combination,
    observations: Sequence[Observation],
    *,
    summaries: Mapping[Combination, Summary],
    pairs: Pairs,
    better: Better,
) -> Group:
    name, baseline = case.name(combination), case.name(case.baseline)
    pair = pairs.get((name, baseline)) or pairs.get((baseline, name))
    return Group(
        combination=combination,
        name=name,
        observations=tuple(observations),
        summary=summaries.get(combination),
        tally=cases.tally(case, combination),
        change_percent=_change(summaries.get(combination), summaries.get(case.baseline))
        if combination != case.baseline
        else None,
        pair=pair,
        better_share=verdicts.better_share(name, pair, better)
        if pair and better is not Better.NEITHER
        else None,
        finding=verdicts.between(
            name,
            pair,
            {case.name(key): summary for key, summary in summaries.items()},
            better,
            deterministic=case.origin in COMPUTED,
        )
        if pair
        else Finding.NO_VALUE,
    )


def _change(summary: Summary | None, baseline: Summary | None) -> float | None:
    return medians.change_percent(summary.median, baseline.median) if summary and baseline else None


def sentence(comparison: Comparison) -> str:
    """Return what may be said, in one or two sentences; ends with what is missing."""
    without = [each.name for each in comparison.groups if each.summary is None]
    missing = f" No value for {listed(without)}." if without else ""
    return _said(comparison) + missing


def _said(comparison: Comparison) -> str:
    verdict = comparison.verdict
    match verdict.outcome:
        case Outcome.ALONE:
            return _alone(comparison)
        case Outcome.UNDIRECTED:
            return "This figure has no better direction; nothing is ranked."
        case Outcome.TOO_FEW:
            fewest = min(each.summary.n for each in comparison.groups if each.summary)
            return (
                f"No difference is stated: n too small (n = {fewest}; {comparison.tests} "
                f"test{' needs' if comparison.tests == 1 else 's need'} at least {verdict.needed} launches each)."
            )
        case Outcome.BEST:
            return f"{_leader(comparison)}; {_evidence(verdict)}."
        case Outcome.EXACT:
            return f"{_leader(comparison)}; a deterministic model, so no test applies."
    return _no_difference(comparison)


def said(found: Sequence[Comparison]) -> list[tuple[str, str, str]]:
    """Title, sentence and outcome of each comparison; neighbours of which the same can be said share one.

    More than MANY_ALONE figures of one combination alone share one, too: their medians are in the case's table.
    """
    times = Counter(each.title for each in found)
    each_said = [
        (_with_unit(each) if times[each.title] > 1 else each.title, sentence(each), str(each.verdict.outcome))
        for each in found
    ]
    alone = [title for title, _, outcome in each_said if outcome == Outcome.ALONE]
    if len(alone) > MANY_ALONE:
        each_said = [each for each in each_said if each[2] != Outcome.ALONE]
    grouped = itertools.groupby(each_said, key=lambda each: each[1:])
    stated = [(", ".join(title for title, _, _ in members), *same) for same, members in grouped]
    if len(alone) > MANY_ALONE:
        text = "One combination alone, nothing to compare; the medians are in the table of the case."
        stated.append((f"{len(alone)} figures", text, str(Outcome.ALONE)))
    return stated


def _with_unit(comparison: Comparison) -> str:
    """Return a title that tells a rate from a time of the same name, which differ in their units alone."""
    return f"{comparison.title} ({comparison.unit.text})"


def _evidence(verdict: Verdict[str]) -> str:
    assert verdict.p_holm is not None  # a verdict that names a winner has tests
    subject = "the difference is" if len(verdict.apart) == 1 else "every difference is"
    return f"{subject} significant (rank test, Holm: p {p_text(verdict.p_holm)})"


def p_text(p_value: float) -> str:
    """Return `= 0.013` or `< 0.001`; a value above the level of significance is never rounded to it."""
    if p_value < 0.001:
        return "< 0.001"
    rounded = f"{p_value:.2g}"
    misleads = (float(rounded) <= ranktest.ALPHA) != (p_value <= ranktest.ALPHA)
    return f"= {p_value:.3g}" if misleads else f"= {rounded}"


def _alone(comparison: Comparison) -> str:
    there = next((each for each in comparison.groups if each.summary), None)
    if there is None or there.summary is None:
        return "No launch has a value."
    value = comparison.format.text(there.summary.median)
    return f"Median {value} {comparison.unit.text}; {there.name} alone, nothing to compare."


def _leader(comparison: Comparison) -> str:
    best = _group(comparison, comparison.verdict.best)
    assert best.summary is not None  # a verdict names groups that have values
    word, side = ("lowest", "below") if comparison.unit.better is Better.LOWER else ("highest", "above")
    value = f"{comparison.format.text(best.summary.median)} {comparison.unit.text}"
    others = [each for each in comparison.groups if each.summary and each is not best]
    others.sort(key=lambda each: each.name != comparison.baseline)
    return f"{best.name} is {word} ({value}), {_distances(best.summary, others, side)}"


def _distances(best: Summary, others: Sequence[Group], side: str) -> str:
    """How far the others are from the best: each by name, or where they are many the least and the most of them."""
    if len(others) <= MANY:
        return listed([f"{_distance(best, each)} {side} {each.name}" for each in others])
    ranked = sorted(others, key=lambda each: abs(_change(best, each.summary) or math.inf))
    least, most = _distance(best, ranked[0]), _distance(best, ranked[-1])
    return f"from {least} {side} {ranked[0].name} to {most} {side} {ranked[-1].name}, of {len(others)}"


def _distance(best: Summary, other: Group) -> str:
    assert other.summary is not None  # its caller leaves out groups without values
    change = medians.change_percent(best.median, other.summary.median)
    return "an unbounded share" if change is None else percent(abs(change), signed=False)


def _no_difference(comparison: Comparison) -> str:
    verdict, best = comparison.verdict, _group(comparison, comparison.verdict.best)
    others = [each for each in comparison.groups if each.summary and each is not best]
    alike = [best.name, *(each.name for each in others if each.name not in verdict.apart)]
    said = f"No difference shown between {listed(alike)}{_excluded(comparison, alike)}."
    if all(each.summary and each.summary.minimum == each.summary.maximum for each in comparison.groups):
        said = f"No difference between {listed(alike)}: equal in the model."
    side = "below" if comparison.unit.better is Better.LOWER else "above"
    assert best.summary is not None  # a verdict names groups that have values
    if verdict.noise:
        alike_but = [each for each in others if each.name in verdict.noise]
        floor = percent(verdict.noise_percent, signed=False)
        far = _distances(best.summary, alike_but, side)
        said = f"{said} {best.name} is {far}, which is within the noise floor of {floor}."
    if not verdict.apart:
        return said
    apart = [each for each in others if each.name in verdict.apart]
    return f"{said} {best.name} is {_distances(best.summary, apart, side)}: {_evidence(verdict)}."


def _excluded(comparison: Comparison, names: Sequence[str]) -> str:
    """Say how large a difference the launches exclude: the absence of evidence is not yet that of a difference."""
    values = [
        [launch.value for launch in each.observations] for each in comparison.groups if each.name in names
    ]
    most = equivalence.largest_percent(values)
    if most is None:
        return ""
    return f"; one of more than {percent(most, signed=False)} is excluded (95 %)"


def _group(comparison: Comparison, name: str | None) -> Group:
    return next(each for each in comparison.groups if each.name == name)


def listed(names: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1] if names else ""]))
