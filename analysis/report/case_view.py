"""A case as the page shows it: frozen data, sentences and figures.

Models: what a reader sees of one case, in the order of need. Leaves out: numbers (`analysis.cases.comparison`,
`analysis.cases.curves`), the page around the cases (`analysis.report.page`), markup (the template, which escapes
everything except the figures, made by `analysis.figures.svg` through an XML writer).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from analysis.cases import cases, comparison, outliers, published, spread, tables
from analysis.cases.cases import Case, Tally
from analysis.cases.comparison import Comparison
from analysis.cases.curves import Panel
from analysis.cases.judgement import JudgedCase
from analysis.cases.published import PublishedRow
from analysis.cases.spread import Captioned
from analysis.cases.tables import Row
from analysis.cases.titles import facts, heading, kept_apart, known_text, origin_note
from analysis.figures import general, registry
from analysis.figures.drawing import DataTable, Drawing
from railyard.records import units
from railyard.records.record import Launch, Record, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One comparison's or curve's sentence."""

    title: str
    text: str
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableView:
    """Rows under one heading; `head` names the first column."""

    caption: str
    head: str
    sections: Sequence[tuple[str, Sequence[Row]]]

    @property
    def has_notes(self) -> bool:
        """Return whether any row needs the column of notes."""
        return any(row.note for _, rows in self.sections for row in rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureView:
    """One figure with the numbers behind it; `image` is safe markup."""

    title: str
    image: Markup
    data: DataTable


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseView:
    """One case as the page shows it."""

    number: int
    anchor: str
    apart: str
    title: str
    subtitle: str
    origin: str
    origin_note: str
    facts: Sequence[tuple[str, str]]
    tally: Tally
    statements: Sequence[Statement]
    others: Sequence[Statement]
    figures: Sequence[FigureView]
    published: Sequence[PublishedRow]
    table: TableView | None
    spread: Sequence[Captioned]
    troubles: Sequence[tuple[str, Launch]]
    reasons: Sequence[tuple[str, str, str]]
    unmeasured: Sequence[tuple[str, int]]
    commands: Sequence[tuple[str, str]]
    records: Sequence[Record]
    provenance: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnCase:
    """A case with its drawings. `found` and `panels` are those that no figure of the benchmark's own takes over."""

    case: Case
    found: Sequence[Comparison]
    panels: Sequence[Panel]
    own: Sequence[Drawing]
    drawings: Sequence[Drawing]


def draw(judged: JudgedCase) -> DrawnCase:
    """Return a case with its drawings: the benchmark's own, then the general ones of all that is left."""
    own = registry.own_drawings(judged.case)
    taken = registry.claimed(own)
    found = [each for each in judged.comparisons if each.fom not in taken]
    panels = [each for each in judged.panels if each.fom not in taken]
    return DrawnCase(
        case=judged.case,
        found=found,
        panels=panels,
        own=own,
        drawings=[*own, *general.drawings_of(found, panels)],
    )


def statements(drawn: DrawnCase) -> list[Statement]:
    """Return what the page states about a case first: its own figures, the first comparisons, the curves."""
    shown = [each for members in general.by_fom(drawn.found)[: general.SHOWN_FOMS] for each in members]
    return [*_own_statements(drawn.own), *_statements(shown), *_curve_statements(drawn.panels)]


def view(drawn: DrawnCase, number: int, images: Sequence[Markup], shown: Sequence[Case] = ()) -> CaseView:
    """Return everything that the page shows of a case, `number` from 1 of those shown; `images` are its drawings."""
    case, found = drawn.case, drawn.found
    rest = [each for members in general.by_fom(found)[general.SHOWN_FOMS :] for each in members]
    asked, system = case.first.case, case.first.system
    return CaseView(
        number=number,
        anchor=f"case-{number}",
        apart=kept_apart(case, shown[: number - 1]),
        title=heading(case, shown),
        subtitle=f"{asked.check} on {system.name} ({system.partition}, {system.environment})",
        origin=str(case.origin),
        origin_note=origin_note(case),
        facts=facts(case),
        tally=cases.tally(case),
        statements=statements(drawn),
        others=_statements(rest),
        figures=figure_views(drawn.drawings, images),
        published=published.rows(case, found),
        table=_table(case, found) if found else None,
        spread=[*spread.tables(case), *outliers.tables(case)],
        troubles=[(record.id, each) for record, each in cases.launches(case) if not each.is_result],
        reasons=[
            (each.id, str(each.status), each.reason) for each in case.records if each.status is not Status.OK
        ],
        unmeasured=_unmeasured(case),
        commands=_commands(case),
        records=case.records,
        provenance=[(name, known_text(value)) for name, value in cases.flat(case.first.provenance)],
    )


def figure_views(drawn: Sequence[Drawing], images: Sequence[Markup]) -> list[FigureView]:
    """Drawings with their markup, as the page shows them."""
    return [
        FigureView(title=each.title, image=image, data=each.data)
        for each, image in zip(drawn, images, strict=True)
    ]


def _own_statements(own: Sequence[Drawing]) -> list[Statement]:
    return [Statement(title=each.title, text=each.statement, outcome="own") for each in own if each.statement]


def _statements(found: Sequence[Comparison]) -> list[Statement]:
    return [
        Statement(title=title, text=text, outcome=outcome) for title, text, outcome in comparison.said(found)
    ]


def _curve_statements(panels: Sequence[Panel]) -> list[Statement]:
    """A sentence for each curve over hops, or where there is none, over message sizes."""
    over = [panel for panel in panels if panel.axis == "hops"] or panels
    return [
        Statement(
            title=", ".join(filter(None, [panel.subject, panel.title])),
            text=general.ends(panel),
            outcome="curve",
        )
        for panel in over
    ]


def _table(case: Case, found: Sequence[Comparison]) -> TableView:
    sections = [(f"{_sentence_case(each.title)}, {each.unit.heading}", tables.rows(each)) for each in found]
    return TableView(caption="Median over launches", head=case.head, sections=sections)


def _sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:]


def _unmeasured(case: Case) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    for _, launch in cases.launches(case):
        for each in launch.not_measured:
            labels = comparison.label_text(cases.frozen_labels(each.labels))
            text = f"{units.stem(each.fom)} {labels}: {each.reason}"
            counts[text] = counts.get(text, 0) + 1
    return list(counts.items())


def _commands(case: Case) -> list[tuple[str, str]]:
    first: dict[str, str] = {}
    for _, launch in cases.launches(case):
        if launch.command:
            first.setdefault(case.name(cases.combination_of(launch)), launch.command)
    return list(first.items())
