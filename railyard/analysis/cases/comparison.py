"""Compare the combinations of one case series by series, and word what a comparison shows.

Models: which points of a case are judged together (all points of one figure of merit are one family of tests), and
careful words: a best combination is named only if it is significantly better than every other. Leaves out: what a
judgement is (`railyard.analysis.cases.judgement`), and points of a curve (`railyard.analysis.cases.curves`), where
nothing is ranked.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from railyard.analysis.cases import cases, judgement
from railyard.analysis.cases.cases import Case
from railyard.analysis.cases.judgement import Comparison, Evidence, Group, Series
from railyard.analysis.stats import contrast
from railyard.analysis.stats.contrast import FEWEST
from railyard.analysis.stats.verdicts import Finding, Outcome, Verdict
from railyard.analysis.text import counted, percent
from railyard.records import looks, programs
from railyard.records.benchmark import Labels
from railyard.records.folded import slow
from railyard.records.record import COMPUTED
from railyard.records.units import Better, Fom

#: What identifies a comparison.
Key = TypeVar("Key")
#: Labels that are axes of curves if they have more than one value.
AXES = ("hops", "size_bytes")
#: A sentence names at most this many combinations one by one.
MANY = 4
#: At most this many figures of one combination alone are stated one by one.
MANY_ALONE = 2
#: The most changed verdicts that are named.
_NAMED = 3
#: FOMs shown first, in this order.
FIRST = ("iteration_us", "bandwidth_gbyte_s", "latency_us")


def comparisons(case: Case) -> list[Comparison]:
    """Return the comparisons of a case's points: first the FOMs of `FIRST`, then by appearance."""
    observed = cases.observations(case)
    curves, benchmark = curve_foms(observed), case.first.case.benchmark
    floor, baseline = cases.noise_percent(case), case.name(case.baseline)
    tallies = {combination: cases.tally(case, combination) for combination in case.combinations}
    points = [(fom, labels) for fom, labels in observed if fom not in curves]
    foms = list(dict.fromkeys(fom for fom, _ in points))
    series = [
        Series(
            fom=fom,
            labels=labels,
            evidence={
                case.name(combination): Evidence(
                    values=[launch.value for launch in launches],
                    jobs=[launch.job for launch in launches],
                    repeats=[value for launch in launches for value in launch.repeats],
                    noise_percent=floor,
                    tally=tallies[combination],
                )
                for combination in case.combinations
                for launches in [observed[fom, labels].get(combination, [])]
            },
            deterministic=case.origin in COMPUTED,
            follows=programs.leader(benchmark, fom, {other for other in foms if (other, labels) in observed}),
        )
        for fom, labels in sorted(points, key=lambda point: (rank_of(point[0])[0], foms.index(point[0])))
    ]
    return judgement.compare(series, baseline, looked=looks.tests(case.first.case.parameters))


def rank_of(fom: Fom) -> tuple[int, str]:
    """Return the key that sorts FOMs for the page: those of `FIRST` first, the others by name."""
    return FIRST.index(fom) if fom in FIRST else len(FIRST), fom


def curve_foms(series: Iterable[tuple[Fom, Labels]]) -> set[Fom]:
    """Return the FOMs that have an axis: a label of `AXES` with more than one value."""
    values: dict[tuple[Fom, str], set[object]] = {}
    for fom, labels in series:
        for name, value in labels:
            if name in AXES:
                values.setdefault((fom, name), set()).add(value)
    return {fom for (fom, _), on_axis in values.items() if len(on_axis) > 1}


def title(comparison: Comparison) -> str:
    """Return the FOM without its unit, and the labels, for people."""
    stem = "figure of merit" if comparison.fom.stem == "fom" else comparison.fom.stem
    return " ".join(filter(None, [stem, label_text(comparison.labels)]))


def label_text(labels: Labels) -> str:
    """Return labels for people: `X, size 65,536 bytes`; empty for none."""
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


def verdict_text(comparison: Comparison, group: Group) -> str:
    """Return what may be stated of a group against the baseline: better, worse, or why neither; or "best".

    A figure that follows another has no verdict of its own: `as iteration_us`.
    """
    verdict = comparison.verdict
    if group.summary is None:
        return str(Finding.NO_VALUE)
    if comparison.follows:
        return f"as {comparison.follows}"
    if group.name == comparison.baseline:
        return "best" if verdict.outcome is Outcome.BEST and verdict.best == group.name else ""
    if group.finding is Finding.NO_VALUE:
        return "no baseline"
    if group.finding is Finding.TOO_FEW:
        return f"{group.finding} (needs {FEWEST}{' jobs' if comparison.by_job else ''})"
    return str(group.finding)


