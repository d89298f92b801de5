"""Write the page: what all cases together show, then each case, what was not measured, and the provenance.

Models: one HTML document that needs nothing else and is the same bytes for the same records. Its only script, which
sorts tables and folds sections, is named by its hash in the page's content security policy: nothing else can run.
Leaves out: a case's view (`railyard.analysis.report`), numbers, markup (the template, which escapes what it shows).
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
from markupsafe import Markup

from railyard.analysis.cases import cases, published
from railyard.analysis.cases.cases import Case, Tally
from railyard.analysis.figures import applications, svg
from railyard.analysis.figures import by_extent as extents
from railyard.analysis.figures.drawing import Drawing, images, inline_svg, made
from railyard.analysis.judge import text as words
from railyard.analysis.judge.judged import Judged, sections
from railyard.analysis.report import answer, case_view
from railyard.analysis.report.case_view import FigureView
from railyard.analysis.stats import contrast, medians
from railyard.analysis.text.numbers import counted
from railyard.records.record import Origin, Status

TEMPLATES = Path(__file__).resolve().parent / "templates"


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginCount:
    """A line of the page's first table."""

    origin: str
    cases: int
    records: int
    tally: Tally


def counts(grouped: Sequence[Case]) -> list[OriginCount]:
    """Return how much there is, origin by origin."""
    by_origin = {origin: [case for case in grouped if case.origin is origin] for origin in Origin}
    return [
        OriginCount(
            origin=str(origin),
            cases=len(members),
            records=sum(len(case.records) for case in members),
            tally=sum(map(cases.tally, members), Tally()),
        )
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
    drawn = [case_view.draw(case) for case in judged.cases]
    pictures = images([case.drawings for case in drawn])
    charts = made("applications", lambda: applications.drawings_of_cases(grouped))
    by_extent = made(
        "extents", lambda: extents.drawings_of_cases([(one.case, one.comparisons) for one in judged.cases])
    )
    ratios = made("ratios", lambda: filter(None, [answer.drawing(judged)]))
    views = [
        case_view.view(case, number, pictures[number - 1], grouped) for number, case in enumerate(drawn, 1)
    ]
    shared = [
        pair
        for pair in (views[0].provenance if len(views) > 1 else [])
        if all(pair in one.provenance for one in views)
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
            cases=views,
            shared=shared,
            applications=_figures(charts, "a"),
            persistent_note=applications.persistent_note(applications.profiled(grouped)),
            by_extent=_figures(by_extent, "e"),
            over=sections(judged.over),
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


def _figures(drawings: Sequence[Drawing], prefix: str) -> list[FigureView]:
    return case_view.figure_views(drawings, [Markup(inline_svg(figure, prefix)) for figure in drawings])


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
