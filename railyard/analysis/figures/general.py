"""Draw comparisons as points with intervals and every launch's dot, curves as lines, both as SVG.

Models: what is drawn from `Comparison` and `Panel`. A point is the median over launches, its bar the 95 %
interval; where n is too small for one there is no bar. Colour is never the only difference: lines differ in marker and
dash, combinations have rows of their own. Leaves out: the SVG's fitness for the page (`railyard.analysis.figures.svg`).
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from railyard.analysis.cases import comparison, curves, tables
from railyard.analysis.cases.curves import Line, Panel
from railyard.analysis.cases.judgement import Comparison, Group
from railyard.analysis.figures import painting, svg
from railyard.analysis.figures.drawing import Drawing
from railyard.analysis.stats import medians
from railyard.analysis.text import Format, capital, percent, size_text

_ROW_IN = 0.42
_NAME_CHARACTERS = 32


def drawings_of(comparisons: Sequence[Comparison], panels: Sequence[Panel]) -> list[Drawing]:
    """Return the figures of the first figure of merit, if there is one, and of all panels."""
    drawings = [comparison_drawing(of_first_fom(comparisons), "f0")] if comparisons else []
    return drawings + [panel_drawing(panel, f"p{number}") for number, panel in enumerate(panels)]


def comparison_drawing(members: Sequence[Comparison], name: str) -> Drawing:
    """Return the figure of the comparisons of one FOM: a row for each combination of each series."""
    return Drawing(
        name=name,
        title=_comparison_title(members),
        description=" ".join(f"{comparison.title(one)}: {comparison.sentence(one)}" for one in members),
        paint=lambda figure: draw_comparison(figure.subplots(), members),
        data=tables.comparison_data(members),
        height_in=1.05 + _ROW_IN * sum(len(member.groups) for member in members),
    )


def panel_drawing(panel: Panel, name: str, *, statement: str = "", foms: frozenset[str] = frozenset()) -> Drawing:
    """Return the figure of a panel of curves."""
    return Drawing(
        name=name,
        title=_panel_title(panel),
        description=f"{_panel_title(panel)} over {curves.AXIS_TEXT[panel.axis]}: {ends(panel)}",
        paint=lambda figure: draw_panel(figure.subplots(), panel),
        data=tables.panel_data(panel),
        statement=statement,
        foms=foms,
    )


def draw_comparison(axes: Axes, members: Sequence[Comparison]) -> None:
    """Draw rows from the top in the order of members and combinations; x is the FOM."""
    rows = [(member, group) for member in members for group in member.groups]
    for row, (member, group) in enumerate(rows):
        _draw_row(axes, row, group, _series(member)[member.groups.index(group)])
    painting.name_rows(axes, [_row_name(members, member, group) for member, group in rows])
    painting.few_ticks(axes)
    painting.name_axis(axes.xaxis, members[0].fom)
    axes.set_title(_comparison_title(members))


def _series(member: Comparison) -> list[int]:
    """Return the number of each group's colour and marker: its own, or that of its NIC policy where all have one."""
    policies = [group.name.partition(" + ")[2] for group in member.groups]
    order = list(dict.fromkeys(policies))
    return [order.index(policy) for policy in policies] if all(policies) else list(range(len(policies)))


def _comparison_title(members: Sequence[Comparison]) -> str:
    return svg.clean(capital(comparison.title(members[0]) if len(members) == 1 else members[0].fom.stem))


def _draw_row(axes: Axes, row: int, group: Group, series: int) -> None:
    colour = svg.sentinel(series)
    values = group.evidence.values
    shifts = [0.2 + 0.1 * (index % 2) for index in range(len(values))]
    axes.plot(values, [row + shift for shift in shifts], ".", color=colour, alpha=0.55, markersize=5, zorder=2)
    if group.summary is None:
        axes.text(0.02, row, "no value", transform=axes.get_yaxis_transform(), va="center", style="italic")
        return
    if group.summary.interval:
        interval = group.summary.interval
        axes.plot([interval.low, interval.high], [row, row], "-", color=colour, linewidth=2.2, zorder=3)
    marker = svg.MARKERS[series % len(svg.MARKERS)]
    axes.plot([group.summary.median], [row], marker, color=colour, markersize=7, zorder=4)


