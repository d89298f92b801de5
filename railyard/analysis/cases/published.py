"""Compare what a paper published with what was measured here.

Models: the published numbers of a case's studies and benchmark. Where one names what of ours answers it, the answer is
of two placements or NIC policies in the first figure of merit, or of two series. Measured, emulated, simulated and
modelled numbers are answers of their own, and nothing is summed over origins. Leaves out: any judgement of the
agreement but the factor between the numbers, because the machines differ, and a virtual torus is scaled.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from railyard.analysis.cases import cases, comparison
from railyard.analysis.cases.cases import Case, Combination, Observation
from railyard.analysis.cases.judgement import Comparison
from railyard.analysis.stats import medians
from railyard.analysis.stats.verdicts import Outcome
from railyard.analysis.text import MINUS, percent, size_text
from railyard.records import studies
from railyard.records.benchmark import Label
from railyard.records.record import Origin
from railyard.records.studies import Contrast, Published, Shown
from railyard.records.units import Better, Fom

#: Columns of the table by origin, from left to right.
COLUMNS = (Origin.MEASURED, Origin.EMULATED, Origin.SIMULATED, Origin.MODELLED)
#: Numbers that are further apart than this are explained, or their row has "not explained".
FACTOR = 1.5
#: How the quantity of a limit ends.
MOST, LEAST = ("up to", "at most", "below"), ("more than", "at least", "over")
ABSOLUTE = frozenset({Shown.VALUE, Shown.DIFFERENCE})
T = TypeVar("T")
ByCombination = Mapping[Combination, Sequence[Observation]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """One published number, by origin the answers, (value, where it comes from), and why they differ from it."""

    study: str
    figure: str
    quantity: str
    value: str
    of: Mapping[Origin, Sequence[tuple[str, str]]]
    differs: str


def rows(judged: Sequence[tuple[Case, Sequence[Comparison]]]) -> list[Answers]:
    """Return every published number that any case answers, in the studies' order."""
    names = dict.fromkeys(name for case, _ in judged for name in case.first.case.studies)
    return [
        Answers(
            study=study.citation,
            figure=number.figure,
            quantity=number.quantity,
            value=f"{number.value:g} {number.unit}".replace("-", MINUS),
            of=answers,
            differs=re.sub(r"(?<!\w)-(?=\d)", MINUS, _why(number, answers)),
        )
        for study in studies.of(names)
        for number in study.published
        if any((answers := _answers(study.name, number, judged)).values())
    ]


def _why(number: Published, answers: Mapping[Origin, Sequence[tuple[str, str]]]) -> str:
    """Return by which factor the farthest answer misses a published number, if by much, and why."""
    times = [apart(number, answer) or 1.0 for of_origin in answers.values() for answer, _ in of_origin]
    if max(times) <= FACTOR:
        return number.differs
    return f"{max(times):.1f} times apart: {number.differs or 'not explained'}"


def apart(number: Published, answer: str) -> float | None:
    """Return by which factor an answer misses a published number; 1 within its limit, None without an answer."""
    if answer in ("", "not measured"):
        return None
    ours, published = _factor(number, _value(answer)), _factor(number, number.value)
    if is_within(number, answer):
        return 1.0
    return max(ours / published, published / ours) if min(ours, published) > 0 else math.inf


def is_within(number: Published, answer: str) -> bool:
    """Return whether the published number is a limit, and an answer is within it."""
    ours, published = _value(answer), number.value
    is_below = number.quantity.endswith(MOST) and abs(ours) <= abs(published)
    return is_below or (number.quantity.endswith(LEAST) and ours > published)


def _value(text: str) -> float:
    """Return the number of an answer: `29.6 % better (exchange)` is 29.6, `no difference` 0."""
    match = re.search(r"[-+]?\d+\.?\d*", text.replace(MINUS, "-"))
    return (-1 if "worse" in text else 1) * float(match[0] if match else 0)


