"""The report: cases become views (frozen data), views one self-contained page or a summary for programs.

Models: what a reader sees, in the order of need: what was run and what can be said, then each case with
figure, table, failures and provenance. Leaves out: numbers (`analysis.comparison`, `analysis.curves`), markup
(the template, which escapes everything except the figures, made by `analysis.svg` through an XML writer).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
from markupsafe import Markup

from analysis import cases, comparison, curves, drawing, figures, registry, statistics, svg, tables
from analysis.cases import Case, Tally
from analysis.comparison import Comparison
from analysis.curves import Panel
from analysis.drawing import DataTable, Drawing
from analysis.numbers import percent
from analysis.tables import Row
from results import units
from results.record import Launch, Origin, Record, Status
from results.strictjson import Json

TEMPLATES = Path(__file__).resolve().parent / "templates"
#: Parameters whose lists are extents.
EXTENTS = frozenset({"grid", "cells", "extents", "torus"})

ORIGIN_NOTES = {
    Origin.EMULATED: (
        "Real MPI and real packets on a virtual torus whose link rates are scaled down. Absolute rates and "
        "times are those of the scaled virtual torus, not of the machine it models: compare placements, "
        "not machines."
    ),
    Origin.SIMULATED: "Simulated with SimGrid: deterministic, no measurement of a machine.",
    Origin.MODELLED: "Computed by the link-load model: no program ran.",
    Origin.MEASURED: "Measured on the system named.",
}


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
        """Whether any row needs the column of notes."""
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
    table: TableView | None
    curve_tables: Sequence[TableView]
    troubles: Sequence[tuple[str, Launch]]
    reasons: Sequence[tuple[str, str, str]]
    unmeasured: Sequence[tuple[str, int]]
    commands: Sequence[tuple[str, str]]
    records: Sequence[Record]
    provenance: Sequence[tuple[str, str]]


def view(case: Case, number: int, earlier: Sequence[Case] = ()) -> CaseView:
    """Everything the page says about a case."""
    own = registry.own_drawings(case)
    taken = registry.claimed(own)
    found = [each for each in comparison.comparisons(case) if each.fom not in taken]
    panels = [each for each in curves.panels(case) if each.fom not in taken]
    grouped = figures.by_fom(found)
    shown = [member for members in grouped[: figures.SHOWN_FOMS] for member in members]
    rest = [member for members in grouped[figures.SHOWN_FOMS :] for member in members]
    drawn = [*own, *figures.drawings(case, taken)]
    asked, system = case.first.case, case.first.system
    return CaseView(
        number=number,
        anchor=f"case-{number}",
        apart=kept_apart(case, earlier),
        title=title(case),
        subtitle=f"{asked.check} on {system.name} ({system.partition}, {system.environment})",
        origin=str(case.origin),
        origin_note=origin_note(case),
        facts=facts(case),
        tally=cases.tally(case),
        statements=[*_own_statements(own), *_statements(shown), *_curve_statements(panels)],
        others=_statements(rest),
        figures=[_figure(each, f"c{number}") for each in drawn],
        table=_table(case, found) if found else None,
        curve_tables=[_curve_table(panel) for panel in panels],
        troubles=[(record.id, each) for record, each in cases.launches(case) if each.status is not Status.OK],
        reasons=[
            (each.id, str(each.status), each.reason) for each in case.records if each.status is not Status.OK
        ],
        unmeasured=_unmeasured(case),
        commands=_commands(case),
        records=case.records,
        provenance=[(name, _known(value)) for name, value in cases.flat(case.first.provenance)],
    )


TIMES = "\N{MULTIPLICATION SIGN}"


def title(case: Case) -> str:
    """`halo, grid 4 x 4 x 4 on gemini-4x4x4`"""
    asked = case.first.case
    grid = asked.parameters.get("grid")
    parts = [asked.benchmark, f"grid {_value(grid, 'grid')}" if grid else ""]
    where = f" on {asked.topology.name}" if asked.topology else ""
    return ", ".join(filter(None, parts)) + where


def origin_note(case: Case) -> str:
    """What the numbers are, and for the virtual torus how far its rates and latencies are scaled."""
    note, torus = ORIGIN_NOTES[case.origin], case.first.provenance["torus"]
    if case.origin is not Origin.EMULATED or torus is None:
        return note
    latency = "Latency is scaled too." if torus["latency_scaled"] else "Latency is not scaled."
    return f"{note} rate_scale {torus['rate_scale']:g}. {latency}"


def facts(case: Case) -> list[tuple[str, str]]:
    """Terms and values that say what was run."""
    asked, topology = case.first.case, case.first.case.topology
    nodes = asked.allocation["nodes"]
    found = [
        (name.replace("_", " "), _value(value, name)) for name, value in sorted(asked.parameters.items())
    ]
    if topology:
        extents = f"{_value(list(topology.extents), 'extents')} torus, " if topology.extents else ""
        rails = f"{topology.rails} rail{'s' if topology.rails > 1 else ''}"
        routers = f"{topology.nodes_per_router} node{'s' if topology.nodes_per_router > 1 else ''} a router"
        found.append(("topology", f"{topology.name} ({extents}{routers}, {rails})"))
    found.append(("nodes", f"{len(nodes)}, order {asked.allocation['order']}"))
    found.append(("placements", ", ".join(asked.placements)))
    found.append(("NIC policies", ", ".join(asked.nic_policies)))
    if asked.studies:
        found.append(("studies", ", ".join(asked.studies)))
    return found


def _value(value: Json, name: str = "") -> str:
    if isinstance(value, list):
        return (f" {TIMES} " if name in EXTENTS else ", ").join(map(str, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _figure(drawn: Drawing, prefix: str) -> FigureView:
    image = Markup(
        drawing.inline_svg(drawn, prefix)
    )  # made by an XML writer, which escapes text and attributes
    return FigureView(title=drawn.title, image=image, data=drawn.data)


def _own_statements(own: Sequence[Drawing]) -> list[Statement]:
    return [Statement(title=each.title, text=each.statement, outcome="own") for each in own if each.statement]


def _statements(found: Sequence[Comparison]) -> list[Statement]:
    """A sentence for each comparison; neighbours of which the same can be said share it."""
    said = [(comparison.sentence(each), str(each.verdict.outcome), each.title) for each in found]
    grouped = itertools.groupby(said, key=lambda each: each[:2])
    return [
        Statement(title=", ".join(title for _, _, title in members), text=text, outcome=outcome)
        for (text, outcome), members in grouped
    ]


def _curve_statements(panels: Sequence[Panel]) -> list[Statement]:
    """A sentence for each curve over hops, or where there is none, over message sizes."""
    over = [panel for panel in panels if panel.axis == "hops"] or panels
    return [
        Statement(
            title=", ".join(filter(None, [panel.subject, panel.title])), text=_ends(panel), outcome="curve"
        )
        for panel in over
    ]


def _ends(panel: Panel) -> str:
    parts = []
    for line in panel.lines:
        first, last = line.points[0], line.points[-1]
        change = statistics.change_percent(last.summary.median, first.summary.median)
        moved = f"{last.summary.median:.4g} at {figures.tick(panel, last.x)}"
        if panel.axis == "hops" and change is not None:
            moved = f"{percent(change)} at {figures.tick(panel, last.x)}"
        value = f"{first.summary.median:.4g} {panel.unit.text} at {figures.tick(panel, first.x)}"
        parts.append(f"{line.name or 'all'} {value}" + (f", {moved}" if len(line.points) > 1 else ""))
    fewest = min(point.summary.n for line in panel.lines for point in line.points)
    return (
        f"{'; '.join(parts)}. Medians, n = {fewest}{'' if fewest >= statistics.ENOUGH else ': no interval'}."
    )


def _table(case: Case, found: Sequence[Comparison]) -> TableView:
    sections = [(f"{_sentence_case(each.title)}, {each.unit.heading}", tables.rows(each)) for each in found]
    return TableView(caption="Median over launches", head=case.head, sections=sections)


def _curve_table(panel: Panel) -> TableView:
    fixed = f", {panel.title}" if panel.title else ""
    caption = f"{_sentence_case(panel.subject)}, {panel.unit.heading}{fixed}"
    return TableView(caption=caption, head=curves.AXIS_TEXT[panel.axis], sections=tables.panel_rows(panel))


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


def _known(value: Json) -> str:
    if value is None:
        return "not known"
    return ("no", "yes")[value] if isinstance(value, bool) else _value(value)


def kept_apart(case: Case, earlier: Sequence[Case]) -> str:
    """Why a case stands beside an earlier one of the same title, or nothing."""
    alike = [number for number, each in enumerate(earlier, 1) if title(each) == title(case)]
    if not alike:
        return ""
    other = min(alike, key=lambda number: len(cases.differences(case, earlier[number - 1])))
    names = cases.differences(case, earlier[other - 1])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"Not compared with case {other}; differs in: {', '.join(names[:3])}{more}."


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginCount:
    """A line of the page's first table."""

    origin: str
    cases: int
    records: int
    tally: Tally


