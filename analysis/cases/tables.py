"""Tables: a comparison or a panel as rows of finished text, the same for the page and the terminal.

Leaves out: markup. Text is not escaped here; the page's template does that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.cases import comparison as comparisons
from analysis.cases.comparison import Comparison, Group
from analysis.cases.curves import AXIS_TEXT, Panel, Point
from analysis.stats.medians import Interval, Summary, percentiles
from analysis.text.datatable import DataTable
from analysis.text.numbers import NOTHING, Format, percent, size_text

TOO_FEW = "n too small for 95 %"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One combination of a comparison, or one point of a line."""

    name: str
    median: str
    interval: str
    n: str
    span: str
    spread: str = ""
    repeats: str = ""
    change: str = ""
    p_holm: str = ""
    verdict: str = ""
    better: str = ""
    note: str = ""


_STATISTICS = ("median", "95 % interval", "n", "min to max")


def comparison_data(members: Sequence[Comparison]) -> DataTable:
    """The numbers behind the figure of comparisons of one FOM."""
    columns = ("series", "combination", *_STATISTICS)
    found = [
        (comparisons.label_text(member.labels) or "all", row.name, row.median, row.interval, row.n, row.span)
        for member in members
        for row in rows(member)
    ]
    return DataTable(columns=columns, rows=found, numbers=frozenset(_STATISTICS))


def panel_data(panel: Panel) -> DataTable:
    """The numbers behind a panel's lines."""
    columns = ("line", AXIS_TEXT[panel.axis], *_STATISTICS)
    found = [
        (name, row.name, row.median, row.interval, row.n, row.span)
        for name, of_line in panel_rows(panel)
        for row in of_line
    ]
    return DataTable(columns=columns, rows=found, numbers=frozenset(_STATISTICS))


def rows(comparison: Comparison) -> list[Row]:
    """A row for each combination, those without a value too."""
    return [_row(comparison, group) for group in comparison.groups]


def panel_rows(panel: Panel) -> list[tuple[str, list[Row]]]:
    """For each line its name and a row for each point."""
    return [(line.name or "all", [_point_row(panel, point) for point in line.points]) for line in panel.lines]


def _row(comparison: Comparison, group: Group) -> Row:
    name = group.name
    planned = group.tally.ok + group.tally.void + group.tally.failed + group.tally.not_measured
    if group.summary is None:
        counted = f"0 of {planned}"
        return Row(name=name, median=NOTHING, interval=NOTHING, n=counted, span=NOTHING, note=_note(group))
    summary, form = group.summary, comparison.format
    baseline = name == comparison.baseline
    return Row(
        name=name,
        median=form.text(summary.median),
        interval=interval_text(summary.interval, form),
        n=str(summary.n) if summary.n == planned else f"{summary.n} of {planned}",
        span=span_text(summary, form),
        spread=spread_text(summary),
        repeats=_repeats(group, form),
        p_holm=""
        if group.pair is None or baseline
        else comparisons.p_text(group.pair.p_holm).removeprefix("= "),
        verdict="" if group.pair is None or baseline else str(group.finding),
        better="" if group.better_share is None or baseline else f"{100 * group.better_share:.0f} %",
        change="baseline" if baseline else _change_text(group.change_percent),
        note=_note(group),
    )


def _change_text(change: float | None) -> str:
    return NOTHING if change is None else percent(change)


def spread_text(summary: Summary) -> str:
    """The run-to-run variation: `1.2 %`, or nothing for a single launch."""
    return NOTHING if summary.spread_percent is None else percent(summary.spread_percent, signed=False)


def _repeats(group: Group, form: Format) -> str:
    """The 5th and 95th percentile of all repeats of all launches."""
    repeats = [value for each in group.observations for value in each.repeats]
    if not repeats:
        return NOTHING
    low, _, high = percentiles(repeats)
    return f"{form.text(low)} to {form.text(high)}"


def _note(group: Group) -> str:
    tally = group.tally
    silent = tally.ok - len(group.observations)
    counts = (
        (tally.void, "void"),
        (tally.failed, "failed"),
        (tally.not_measured, "not measured"),
        (silent, "without this figure"),
        (tally.unverified, "with data not verified"),
        (tally.cannot_tell, "with placement not proved"),
    )
    return ", ".join(f"{count} {word}" for count, word in counts if count > 0)


def _point_row(panel: Panel, point: Point) -> Row:
    form = Format.for_values([point.summary.median])
    return Row(
        name=size_text(point.x) if panel.axis == "size_bytes" else f"{point.x}",
        median=form.text(point.summary.median),
        interval=interval_text(point.summary.interval, form),
        n=str(point.summary.n),
        span=span_text(point.summary, form),
    )


def interval_text(interval: Interval | None, form: Format) -> str:
    """`9,231 to 9,431`, or why there is none."""
    return TOO_FEW if interval is None else f"{form.text(interval.low)} to {form.text(interval.high)}"


def span_text(summary: Summary, form: Format) -> str:
    """Smallest and largest launch."""
    return f"{form.text(summary.minimum)} to {form.text(summary.maximum)}"
