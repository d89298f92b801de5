"""Show one case: frozen data, sentences and figures for the page.

Models: what a reader sees of one case, in the order of need. Leaves out: numbers (`railyard.analysis.cases.comparison`,
`railyard.analysis.cases.curves`), the page around the cases (`railyard.analysis.report.page`), markup (the template,
which escapes everything except the figures, made by `railyard.analysis.figures.svg` through an XML writer).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from railyard.analysis.cases import cases, comparison, modelled, outliers, spread, tables
from railyard.analysis.cases.cases import Case, Tally
from railyard.analysis.cases.curves import Panel
from railyard.analysis.cases.judgement import Comparison
from railyard.analysis.cases.spread import Captioned
from railyard.analysis.cases.tables import Cells
from railyard.analysis.cases.titles import facts, heading, kept_apart, known_text, origin_note
from railyard.analysis.figures import general, registry
from railyard.analysis.figures.drawing import WIDTH_IN, DataTable, Drawing
from railyard.analysis.judge.judged import JudgedCase
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
    sections: Sequence[tuple[str, Sequence[Cells]]]

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
    is_wide: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseView:
    """One case as the page shows it."""

    number: int
    anchor: str
    apart: str
    title: str
    subtitle: str
    origin: str
    scale: str
    origin_note: str
    facts: Sequence[tuple[str, str]]
    tally: Tally
    statements: Sequence[Statement]
    others: Sequence[Statement]
    figures: Sequence[FigureView]
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
    """A case with its drawings, and the comparisons and panels that no figure of the benchmark's own replaces.

    `stated` are the comparisons that have figures and sentences.
    """

    case: Case
    comparisons: Sequence[Comparison]
    stated: Sequence[Comparison]
    panels: Sequence[Panel]
    own: Sequence[Drawing]
    drawings: Sequence[Drawing]


def draw(judged: JudgedCase) -> DrawnCase:
    """Return a case with its drawings: the benchmark's own, then the general ones of all that is left."""
    own = registry.own_drawings(judged.case)
    claimed = registry.claimed(own)
    comparisons = [member for member in judged.comparisons if member.fom not in claimed]
    stated = [member for member in comparisons if not member.follows]
    panels = [panel for panel in judged.panels if panel.fom not in claimed]
    return DrawnCase(
        case=judged.case,
        comparisons=comparisons,
        stated=stated,
        panels=panels,
        own=own,
        drawings=[*own, *general.drawings_of(stated, panels)],
    )


def statements(drawn: DrawnCase) -> list[Statement]:
    """Return what the page states about a case first: its own figures, the first comparisons, the curves."""
    shown = [member for family in general.by_fom(drawn.stated)[: general.SHOWN_FOMS] for member in family]
    return [*_own_statements(drawn.own), *_statements(shown), *_curve_statements(drawn.panels)]


def view(drawn: DrawnCase, number: int, images: Sequence[Markup], shown: Sequence[Case] = ()) -> CaseView:
    """Return everything that the page shows of a case, `number` from 1 of those shown; `images` are its drawings."""
    case, comparisons = drawn.case, drawn.comparisons
    rest = [member for family in general.by_fom(drawn.stated)[general.SHOWN_FOMS :] for member in family]
    request, system = case.first.case, case.first.system
    return CaseView(
        number=number,
        anchor=f"case-{number}",
        apart=kept_apart(case, shown[: number - 1]),
        title=heading(case, shown),
        subtitle=f"{request.check} on {system.name} ({system.partition}, {system.environment})",
        origin=str(case.origin),
        scale=modelled.scale_text(case.first),
        origin_note=origin_note(case),
        facts=facts(case),
        tally=cases.tally(case),
        statements=statements(drawn),
        others=_statements(rest),
        figures=figure_views(drawn.drawings, images),
        table=_table(case, comparisons) if comparisons else None,
        spread=[*spread.tables(case), *outliers.tables(case)],
        troubles=[(record.id, launch) for record, launch in cases.launches(case) if not launch.is_result],
        reasons=[
            (record.id, str(record.status), record.reason)
            for record in case.records
            if record.status is not Status.OK
        ],
        unmeasured=_unmeasured(case),
        commands=_commands(case),
        records=case.records,
        provenance=[
            (name, known_text(value))
            for name, value in cases.flat(case.first.provenance)
            if name != "image" or value is not None
        ],
    )


def figure_views(drawings: Sequence[Drawing], images: Sequence[Markup]) -> list[FigureView]:
    """Return drawings with their markup, as the page shows them."""
    return [
        FigureView(
            title=drawing.title, image=image, data=drawing.data, is_wide=drawing.width_in > 1.5 * WIDTH_IN
        )
        for drawing, image in zip(drawings, images, strict=True)
    ]


def _own_statements(own: Sequence[Drawing]) -> list[Statement]:
    return [
        Statement(title=drawing.title, text=drawing.statement, outcome="own")
        for drawing in own
        if drawing.statement
    ]


def _statements(comparisons: Sequence[Comparison]) -> list[Statement]:
    return [
        Statement(title=title, text=text, outcome=outcome)
        for title, text, outcome in comparison.statements(comparisons)
    ]


def _curve_statements(panels: Sequence[Panel]) -> list[Statement]:
    """Return a sentence for each curve over hops, or if there is none, over message sizes."""
    over = [panel for panel in panels if panel.axis == "hops"] or panels
    return [
        Statement(
            title=", ".join(filter(None, [panel.subject, panel.title])),
            text=general.ends(panel),
            outcome="curve",
        )
        for panel in over
    ]


def _table(case: Case, comparisons: Sequence[Comparison]) -> TableView:
    sections = [
        (f"{_sentence_case(comparison.title(member))}, {member.fom.heading}", tables.rows(member))
        for member in comparisons
    ]
    return TableView(caption="Median over launches", head=case.head, sections=sections)


def _sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:]


def _unmeasured(case: Case) -> list[tuple[str, int]]:
    """Return what has no value for one reason, the points of a figure in one text, and in how many launches."""
    points: dict[tuple[str, str], Counter[str]] = {}
    for _, launch in cases.launches(case):
        for point in launch.not_measured:
            labels = comparison.label_text(cases.frozen_labels(point.labels))
            points.setdefault((point.fom.stem, point.reason), Counter())[labels] += 1
    return [
        (f"{stem} {_ends(list(of_reason))}: {reason}", max(of_reason.values()))
        for (stem, reason), of_reason in points.items()
    ]


def _ends(labels: Sequence[str]) -> str:
    """Return one point's labels, or the first and the last of several."""
    return labels[0] if len(labels) == 1 else f"at {len(labels)} points, {labels[0]} to {labels[-1]}"


def _commands(case: Case) -> list[tuple[str, str]]:
    first: dict[str, str] = {}
    for _, launch in cases.launches(case):
        if launch.command:
            first.setdefault(case.name(cases.combination_of(launch)), launch.command)
    return list(first.items())