def sentence(comparison: Comparison) -> str:
    """Return what may be stated, in one or two sentences; it ends with the combinations that have no value."""
    without = [group.name for group in comparison.groups if group.summary is None]
    missing = f" There is no value of {listed(without)}." if without else ""
    return _statement(comparison) + missing


def _statement(comparison: Comparison) -> str:
    verdict, unit = comparison.verdict, comparison.unit.text
    word = "lowest" if comparison.fom.better is Better.LOWER else "highest"
    if verdict.outcome is Outcome.ALONE:
        if not comparison.measured:
            return "No launch has a value."
        value = comparison.format.text(comparison.measured[0].median)
        name = comparison.measured[0].name
        return f"The median is {value} {unit}; {name} ran alone, so nothing is compared."
    if comparison.follows:
        return f"The same measurement as {comparison.follows}, which is judged."
    if verdict.outcome is Outcome.UNDIRECTED:
        return "This figure has no better direction; nothing is ranked."
    if verdict.outcome is Outcome.TOO_FEW:  # the tables have each change from the baseline
        fewest = min(group.summary.n for group in comparison.measured if group.summary)
        return f"No {word} of all is named: n too small (n = {fewest}; {FEWEST} {comparison.units} each are needed)."
    best = comparison.group(verdict.best)
    others = [group for group in comparison.measured if group is not best]
    if verdict.outcome is Outcome.NO_DIFFERENCE:
        return _no_difference(comparison, best, others)
    others.sort(key=lambda group: group.name != comparison.baseline)
    far = _distances(comparison, best, others)
    return f"{best.name} is {word} ({comparison.format.text(best.median)} {unit}), {far}; {_evidence(verdict)}."


class Statement(NamedTuple):
    """The sentence on a comparison, a curve or a figure; `outcome` is that of a verdict, "curve" or "own"."""

    title: str
    text: str
    outcome: str


def statements(comparisons: Sequence[Comparison]) -> list[Statement]:
    """Return the sentence of each comparison; neighbours with equal sentences share one.

    More than MANY_ALONE figures of one combination alone share one, too: their medians are in the case's table. A title
    that several have is followed by the unit, which distinguishes a rate from a time of the same name.
    """
    times = Counter(map(title, comparisons))
    stated = [
        Statement(
            title(member) + (f" ({member.unit.text})" if times[title(member)] > 1 else ""),
            sentence(member),
            str(member.verdict.outcome),
        )
        for member in comparisons
    ]
    single = [statement for statement in stated if statement.outcome == Outcome.ALONE]
    if len(single) > MANY_ALONE:
        stated = [statement for statement in stated if statement.outcome != Outcome.ALONE]
    grouped = itertools.groupby(stated, key=lambda statement: statement[1:])
    joined = [Statement(", ".join(heading for heading, _, _ in members), *same) for same, members in grouped]
    if len(single) > MANY_ALONE:
        text = "One combination ran alone, so nothing is compared; the medians are in the table of the case."
        joined.append(Statement(f"{len(single)} figures", text, str(Outcome.ALONE)))
    return joined


def _evidence(verdict: Verdict) -> str:
    if verdict.p_holm is None:
        return "a deterministic model, so no test applies"
    subject = "the difference is" if len(verdict.apart) == 1 else "every difference is"
    return f"{subject} significant (Welch's test, Holm: p {p_text(verdict.p_holm)})"


def p_text(p_value: float) -> str:
    """Return `= 0.013` or `< 0.001`; a value above the level of significance is never rounded to it."""
    if p_value < 0.001:
        return "< 0.001"
    rounded = f"{p_value:.2g}"
    misleads = (float(rounded) < contrast.ALPHA) != (p_value < contrast.ALPHA)
    return f"= {p_value:.3g}" if misleads else f"= {rounded}"


