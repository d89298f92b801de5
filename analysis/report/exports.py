"""The report for other readers: Markdown for a job's summary page, CSV for spreadsheets, JSON, SVG files.

Models: one function per format, from judged cases to text. Text from a stranger's record is escaped for its format.
Leaves out: the HTML page (`analysis.report.page`).
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

from analysis.cases import cases, comparison, scoreboard, tables
from analysis.cases.cases import Case
from analysis.cases.comparison import Comparison, Group
from analysis.cases.curves import Panel
from analysis.cases.judgement import JudgedCase
from analysis.cases.titles import title
from analysis.compare import text as versus_text
from analysis.compare.compare import Versus
from analysis.figures import by_extent, drawing, mpi_profile
from analysis.report import case_view, monitors, over, page, summary
from analysis.stats.medians import Summary
from railyard.records import json_io, units


class Format(StrEnum):
    """What `railyard report --format` writes."""

    HTML = "html"
    MD = "md"
    CSV = "csv"
    JSON = "json"
    OPENMETRICS = "openmetrics"
    BENCHER = "bencher"


def text(judged: Sequence[JudgedCase], form: Format, versus: Versus | None = None) -> str:
    """The report in a format."""
    match form:
        case Format.HTML:
            return page.html(judged, versus)
        case Format.MD:
            return markdown(judged, versus)
        case Format.CSV:
            return csv_text(judged)
        case Format.JSON:
            return json_io.text(json_document(judged, versus))
        case Format.OPENMETRICS:
            return monitors.openmetrics(rows(judged))
        case Format.BENCHER:
            return monitors.bencher(rows(judged))


def json_document(judged: Sequence[JudgedCase], versus: Versus | None) -> dict[str, object]:
    """The summary, with the comparison of sides where there is one."""
    found: dict[str, object] = {**summary.summary(judged), "over": over.document(judged)}
    return found if versus is None else {**found, "sides": versus_text.document(versus)}


# ---- Markdown ----


def markdown(judged: Sequence[JudgedCase], versus: Versus | None = None) -> str:
    """Verdicts in words, the sides compared, the score table, the comparisons, and what was not measured."""
    scores = page.score_rows(scoreboard.standings([(each.case, each.comparisons) for each in judged]))
    parts = [
        "# Interconnect benchmark report",
        *(_sides(versus) if versus else []),
        *([_score_table(scores)] if scores else []),
        *(part for each in over.sections(judged) for part in _over(each)),
        *(part for each in judged for part in _case(each.case, each.comparisons)),
        *_absent([each.case for each in judged]),
    ]
    return "\n\n".join(parts) + "\n"


def _sides(versus: Versus) -> Iterator[str]:
    """Yield the statements on the sides, and a table with every side of every row that two sides or more have."""
    yield _list(versus_text.sentences(versus))
    head = (
        "case",
        "figure",
        "side",
        "median",
        "change",
        "p (Holm)",
        "verdict",
        "95 % interval",
        "n",
        "differs in",
    )
    rows = [
        (
            line.what,
            line.figure,
            line.side,
            line.median,
            line.change,
            line.p_holm,
            line.verdict,
            line.interval,
            line.n,
            line.differs,
        )
        for line in versus_text.lines(versus)
    ]
    if rows:
        yield "## Sides compared\n\n" + _table(head, rows)


def _over(section: over.Section) -> Iterator[str]:
    yield f"## {section.title}"
    if section.sentence:
        yield _plain(section.sentence)
    yield _table(section.table.columns, section.table.rows)


def _case(case: Case, found: Sequence[Comparison]) -> Iterator[str]:
    yield f"## {_plain(title(case))} ({case.origin})"
    tally = cases.tally(case)
    counts = (
        (tally.ok, "with a result"),
        (tally.void, "void"),
        (tally.failed, "failed"),
        (tally.not_measured, "not measured"),
    )
    yield "Launches: " + ", ".join(f"{count} {word}" for count, word in counts) + "."
    if found:
        yield _list([f"{title}: {text}" for title, text, _ in comparison.said(found)])
        yield _comparison_table(case, found)


def _comparison_table(case: Case, found: Sequence[Comparison]) -> str:
    head = ("figure", case.head, "median", "change", "p (Holm)", "verdict", "95 % interval", "n", "notes")
    rows = [
        (
            f"{each.title}, {each.unit.text}",
            row.name,
            row.median,
            row.change,
            row.p_holm,
            row.verdict,
            row.interval,
            row.n,
            row.note,
        )
        for each in found
        for row in tables.rows(each)
    ]
    return _table(head, rows)


def _score_table(scores: Sequence[page.ScoreRow]) -> str:
    head = ("system", "combination", "baseline", "score", "95 % interval", "cases", "verdict", "origin")
    rows = [
        (
            each.system,
            each.combination,
            each.baseline,
            each.value,
            each.interval,
            each.cases,
            each.verdict,
            each.origin,
        )
        for each in scores
    ]
    return "## Scores\n\n" + _table(head, rows)


def _absent(grouped: Sequence[Case]) -> list[str]:
    found = page.not_measured(grouped)
    return ["## What was not measured", _table(("what", "why"), found)] if found else []


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [_row(head), "|" + "---|" * len(head), *map(_row, rows)]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_plain(cell) for cell in cells) + " |"


def _list(items: Iterable[str]) -> str:
    return "\n".join(f"- {_plain(item)}" for item in items)


def _plain(found: str) -> str:
    """Text that Markdown shows as it is, on one line, and that makes no element, link or table of its own."""
    escaped = re.sub(r"([\\`*_\[\]|~#!$])", r"\\\1", " ".join(found.split()))
    escaped = escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"@(?=\w)|(?<=\w):(?=//)|(?<=www)\.", lambda mark: f"{mark[0]}<!-- -->", escaped)


# ---- CSV ----

HEAD = (
    "origin",
    "system",
    "check",
    "case",
    "fom",
    "unit",
    "labels",
    "placement",
    "nic_policy",
    "software",
    "n",
    "void",
    "failed",
    "not_measured",
    "median",
    "interval_low",
    "interval_high",
    "minimum",
    "maximum",
    "spread_percent",
    "change_percent",
    "p_value",
    "p_holm",
    "better_share",
    "verdict",
    "outcome",
    "best",
)


def csv_text(judged: Iterable[JudgedCase]) -> str:
    """A row for each combination of each comparison and each point of each curve, numbers in full."""
    file = io.StringIO()
    writer = csv.DictWriter(file, HEAD, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(_harmless, rows(judged)))
    return file.getvalue()


def rows(judged: Iterable[JudgedCase]) -> Iterator[dict[str, object]]:
    """Yield a row for each combination of each comparison and each point of each curve."""
    for of_case in judged:
        for each in of_case.comparisons:
            yield from (_comparison_row(of_case.case, each, group) for group in each.groups)
        for panel in of_case.panels:
            yield from _panel_rows(of_case.case, panel)


def _head(case: Case, fom: str) -> dict[str, object]:
    return {
        "origin": str(case.origin),
        "system": case.first.system.name,
        "check": case.first.case.check,
        "case": title(case),
        "fom": fom,
        "unit": units.unit_of(fom).text,
    }


def _comparison_row(case: Case, found: Comparison, group: Group) -> dict[str, object]:
    row = {
        **_head(case, found.fom),
        "labels": comparison.label_text(found.labels),
        "placement": group.combination.placement,
        "nic_policy": group.combination.nic_policy,
        "software": str(group.combination.software),
        "n": 0,
        "void": group.tally.void,
        "failed": group.tally.failed,
        "not_measured": group.tally.not_measured,
        "change_percent": group.change_percent,
        "better_share": group.better_share,
        "verdict": str(group.finding) if group.pair else None,
        "outcome": str(found.verdict.outcome),
        "best": found.verdict.best,
    }
    if group.pair:
        row |= {"p_value": group.pair.p_value, "p_holm": group.pair.p_holm}
    return row | (_statistics(group.summary) if group.summary else {})


def _panel_rows(case: Case, panel: Panel) -> Iterator[dict[str, object]]:
    for line in panel.lines:
        for point in line.points:
            labels = ", ".join(
                filter(None, [panel.subject, panel.title, line.name, f"{panel.axis} {point.x}"])
            )
            yield {**_head(case, panel.fom), "labels": labels, **_statistics(point.summary)}


def _statistics(found: Summary) -> dict[str, object]:
    interval = found.interval
    return {
        "n": found.n,
        "median": found.median,
        "interval_low": interval and interval.low,
        "interval_high": interval and interval.high,
        "minimum": found.minimum,
        "maximum": found.maximum,
        "spread_percent": found.spread_percent,
    }


def _harmless(row: Mapping[str, object]) -> dict[str, object]:
    """Text that a spreadsheet would take for a formula gets an apostrophe in front."""
    return {
        name: f"'{value}"
        if isinstance(value, str) and value[:1] in {"=", "+", "-", "@", "\t", "\r"}
        else value
        for name, value in row.items()
    }


# ---- SVG files ----


def svg_files(judged: Sequence[JudgedCase]) -> Iterator[tuple[str, str]]:
    """Every figure as (name, SVG): `applications-shares-emulated.svg`, `case-1-f0.svg`, in the page's order."""
    for each in mpi_profile.drawings_of_cases([found.case for found in judged]):
        yield f"applications-{each.name}.svg", drawing.svg_file(each)
    for each in by_extent.drawings_of_cases([(found.case, found.comparisons) for found in judged]):
        yield f"{each.name}.svg", drawing.svg_file(each)
    for number, found in enumerate(judged, 1):
        for each in case_view.draw(found).drawings:
            yield f"case-{number}-{each.name}.svg", drawing.svg_file(each)
