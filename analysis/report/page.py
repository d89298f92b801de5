"""The page: what all cases together show, then each case, what was not measured, and the provenance.

Models: one HTML document that needs nothing else and is the same bytes for the same records. Its only script, which
sorts tables and folds sections, is named by its hash in the page's content security policy: nothing else can run.
Leaves out: a case's view (`analysis.report`), numbers, markup (the template, which escapes what it shows).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
from markupsafe import Markup

from analysis.cases import cases, published, published_by_origin, scoreboard
from analysis.cases.cases import Case, Tally
from analysis.cases.judgement import JudgedCase
from analysis.cases.scoreboard import Standing
from analysis.compare import text as versus_text
from analysis.compare.compare import Versus
from analysis.figures import by_extent as extents
from analysis.figures import mpi_profile, render_all, svg
from analysis.figures.drawing import Drawing, inline_svg
from analysis.report import case_view, over
from analysis.report.case_view import FigureView
from analysis.stats import medians, ranktest, score
from analysis.stats.verdicts import Finding
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
            void=sum(each.void for each in tallies),
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRow:
    """A row of the score table as text; `outcome` is better, worse or open."""

    system: str
    origin: str
    combination: str
    baseline: str
    value: str
    interval: str
    cases: str
    verdict: str
    outcome: str


def score_rows(standings: Sequence[Standing]) -> list[ScoreRow]:
    """The score table, a row for each combination."""
    return [_score_row(each) for each in standings]


def _score_row(standing: Standing) -> ScoreRow:
    found = standing.score
    interval = "" if found is None or found.low is None else f"{found.low:.3f} to {found.high:.3f}"
    missing = f", {standing.missing} without a value" if standing.missing else ""
    finding = Finding.NO_VALUE if found is None else found.finding
    return ScoreRow(
        system=standing.system,
        origin=standing.origin,
        combination=standing.combination,
        baseline=standing.baseline,
        value="no value" if found is None else f"{found.value:.3f}",
        interval=interval or "too few launches",
        cases=f"{found.cases if found else 0}{missing}",
        verdict=str(finding),
        outcome=str(finding) if finding in (Finding.BETTER, Finding.WORSE) else "open",
    )


def not_measured(grouped: Sequence[Case]) -> list[tuple[str, str]]:
    """Everything that was asked for and has no result, with its reason: (what, why)."""
    found: dict[tuple[str, str], int] = {}
    for number, case in enumerate(grouped, 1):
        for record in case.records:
            if record.status is not Status.OK and not record.launches:
                _count_one(found, f"case {number}: {record.status}", record.reason)
        for _, launch in cases.launches(case):
            if not launch.is_result:
                word = "void" if launch.is_void else str(launch.status)
                why = "; ".join(launch.guard.reasons) if launch.is_void and launch.guard else launch.reason
                _count_one(found, f"case {number}: launches {word}", why or "no reason given")
    rows = [(f"{what} ({count})" if count > 1 else what, why) for (what, why), count in found.items()]
    return rows + [("study", text) for text in published.unanswered(grouped)]


def _count_one(found: dict[tuple[str, str], int], what: str, why: str) -> None:
    found[what, why] = found.get((what, why), 0) + 1


def html(judged: Sequence[JudgedCase], versus: Versus | None = None) -> str:
    """Return the page of judged cases, with a comparison of sides where one is given."""
    grouped = [each.case for each in judged]
    drawn = [case_view.draw(each) for each in judged]
    images = render_all.images([each.drawings for each in drawn])
    charts = mpi_profile.drawings_of_cases(grouped)
    by_extent = extents.drawings_of_cases([(each.case, each.comparisons) for each in judged])
    views = [
        case_view.view(each, number, images[number - 1], grouped) for number, each in enumerate(drawn, 1)
    ]
    days = sorted(record.created[:10] for case in grouped for record in case.records)
    script = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            cases=views,
            applications=_figures(charts, "a"),
            persistent_note=mpi_profile.persistent_note(mpi_profile.profiled(grouped)),
            by_extent=_figures(by_extent, "e"),
            over=over.sections(judged),
            extent_statements=[(each.title, each.statement) for each in by_extent if each.statement],
            counts=counts(grouped),
            records=len(days),
            days=" to ".join(sorted({days[0], days[-1]})) if days else "",
            scores=score_rows(scoreboard.standings([(each.case, each.comparisons) for each in judged])),
            answers=published_by_origin.rows([(each.case, each.found) for each in drawn]),
            origin_columns=published_by_origin.COLUMNS,
            versus=versus,
            versus_lines=versus_text.lines(versus) if versus else [],
            versus_alone=versus_text.alone(versus) if versus else [],
            versus_sentences=versus_text.sentences(versus) if versus else [],
            not_measured=not_measured(grouped),
            enough=medians.ENOUGH,
            alpha_percent=round(100 * ranktest.ALPHA),
            draws=score.DRAWS,
            light=svg.variables(svg.LIGHT),
            dark=svg.variables(svg.DARK),
            strokes=svg.STROKES,
            script=script,
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )
    )


def _figures(drawn: Sequence[Drawing], prefix: str) -> list[FigureView]:
    return case_view.figure_views(drawn, [Markup(inline_svg(each, prefix)) for each in drawn])


def environment() -> jinja2.Environment:
    """Templates that escape everything that is not markup already."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