def _factor(number: Published, value: float) -> float:
    """Return a number as a factor, so that it can be divided."""
    is_share = number.compare is not None and number.compare.shown in (Shown.SHARE, Shown.VALUE)
    return 1 + value / 100 if number.unit == "%" and not is_share else value


def _answers(
    name: str, number: Published, judged: Sequence[tuple[Case, Sequence[Comparison]]]
) -> dict[Origin, list[tuple[str, str]]]:
    answers: dict[Origin, list[tuple[str, str]]] = {origin: [] for origin in COLUMNS}
    for case, comparisons in judged:
        request = case.first.case
        if name in request.studies and request.benchmark == number.benchmark:
            ranks = max((len(launch.ranks) for _, launch in cases.launches(case)), default=0)
            topology = request.topology.name if request.topology else ""
            run = ", ".join(filter(None, [request.check, topology, f"{ranks} ranks"]))
            answer = here(number, case, comparisons), f"{case.first.system.name}: {run}"
            if answer[0] and answer not in answers[case.origin]:
                answers[case.origin].append(answer)
    return answers


def reasons(shown: Sequence[Answers]) -> list[tuple[str, str]]:
    """Return how the runs of each study that is shown differ from ours in general: (citation, reason)."""
    citations = {row.study for row in shown}
    return [
        (study.citation, study.differs)
        for study in studies.all_studies().values()
        if study.citation in citations and study.differs
    ]


def unanswered(grouped: Sequence[Case]) -> list[str]:
    """Return the benchmarks that a study of these cases published numbers of, and that no case here ran."""
    names = dict.fromkeys(name for case in grouped for name in case.first.case.studies)
    missing = []
    for study in studies.of(names):
        ran = {case.first.case.benchmark for case in grouped if study.name in case.first.case.studies}
        wanted = dict.fromkeys(number.benchmark for number in study.published if number.benchmark not in ran)
        missing += [f"{study.name}: {benchmark} was not run" for benchmark in wanted]
    return missing


def here(published: Published, case: Case, comparisons: Sequence[Comparison]) -> str:
    """Return what a case answers to a published number, as text; empty if it has no answer."""
    contrast, torus = published.compare, case.first.provenance["torus"]
    if contrast is None:
        return ""
    grid = case.first.case.parameters.get("grid", [])
    extents = grid if isinstance(grid, list) else []  # whatever its record holds there
    if contrast.dimensions not in (0, len(extents)) or (contrast.side and extents != [contrast.side] * len(extents)):
        return ""
    if contrast.shown in ABSOLUTE and torus is not None and torus["rate_scale"] != 1:
        return ""  # a scaled torus has ratios, no rates and times of the machine's
    return _of_combinations(contrast, case, comparisons) if contrast.baseline else _of_series(contrast, case)


def _of_combinations(contrast: Contrast, case: Case, comparisons: Sequence[Comparison]) -> str:
    first = next(
        (
            member
            for member in comparisons
            if contrast.fom in ("", member.fom) and contrast.labels.items() <= dict(member.labels).items()
        ),
        None,
    )
    if first is None:
        return _of_largest_size(contrast, case)
    ours, base = _named(contrast, list(zip(case.combinations, first.groups, strict=True)))
    if ours is None and base is None:
        return ""
    if ours is None or base is None or ours.summary is None or base.summary is None:
        return "not measured"
    if contrast.shown is not Shown.CHANGE:
        return _shown(contrast, first.fom, ours.median, base.median)
    change = medians.change_percent(ours.median, base.median)
    title = comparison.title(first)
    if change is None:
        return ""
    if round(change, 2) == 0:
        return f"no difference ({title})"
    is_better = (change < 0) == (first.fom.better is Better.LOWER)
    shown = f"{percent(abs(change), signed=False)} {'better' if is_better else 'worse'}"
    alike = first.verdict.outcome is Outcome.NO_DIFFERENCE and not {ours.name, base.name} & {*first.verdict.apart}
    return f"no difference shown ({shown}; {title})" if alike else f"{shown} ({title})"


