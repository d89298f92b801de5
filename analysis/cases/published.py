"""What a paper published, beside what was found here.

Models: the published numbers of a case's studies and benchmark; where one names what of ours answers it, what was found
here: two placements or NIC policies in the first figure of merit, or two series. Leaves out: any judgement of the
agreement: the machines differ, and a virtual torus is scaled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.cases import cases
from analysis.cases.cases import Case, Combination, Observation
from analysis.cases.comparison import Comparison, Group
from analysis.stats import medians
from analysis.stats.verdicts import Outcome
from analysis.text.numbers import MINUS, percent, size_text
from railyard.records import studies, units
from railyard.records.benchmark import Labels
from railyard.records.studies import Contrast, Published, Shown
from railyard.records.units import Better

ABSOLUTE = frozenset({Shown.VALUE, Shown.DIFFERENCE})
Observed = Mapping[tuple[str, Labels], Mapping[Combination, Sequence[Observation]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRow:
    """One published number as text; `here` is empty where nothing of ours answers it."""

    study: str
    figure: str
    quantity: str
    value: str
    here: str


def rows(case: Case, found: Sequence[Comparison]) -> list[PublishedRow]:
    """The published numbers of a case's studies about its benchmark, in the study's order."""
    asked = case.first.case
    return [
        PublishedRow(
            study=study.citation,
            figure=each.figure,
            quantity=each.quantity,
            value=f"{each.value:g}".replace("-", MINUS) + f" {each.unit}",
            here=here(each, case, found),
        )
        for study in studies.of(asked.studies)
        for each in study.published
        if each.benchmark == asked.benchmark
    ]


def unanswered(grouped: Sequence[Case]) -> list[str]:
    """Benchmarks that a study of these cases published numbers of, and that no case here ran."""
    names = list(dict.fromkeys(name for case in grouped for name in case.first.case.studies))
    missing = []
    for study in studies.of(names):
        ran = {case.first.case.benchmark for case in grouped if study.name in case.first.case.studies}
        wanted = dict.fromkeys(each.benchmark for each in study.published if each.benchmark not in ran)
        missing += [f"{study.name}: {benchmark} was not run" for benchmark in wanted]
    return missing


def here(published: Published, case: Case, found: Sequence[Comparison]) -> str:
    """Return what a case has beside a published number, as text; empty where it has nothing."""
    contrast = published.compare
    if contrast is None:
        return ""
    if not _is_on_grid(contrast, case.first.case.parameters.get("grid", [])):
        return ""
    torus = case.first.provenance["torus"]
    if contrast.shown in ABSOLUTE and torus is not None and torus["rate_scale"] != 1:
        return ""  # a scaled torus has ratios, no rates and times of the machine's
    if contrast.baseline:
        return _of_combinations(contrast, case, found)
    return _of_series(contrast, case)


def _is_on_grid(contrast: Contrast, grid: object) -> bool:
    """Return whether a case's process grid, whatever its record holds there, is one that a contrast is about."""
    extents = grid if isinstance(grid, list) else []
    has_dimensions = contrast.dimensions in (0, len(extents))
    return has_dimensions and (contrast.side == 0 or extents == [contrast.side] * len(extents))


def _of_combinations(contrast: Contrast, case: Case, found: Sequence[Comparison]) -> str:
    of_fom = [
        each
        for each in found
        if contrast.fom in ("", each.fom) and contrast.labels.items() <= dict(each.labels).items()
    ]
    if not of_fom:
        return _of_largest_size(contrast, case)
    first = of_fom[0]
    ours, base = _group(first, contrast, ours=True), _group(first, contrast, ours=False)
    if ours is None and base is None:
        return ""
    if ours is None or base is None or ours.summary is None or base.summary is None:
        return "not measured"
    if contrast.shown is not Shown.CHANGE:
        return _shown(contrast, ours.summary.median, base.summary.median)
    change = medians.change_percent(ours.summary.median, base.summary.median)
    if change is None:
        return ""
    if round(change, 2) == 0:
        return f"no difference ({first.title})"
    is_better = (change < 0) == (first.unit.better is Better.LOWER)
    shown = f"{percent(abs(change), signed=False)} {'better' if is_better else 'worse'}"
    alike = first.verdict.outcome is Outcome.NO_DIFFERENCE and not {ours.name, base.name} & {
        *first.verdict.apart
    }
    return f"no difference shown ({shown}; {first.title})" if alike else f"{shown} ({first.title})"


