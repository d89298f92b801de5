"""The published numbers of the studies, and beside each what was found, a column for each origin.

Models: measured, emulated, simulated and modelled numbers answer the same question apart from each other; a cell holds
every case of its origin that answers it. Leaves out: any sum or comparison over origins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.cases import published
from analysis.cases.cases import Case
from analysis.cases.comparison import Comparison
from railyard.records import studies
from railyard.records.record import Origin
from railyard.records.studies import Published

#: Left to right on the page, after the paper's own column.
COLUMNS = (Origin.MEASURED, Origin.EMULATED, Origin.SIMULATED, Origin.MODELLED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """One published number, and by origin the answers: (value, what it is of)."""

    study: str
    figure: str
    quantity: str
    value: str
    of: Mapping[Origin, Sequence[tuple[str, str]]]


def rows(found: Sequence[tuple[Case, Sequence[Comparison]]]) -> list[Answers]:
    """Every published number that any case answers, in the studies' order."""
    names = dict.fromkeys(name for case, _ in found for name in case.first.case.studies)
    return [
        row
        for study in studies.of(names)
        for each in study.published
        if (row := _row(study.name, study.citation, each, found)) is not None
    ]


def _row(
    name: str, citation: str, each: Published, found: Sequence[tuple[Case, Sequence[Comparison]]]
) -> Answers | None:
    of: dict[Origin, list[tuple[str, str]]] = {origin: [] for origin in COLUMNS}
    for case, comparisons in found:
        asked = case.first.case
        if name in asked.studies and asked.benchmark == each.benchmark:
            text = published.here(each, case, comparisons)
            if text and (text, _what(case)) not in of[case.origin]:
                of[case.origin].append((text, _what(case)))
    if not any(of.values()):
        return None
    value = f"{each.value:g} {each.unit}"
    return Answers(study=citation, figure=each.figure, quantity=each.quantity, value=value, of=of)


def _what(case: Case) -> str:
    """`simtorus: rowcol_paper, blue-waters, 343 ranks`."""
    asked = case.first.case
    ranks = max((len(launch.ranks) for record in case.records for launch in record.launches), default=0)
    where = asked.topology.name if asked.topology else ""
    said = ", ".join(filter(None, [asked.check, where, f"{ranks} ranks"]))
    return f"{case.first.system.name}: {said}"
