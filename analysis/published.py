"""What a paper published, beside what was found here.

Models: the published numbers of a case's studies and benchmark; where one names a placement or NIC policy and its
baseline, the change found here in the first figure of merit. Leaves out: any judgement of the agreement: the machines
differ, and a virtual torus is scaled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis import statistics
from analysis.cases import Case
from analysis.comparison import Comparison, Group
from analysis.numbers import percent
from results import studies
from results.studies import Contrast, Published
from results.units import Better


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
            value=f"{each.value:g} {each.unit}",
            here=_here(each, found),
        )
        for study in studies.of(asked.studies)
        for each in study.published
        if each.benchmark == asked.benchmark
    ]


def unanswered(cases: Sequence[Case]) -> list[str]:
    """Benchmarks that a study of these cases published numbers of, and that no case here ran."""
    names = list(dict.fromkeys(name for case in cases for name in case.first.case.studies))
    missing = []
    for study in studies.of(names):
        ran = {case.first.case.benchmark for case in cases if study.name in case.first.case.studies}
        wanted = dict.fromkeys(each.benchmark for each in study.published if each.benchmark not in ran)
        missing += [f"{study.name}: {benchmark} was not run" for benchmark in wanted]
    return missing


def _here(published: Published, found: Sequence[Comparison]) -> str:
    if published.compare is None or not found:
        return ""
    first = found[0]
    ours, base = _group(first, published.compare, ours=True), _group(first, published.compare, ours=False)
    if ours is None or base is None or ours.summary is None or base.summary is None:
        return "not measured"
    change = statistics.change_percent(ours.summary.median, base.summary.median)
    if change is None:
        return ""
    is_better = (change < 0) == (first.unit.better is Better.LOWER)
    return f"{percent(abs(change), signed=False)} {'better' if is_better else 'worse'} ({first.title})"


def _group(comparison: Comparison, contrast: Contrast, *, ours: bool) -> Group | None:
    """The group that a contrast means; the other of placement and NIC policy is the baseline's."""
    for group in comparison.groups:
        combination = group.combination
        name = combination.placement if contrast.placement else combination.nic_policy
        wanted = (contrast.placement or contrast.nic_policy) if ours else contrast.baseline
        if name == wanted:
            return group
    return None