def _of_largest_size(contrast: Contrast, case: Case) -> str:
    """By the last point of a curve over message sizes, which the text names."""
    curve = [
        (size, by_combination)
        for (fom, labels), by_combination in cases.observations(case).items()
        if fom == contrast.fom and isinstance(size := dict(labels).get("size_bytes"), int)
    ]
    if not curve:
        return ""
    size, by_combination = max(curve, key=lambda point: point[0])
    ours, base = _median(by_combination, contrast, ours=True), _median(by_combination, contrast, ours=False)
    if ours is None or base is None:
        return "" if ours is base else "not measured"
    return f"{_shown(contrast, ours, base)} ({size_text(size)})"


def _median(
    by_combination: Mapping[Combination, Sequence[Observation]], contrast: Contrast, *, ours: bool
) -> float | None:
    """The median over launches of the first combination that a contrast means."""
    for combination, values in by_combination.items():
        if _is_meant(combination, contrast, ours=ours):
            return medians.summarise([each.value for each in values]).median
    return None


def _of_series(contrast: Contrast, case: Case) -> str:
    """By the largest message size that both series have, unless the labels name one."""
    observed = cases.observations(case)
    if contrast.shown is Shown.VALUE:
        return _one_value(contrast, observed, case)
    if contrast.shown is Shown.APART:
        return _most_apart(contrast, observed)
    pairs = [
        (dict(labels).get("size_bytes", 0), ours, base)
        for (fom, labels), by_combination in observed.items()
        if fom == contrast.fom and contrast.labels.items() <= dict(labels).items()
        for base in [_middle(observed.get((fom, _instead(labels, contrast)), {}), case)]
        for ours in [_middle(by_combination, case)]
        if ours is not None and base is not None
    ]
    if not pairs:
        return ""
    _, ours, base = max(pairs, key=lambda pair: int(pair[0]))
    return _shown(contrast, ours, base)


def _one_value(contrast: Contrast, observed: Observed, case: Case) -> str:
    found = [
        value
        for (fom, labels), by_combination in observed.items()
        if fom == contrast.fom and contrast.labels.items() <= dict(labels).items()
        for value in [_middle(by_combination, case)]
        if value is not None
    ]
    if not found:
        return ""
    return f"{contrast.factor * medians.summarise(found).median:.4g} {units.unit_of(contrast.fom).text}"


def _most_apart(contrast: Contrast, observed: Observed) -> str:
    """Find the series whose samples, of all launches, are farthest apart, in percent of its smallest sample."""
    found = [
        (100 * (max(samples) / min(samples) - 1), int(dict(labels).get("size_bytes", 0)), len(samples))
        for (fom, labels), by_combination in observed.items()
        if fom == contrast.fom and contrast.labels.items() <= dict(labels).items()
        for observations in by_combination.values()
        for samples in [[sample for each in observations for sample in each.repeats]]
        if len(samples) > 1 and min(samples) > 0
    ]
    if not found:
        return ""
    apart, size, count = max(found)
    where = f"{size_text(size)}, " if size else ""
    return f"{percent(apart, signed=False)} at most ({where}n = {count})"


def _shown(contrast: Contrast, ours: float, base: float) -> str:
    match contrast.shown:
        case Shown.DIFFERENCE:
            return f"{ours - base:.3g} {units.unit_of(contrast.fom).text}"
        case Shown.SHARE:
            return percent(100 * ours / base, signed=False)
        case Shown.TIMES:
            is_rate = units.unit_of(contrast.fom).better is Better.HIGHER
            return f"{ours / base if is_rate else base / ours:.3g} times"
    change = medians.change_percent(ours, base)
    return "" if change is None else percent(change)


def _instead(labels: Labels, contrast: Contrast) -> Labels:
    return cases.frozen_labels({**dict(labels), **contrast.against})


def _middle(by_combination: Mapping[Combination, Sequence[Observation]], case: Case) -> float | None:
    """The median over launches of the first combination that has any."""
    for combination in case.combinations:
        if values := by_combination.get(combination):
            return medians.summarise([each.value for each in values]).median
    return None


def _group(comparison: Comparison, contrast: Contrast, *, ours: bool) -> Group | None:
    """The group that a contrast means; the other of placement and NIC policy is the baseline's."""
    for group in comparison.groups:
        if _is_meant(group.combination, contrast, ours=ours):
            return group
    return None


def _is_meant(combination: Combination, contrast: Contrast, *, ours: bool) -> bool:
    name = combination.placement if contrast.placement else combination.nic_policy
    wanted = (contrast.placement or contrast.nic_policy) if ours else contrast.baseline
    return name == wanted
