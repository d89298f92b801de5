"""Write the page: what all cases together show, then each case in the order of need, and what was not measured.

Models: one HTML document that needs nothing else and is the same bytes for the same records. Its only script, which
sorts tables and folds sections, is named by its hash in the page's content security policy: nothing else can run.
Leaves out: numbers, markup (the template, which escapes everything except the figures, made by
`railyard.analysis.figures.svg` through an XML writer).
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from railyard.analysis.cases import cases, comparison, modelled, published, spread, tables
from railyard.analysis.cases.cases import Case
from railyard.analysis.cases.comparison import Statement
from railyard.analysis.cases.curves import Panel
from railyard.analysis.cases.judgement import Comparison
from railyard.analysis.cases.titles import facts, heading, kept_apart, known_text, origin_note
from railyard.analysis.figures import applications, drawing, general, registry, svg
from railyard.analysis.figures import by_extent as extents
from railyard.analysis.figures.drawing import Drawing, made
from railyard.analysis.judge import text as words
from railyard.analysis.judge.judged import Judged, JudgedCase, sections
from railyard.analysis.report import answer, effects, history
from railyard.analysis.report.effects import Cell
from railyard.analysis.stats import contrast, medians
from railyard.analysis.text import capital, counted
from railyard.records.record import Origin, Status

TEMPLATES = Path(__file__).resolve().parent / "templates"


def counts(grouped: Sequence[Case]) -> list[dict[str, Any]]:
    """Return how much there is, origin by origin: cases, records, and how launches ended."""
    by_origin = {origin: [case for case in grouped if case.origin is origin] for origin in Origin}
    return [
        {
            "origin": str(origin),
            "cases": len(members),
            "records": sum(len(case.records) for case in members),
            "tally": sum(map(cases.tally, members), Counter[str]()),
        }
        for origin, members in by_origin.items()
        if members
    ]


def not_measured(grouped: Sequence[Case]) -> list[tuple[str, str]]:
    """Return everything that was requested and has no result, with its reason: (what, why)."""
    counts: Counter[tuple[str, str]] = Counter()
    for number, case in enumerate(grouped, 1):
        for record in case.records:
            if record.status is not Status.OK and not record.launches:
                counts[f"case {number}: {record.status}", record.reason] += 1
        for _, launch in cases.launches(case):
            if not launch.is_result:
                word = "void" if launch.is_void else str(launch.status)
                why = "; ".join(launch.guard.reasons) if launch.is_void and launch.guard else launch.reason
                counts[f"case {number}: launches {word}", why or "no reason given"] += 1
    rows = [(f"{what} ({count})" if count > 1 else what, why) for (what, why), count in counts.items()]
    return rows + [("study", text) for text in published.unanswered(grouped)]


def html(judged: Judged) -> str:
    """Return the page of judged records."""
    grouped, versus = judged.grouped, judged.sides
    drawn = [draw(case) for case in judged.cases]
    images = drawing.images([case.drawings for case in drawn])
    charts = made("applications", lambda: applications.drawings_of_cases(grouped))
    by_extent = made(
        "extents", lambda: extents.drawings_of_cases([(one.case, one.comparisons) for one in judged.cases])
    )
    histories = made("histories", lambda: history.drawings(judged.indexed))
    ratios = made("ratios", lambda: filter(None, [answer.drawing(judged)]))
    views = [view(case, number, images[number - 1], grouped) for number, case in enumerate(drawn, 1)]
    shared = [
        pair
        for pair in (views[0]["provenance"] if len(views) > 1 else [])
        if all(pair in one["provenance"] for one in views)
    ]
    answered = published.rows([(case.case, case.comparisons) for case in drawn])
    script = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            answer=answer.sentences(judged),
            ratios=_figures(ratios, "r"),
            conditions=answer.conditions(grouped),
            glossary=answer.glossary(grouped),
            effects=effects.table(cells(drawn, grouped)),
            cases=views,
            shared=shared,
            applications=_figures(charts, "a"),
            persistent_note=applications.persistent_note(applications.profiled(grouped)),
            by_extent=_figures(by_extent, "e"),
            over=sections(judged.over),
            histories=_figures(histories, "h"),
            extent_statements=[(figure.title, figure.statement) for figure in by_extent if figure.statement],
            counts=counts(grouped),
            by_chance=judged.by_chance,
            records=sum(len(case.records) for case in grouped),
            answers=answered,
            origin_columns=published.COLUMNS,
            reasons=published.reasons(answered),
            versus=versus,
            versus_lines=words.lines(versus) if versus else [],
            versus_alone=words.alone(versus) if versus else [],
            versus_sentences=words.in_common(versus) if versus else [],
            shown=words.shown,
            not_measured=not_measured(grouped),
            enough=medians.ENOUGH,
            alpha_percent=round(100 * contrast.ALPHA),
            fewest=contrast.FEWEST,
            light=svg.variables(svg.LIGHT),
            dark=svg.variables(svg.DARK),
            strokes=svg.STROKES,
            script=script,
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )
    )


def _figures(drawings: Sequence[Drawing], prefix: str) -> list[tuple[Drawing, Markup]]:
    return [(figure, Markup(drawing.inline_svg(figure, prefix))) for figure in drawings]


def environment() -> jinja2.Environment:
    """Return templates that escape everything that is not markup already."""
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals["counted"] = counted
    return templates


# ---- one case ----


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
    claimed = {fom for figure in own for fom in figure.foms}
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


def findings(drawn: DrawnCase) -> list[Statement]:
    """Return what the page states about a case that is not a comparison: its own figures, and the curves."""
    own = [Statement(drawing.title, drawing.statement, "own") for drawing in drawn.own if drawing.statement]
    over = [panel for panel in drawn.panels if panel.axis == "hops"] or drawn.panels  # if there is none, over sizes
    curves = [
        Statement(", ".join(filter(None, [panel.subject, panel.title])), general.ends(panel), "curve") for panel in over
    ]
    return [*own, *comparison.of_marked(drawn.case, drawn.stated), *curves]


def cells(drawn: Sequence[DrawnCase], shown: Sequence[Case]) -> list[Cell]:
    """Return how many times as fast each combination of each case is as its baseline, in the case's first figure."""
    return [
        cell
        for number, one in enumerate(drawn, 1)
        for cell in effects.cells(number, heading(one.case, shown), general.of_first_fom(one.stated))
    ]


