"""Tables: a comparison or a panel as rows of finished text, the same for page, terminal and Markdown.

Leaves out: markup. Text is not escaped here; the page's template does that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from railyard.analysis.cases import comparison as comparisons
from railyard.analysis.cases.cases import ENDINGS
from railyard.analysis.cases.curves import AXIS_TEXT, Panel
from railyard.analysis.cases.judgement import Comparison, Group
from railyard.analysis.stats.medians import Interval, Summary, percentiles
from railyard.analysis.text import NOTHING, DataTable, Format, counted, percent, size_text

TOO_FEW = "n too small for 95 %"
EXACT = "exact (model)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """One combination or side of a comparison, or one point of a line; what does not apply is empty."""

    name: str
    median: str
    interval: str
    n: str
    span: str
    spread: str = ""
    repeats: str = ""
    change: str = ""
    between: str = ""
    p_holm: str = ""
    verdict: str = ""
    note: str = ""


_STATISTICS = ("median", "95 % interval", "n", "min to max")


def comparison_data(members: Sequence[Comparison]) -> DataTable:
    """Return the numbers behind the figure of comparisons of one FOM."""
    sections = [(comparisons.label_text(member.labels) or "all", rows(member)) for member in members]
    return _data(("series", "combination"), sections)


def panel_data(panel: Panel) -> DataTable:
    """Return the numbers behind a panel's lines."""
    lines = [
        (name or "all", [_point_row(panel, x, summary) for x, summary in line.items()])
        for name, line in panel.lines.items()
    ]
    return _data(("line", AXIS_TEXT[panel.axis]), lines)


def _data(heads: Sequence[str], sections: Sequence[tuple[str, Sequence[Cells]]]) -> DataTable:
    cells = [
        (name, row.name, row.median, row.interval, row.n, row.span) for name, of_name in sections for row in of_name
    ]
    return DataTable(columns=(*heads, *_STATISTICS), rows=cells, numbers=frozenset(_STATISTICS))


def rows(comparison: Comparison) -> list[Cells]:
    """Return a row for each combination or side, those without a value too."""
    return [_row(comparison, group) for group in comparison.groups]


def _row(comparison: Comparison, group: Group) -> Cells:
    evidence, form, summary = group.evidence, comparison.format, group.summary
    count, planned = len(evidence.values), evidence.tally["planned"] if evidence.tally else 0
    n = f"{count} of {planned}" if planned > count or (evidence.tally and not count) else str(count)
    if group.sample and group.sample.by_job:
        n = counted(len(group.sample.values), "job")
    verdict, note = comparisons.verdict_text(comparison, group), _note(evidence.tally, count)
    cells = Cells(name=group.name, median=NOTHING, interval=NOTHING, n=n, span=NOTHING, verdict=verdict, note=note)
    if summary is None:
        return cells
    change = "baseline" if group.name == comparison.baseline else percent(group.change_percent)
    cells = replace(cells, median=form.text(summary.median), change=change)
    if comparison.is_exact:
        return replace(cells, interval=EXACT, span="")
    between = group.change_interval
    low, high = percentiles(evidence.repeats) if evidence.repeats else (0.0, 0.0)
    return replace(
        cells,
        interval=interval_text(summary.interval, form),
        span=span_text(summary, form),
        spread=percent(summary.spread_percent, signed=False),
        repeats=f"{form.text(low)} to {form.text(high)}" if evidence.repeats else NOTHING,
        between="" if between is None else " to ".join(map(percent, between)).replace(" %", "", 1),
        p_holm=comparisons.p_text(group.test.p_holm).removeprefix("= ") if group.test else "",
    )


def _note(tally: Counter[str] | None, values: int) -> str:
    """Return in words the launches that are not results or have no value, and results that were not verified."""
    if tally is None:
        return ""
    counts = {
        **{words: tally[ending] for ending, words in ENDINGS.items() if ending != "ok"},
        "without this figure": tally["ok"] - values,
        "with data not verified": tally["unverified"],
        "with placement not proved": tally["cannot_tell"],
    }
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count > 0)


def _point_row(panel: Panel, x: int, summary: Summary) -> Cells:
    form = Format.for_values([summary.median])
    return Cells(
        name=size_text(x) if panel.axis == "size_bytes" else f"{x}",
        median=form.text(summary.median),
        interval=EXACT if panel.is_exact else interval_text(summary.interval, form),
        n=str(summary.n),
        span="" if panel.is_exact else span_text(summary, form),
    )


def interval_text(interval: Interval | None, form: Format) -> str:
    """Return `9,231 to 9,431 (this job)`, or why there is no interval."""
    if interval is None:
        return TOO_FEW
    return f"{form.text(interval.low)} to {form.text(interval.high)} ({interval.of})"


def span_text(summary: Summary, form: Format) -> str:
    """Return the smallest and the largest launch."""
    return f"{form.text(summary.minimum)} to {form.text(summary.maximum)}"