def counts(grouped: Sequence[Case]) -> list[OriginCount]:
    """How much there is, origin by origin."""
    return [
        _count(origin, [case for case in grouped if case.origin is origin])
        for origin in Origin
        if any(case.origin is origin for case in grouped)
    ]


def _count(origin: Origin, members: Sequence[Case]) -> OriginCount:
    tallies = [cases.tally(case) for case in members]
    return OriginCount(
        origin=str(origin),
        cases=len(members),
        records=sum(len(case.records) for case in members),
        tally=Tally(
            ok=sum(each.ok for each in tallies),
            failed=sum(each.failed for each in tallies),
            not_measured=sum(each.not_measured for each in tallies),
        ),
    )


def html(records: Iterable[Record]) -> str:
    """The page: complete in itself, the same bytes for the same records."""
    grouped = cases.group(records)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    days = sorted(record.created[:10] for case in grouped for record in case.records)
    return environment.get_template("report.html.j2").render(
        cases=[view(case, number, grouped[: number - 1]) for number, case in enumerate(grouped, 1)],
        counts=counts(grouped),
        records=len(days),
        days=" to ".join(sorted({days[0], days[-1]})) if days else "",
        enough=statistics.ENOUGH,
        light=svg.variables(svg.LIGHT),
        dark=svg.variables(svg.DARK),
        strokes=svg.STROKES,
    )