def _distances(comparison: Comparison, best: Group, others: Sequence[Group]) -> str:
    """Return how far the others are from the best: each by name, or of more than MANY the nearest and the farthest."""
    texts = [_distance(comparison, best, other) for other in others]
    if len(others) <= MANY:
        return listed(texts)
    changes = [abs(judgement.change_percent(best.sample, other.sample) or math.inf) for other in others]
    ranked = sorted(range(len(others)), key=changes.__getitem__)
    return f"from {texts[ranked[0]]} to {texts[ranked[-1]]}, of {len(others)}"


def _distance(comparison: Comparison, best: Group, other: Group) -> str:
    """Return `5.2 % below plain (95 %: 3.1 to 7.4 %)`; values of a model have no interval."""
    change = judgement.change_percent(best.sample, other.sample)
    side = "below" if comparison.fom.better is Better.LOWER else "above"
    if change is None:
        return f"an unbounded share {side} {other.name}"
    text = f"{percent(abs(change), signed=False)} {side} {other.name}"
    test = comparison.of_best.get(other.name)
    interval = judgement.percent_interval(best, test.interval if test else None)
    if interval is None:
        return text
    low, high = sorted(math.copysign(1, change) * bound for bound in interval)
    return f"{text} (95 %: {percent(low, signed=low < 0).removesuffix(' %')} to {percent(high, signed=high < 0)})"


def _no_difference(comparison: Comparison, best: Group, others: Sequence[Group]) -> str:
    verdict = comparison.verdict
    alike = [best.name, *(group.name for group in others if group.name not in verdict.apart)]
    text = f"No difference is shown between {listed(alike)}{_excluded(comparison, alike)}."
    if comparison.is_exact:
        text = f"{listed(alike)} are equal in the model."
    if verdict.noise:
        far = _distances(comparison, best, [group for group in others if group.name in verdict.noise])
        floor = percent(verdict.noise_percent, signed=False)
        text += f" {best.name} is {far}, which is within the noise floor of {floor}."
    if verdict.apart:
        worse = _distances(comparison, best, [group for group in others if group.name in verdict.apart])
        text += f" {best.name} is {worse}: {_evidence(verdict)}."
    return text


def _excluded(comparison: Comparison, names: Sequence[str]) -> str:
    """Return how large a difference the launches exclude: no evidence of one is not evidence of none."""
    most = comparison.excluded_percent(names)
    if most is None:
        return ""
    most = max(most, *(group.evidence.noise_percent for group in comparison.groups))
    if most > 100:
        return f"; the {comparison.units} vary too much to exclude a difference below {most:,.0f} %"
    return f"; a difference above {percent(most, signed=False)} is excluded (99 %)"


def listed(names: Sequence[str]) -> str:
    """Return `a, b and c`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1] if names else ""]))


# ---- launches that an event explains (`railyard.records.folded.slow`) ----


def of_marked(case: Case, judged: Sequence[Comparison]) -> list[Statement]:
    """Return a sentence for each launch that an event explains, and one on the comparisons without these launches."""
    marked = [one for record in case.records for one in slow.marked(record)]
    named = [
        Statement(case.name(cases.combination_of(one.launch)) or one.record.id, one.text(), "slow") for one in marked
    ]
    if not marked or not judged:
        return named
    rest = dataclasses.replace(case, records=tuple(map(slow.without_marked, case.records)))
    before = {(member.fom, member.labels): member for member in judged}
    after = {(member.fom, member.labels): member for member in comparisons(rest)}
    return [*named, Statement("without them", remaining(len(marked), before, after), "slow")]


def _verdict(member: Comparison | None) -> str:
    """Return a comparison's outcome in a word or two."""
    if member is None:
        return "not measured"
    return f"{member.verdict.best} best" if member.verdict.best else str(member.verdict.outcome)


def remaining(marked: int, before: Mapping[Key, Comparison], after: Mapping[Key, Comparison]) -> str:
    """Return whether verdicts hold without so many marked launches; `before` has them with, `after` without."""
    changes = [
        f"{title(member)} from {_verdict(member)} to {_verdict(after.get(key))}"
        for key, member in before.items()
        if _verdict(member) != _verdict(after.get(key))
    ]
    head = f"Without the {counted(marked, 'launch')} that an event explains"
    if not changes:
        return f"{head} all {counted(len(before), 'verdict')} stay the same."
    named = "; ".join(changes[:_NAMED])
    more = f"; and {len(changes) - _NAMED} more" if len(changes) > _NAMED else ""
    return f"{head} {len(changes)} of {counted(len(before), 'verdict')} change: {named}{more}."