def view(drawn: DrawnCase, number: int, images: Sequence[Markup], shown: Sequence[Case] = ()) -> dict[str, Any]:
    """Return what the template shows of a case, by name; `number` from 1 of those shown, `images` are its drawings."""
    case, request, system = drawn.case, drawn.case.first.case, drawn.case.first.system
    sections = [
        (f"{capital(comparison.title(member))}, {member.fom.heading}", tables.rows(member))
        for member in drawn.comparisons
    ]
    has_notes = any(row.note for _, rows in sections for row in rows)
    commands: dict[str, str] = {}
    for _, launch in cases.launches(case):
        if launch.command:
            commands.setdefault(case.name(cases.combination_of(launch)), launch.command)
    return {
        "number": number,
        "anchor": f"case-{number}",
        "apart": kept_apart(case, shown[: number - 1]),
        "title": heading(case, shown),
        "subtitle": f"{request.check} on {system.name} ({system.partition}, {system.environment})",
        "origin": str(case.origin),
        "scale": modelled.scale_text(case.first),
        "origin_note": origin_note(case),
        "facts": facts(case),
        "tally": cases.tally(case),
        "findings": findings(drawn),
        "statements": comparison.statements(drawn.stated),
        "figures": list(zip(drawn.drawings, images, strict=True)),
        "table": {"caption": "Median over launches", "head": case.head, "sections": sections, "has_notes": has_notes}
        if sections
        else None,
        "spread": spread.tables(case),
        "troubles": [(record.id, launch) for record, launch in cases.launches(case) if not launch.is_result],
        "reasons": [
            (record.id, str(record.status), record.reason) for record in case.records if record.status is not Status.OK
        ],
        "unmeasured": _unmeasured(case),
        "commands": list(commands.items()),
        "records": case.records,
        "provenance": [
            (name, known_text(value))
            for name, value in cases.flat(case.first.provenance)
            if name != "image" or value is not None
        ],
    }


def _unmeasured(case: Case) -> list[tuple[str, int]]:
    """Return what has no value for one reason, the points of a figure in one text, and in how many launches."""
    points: dict[tuple[str, str], Counter[str]] = {}
    for _, launch in cases.launches(case):
        for point in launch.not_measured:
            labels = comparison.label_text(cases.frozen_labels(point.labels))
            points.setdefault((point.fom.stem, point.reason), Counter())[labels] += 1
    rows = []
    for (stem, reason), of_reason in points.items():
        texts = list(of_reason)
        where = texts[0] if len(texts) == 1 else f"at {len(texts)} points, {texts[0]} to {texts[-1]}"
        rows.append((f"{stem} {where}: {reason}", max(of_reason.values())))
    return rows