def _row_name(members: Sequence[Comparison], member: Comparison, group: Group) -> str:
    labels = comparison.label_text(member.labels) if len(members) > 1 else ""
    parts = [labels] if labels and len(member.groups) == 1 else [labels, group.name]
    name = svg.clean(": ".join(filter(None, parts)))
    return name if len(name) <= _NAME_CHARACTERS else name[: _NAME_CHARACTERS - 1] + "\N{HORIZONTAL ELLIPSIS}"


def draw_panel(axes: Axes, panel: Panel) -> None:
    """Draw lines of medians with intervals; message sizes on a logarithmic axis, and rates then too."""
    for series, (name, line) in enumerate(panel.lines.items()):
        _draw_line(axes, name, line, series)
    summaries = [summary for line in panel.lines.values() for summary in line.values()]
    if panel.axis != "size_bytes":
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        legend_rows = -(-len(panel.lines) // 3)
        axes.set_ylim(0, (1 + 0.18 * legend_rows) * max(summary.maximum for summary in summaries) or 1)
    else:
        painting.size_axis(axes, sorted({x for line in panel.lines.values() for x in line}))
        if min(summary.minimum for summary in summaries) > 0:
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=8))
            axes.yaxis.set_minor_locator(NullLocator())
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        else:
            axes.set_ylim(bottom=0)
    axes.set_xlabel(curves.AXIS_TEXT[panel.axis])
    painting.name_axis(axes.yaxis, panel.fom)
    axes.set_title(_panel_title(panel))
    if len(panel.lines) > 1:
        axes.legend(
            title=None,
            ncols=min(3, len(panel.lines)),
            loc="upper right" if panel.axis == "hops" else "best",
            handlelength=2.6,
            columnspacing=1.2,
        )


def _panel_title(panel: Panel) -> str:
    return svg.clean(capital(", ".join(filter(None, [panel.subject, panel.title]))))


def _draw_line(axes: Axes, name: str, line: Line, series: int) -> None:
    colour, depth = svg.sentinel(series), 3 + series
    axes.plot(
        list(line),
        [summary.median for summary in line.values()],
        linestyle=svg.DASHES[series % len(svg.DASHES)],
        marker=svg.MARKERS[series % len(svg.MARKERS)],
        markersize=5.5,
        linewidth=1.6,
        label=svg.clean(name)[:_NAME_CHARACTERS] or "all",
        color=colour,
        zorder=depth,
    )
    for x, summary in line.items():
        ends = summary.interval
        low, high = (ends.low, ends.high) if ends else (summary.minimum, summary.maximum)
        axes.plot([x, x], [low, high], "-", linewidth=1.0, color=colour, zorder=depth)


def tick(panel: Panel, x: int) -> str:
    """Return a value of the panel's axis in words: `3 hops`, `64 KiB`."""
    return size_text(x) if panel.axis == "size_bytes" else comparison.label_text(((panel.axis, x),))


def ends(panel: Panel) -> str:
    """Return the first and the last point of each line, in words."""
    parts = []
    form = Format.for_values([next(iter(line.values())).median for line in panel.lines.values()])
    for name, line in panel.lines.items():
        points = list(line.items())
        (least, first), (most, last) = points[0], points[-1]
        change = medians.change_percent(last.median, first.median)
        last_text = f"{Format.for_values([last.median]).text(last.median)} at"
        if panel.axis == "hops" and change is not None:
            last_text = f"changes by {percent(change)} to"
        value = f"{form.text(first.median)} {panel.unit.text} at {tick(panel, least)}"
        more = f" and {last_text} {tick(panel, most)}" if len(line) > 1 else ""
        parts.append(f"{name or 'it'} has {value}{more}")
    if panel.is_exact:
        return f"{'; '.join(parts)}: {tables.EXACT}."
    fewest = min(summary.n for line in panel.lines.values() for summary in line.values())
    few = "" if fewest >= medians.ENOUGH else ", too few for an interval"
    return f"{'; '.join(parts)}. These are medians (n = {fewest}{few})."


def of_first_fom(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons that have a figure and a line in the summary of a page; the others are in the table."""
    return [member for member in comparisons if member.fom == comparisons[0].fom]