def _of_largest_size(contrast: Contrast, case: Case) -> str:
    """Return the answer of the last point of a curve over message sizes, which the text names."""
    curve = [
        (size, fom, by_combination)
        for (fom, labels), by_combination in cases.observations(case).items()
        if fom == contrast.fom and isinstance(size := dict(labels).get("size_bytes"), int)
    ]
    if not curve:
        return ""
    size, fom, by_combination = max(curve, key=lambda point: point[0])
    ours, base = _named(contrast, list(by_combination.items()))
    if ours is None or base is None:
        return "" if ours is base else "not measured"
    return f"{_shown(contrast, fom, cases.summary(ours).median, cases.summary(base).median)} ({size_text(size)})"


def _of_series(contrast: Contrast, case: Case) -> str:
    """Return the answer of the series that have the contrast's labels: their value, how far apart, or of two of them.

    Two are compared at the largest message size that both have, unless the labels name one.
    """
    observed = cases.observations(case)
    chosen = [
        (fom, dict(labels), by_combination)
        for (fom, labels), by_combination in observed.items()
        if fom == contrast.fom and contrast.labels.items() <= dict(labels).items()
    ]
    if contrast.shown is Shown.APART:
        return _most_apart((labels, by_combination) for _, labels, by_combination in chosen)
    if contrast.shown is Shown.VALUE:
        values = [value for _, _, series in chosen if (value := _middle(series, case)) is not None]
        unit = chosen[0][0].unit.text if chosen else ""
        return f"{contrast.factor * medians.summarise(values).median:.4g} {unit}" if values else ""
    pairs = [
        (labels.get("size_bytes", 0), ours, base, fom)
        for fom, labels, by_combination in chosen
        for base in [_middle(observed.get((fom, cases.frozen_labels({**labels, **contrast.against})), {}), case)]
        for ours in [_middle(by_combination, case)]
        if ours is not None and base is not None
    ]
    if not pairs:
        return ""
    _, ours, base, fom = max(pairs, key=lambda pair: int(pair[0]))
    return _shown(contrast, fom, ours, base)


def _most_apart(chosen: Iterable[tuple[Mapping[str, Label], ByCombination]]) -> str:
    """Return, as text, the largest range of samples of one series in percent of its smallest, over all launches."""
    ranges = [
        (100 * (max(samples) / min(samples) - 1), int(labels.get("size_bytes", 0)), len(samples))
        for labels, by_combination in chosen
        for observations in by_combination.values()
        for samples in [[sample for launch in observations for sample in launch.repeats]]
        if len(samples) > 1 and min(samples) > 0
    ]
    if not ranges:
        return ""
    most_percent, size, count = max(ranges)
    where = f"{size_text(size)}, " if size else ""
    return f"{percent(most_percent, signed=False)} at most ({where}n = {count})"


def _shown(contrast: Contrast, fom: Fom, ours: float, base: float) -> str:
    match contrast.shown:
        case Shown.DIFFERENCE:
            return f"{ours - base:.3g} {fom.unit.text}"
        case Shown.SHARE:
            return percent(100 * ours / base, signed=False)
        case Shown.TIMES:
            is_rate = fom.better is Better.HIGHER
            return f"{ours / base if is_rate else base / ours:.3g} times"
    change = medians.change_percent(ours, base)
    return "" if change is None else percent(change)


def _middle(by_combination: ByCombination, case: Case) -> float | None:
    """Return the median over launches of the first combination that has any."""
    for combination in case.combinations:
        if values := by_combination.get(combination):
            return cases.summary(values).median
    return None


def _named(contrast: Contrast, of: Sequence[tuple[Combination, T]]) -> tuple[T | None, T | None]:
    """Return what the first combinations have that a contrast names as ours and as baseline.

    It names a placement or a NIC policy; the other one is free.
    """
    part = "placement" if contrast.placement else "nic_policy"
    by_name = {getattr(combination, part): value for combination, value in reversed(of)}
    return by_name.get(contrast.placement or contrast.nic_policy), by_name.get(contrast.baseline)
