"""Draw the cost of a container: how the first figures of merit and the launch time change from native to image.

The drawing shows only the first figures of merit; its table of numbers has all of them. Leaves out: how the change is
computed from pairs of launches (`railyard.analysis.cases.overhead`).
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from railyard.analysis.cases import overhead
from railyard.analysis.cases.cases import Case
from railyard.analysis.cases.overhead import LAUNCH, Overhead
from railyard.analysis.figures import svg
from railyard.analysis.figures.drawing import DataTable, Drawing
from railyard.analysis.figures.general import SHOWN_FOMS
from railyard.analysis.text.numbers import percent

#: These figures are no benchmark's own (`railyard.analysis.figures.registry`).
OF_ANY_CASE = True
TITLE = "Image against native"
_ROW_IN = 0.42


def drawings(case: Case) -> list[Drawing]:
    """Return the figure of a case that ran both; nothing for any other."""
    rows = overhead.overheads(case)
    if not rows:
        return []
    foms = [*dict.fromkeys(row.fom for row in rows if row.fom != LAUNCH)][:SHOWN_FOMS]
    shown = [row for row in rows if row.fom in {*foms, LAUNCH}]
    return [
        Drawing(
            name="overhead",
            title=TITLE,
            description=f"{TITLE}, change in percent over pairs of launches. {statement(shown)}",
            paint=lambda figure: _paint(figure.subplots(), shown),
            data=_data(rows),
            height_in=1.15 + _ROW_IN * len(shown),
            statement=statement(shown),
        )
    ]


def statement(rows: Sequence[Overhead]) -> str:
    """Return each change with its interval; columns name the better direction."""
    return "From native to image: " + "; ".join(f"{_name(rows, row)} {_value(row)}" for row in rows) + "."


def _name(rows: Sequence[Overhead], row: Overhead) -> str:
    """Return the FOM, and what distinguishes its rows if it has several."""
    combinations = {other.combination for other in rows}
    differs = [
        getattr(row.combination, part)
        for part in ("placement", "nic_policy")
        if len({getattr(other, part) for other in combinations}) > 1
    ]
    return ", ".join([row.fom.stem, *differs])


def _value(row: Overhead) -> str:
    interval = row.summary.interval
    if interval is None:
        return f"{percent(row.summary.median)} (n = {row.summary.n}: no interval)"
    between = f"95 % interval {percent(interval.low)} to {percent(interval.high)} of {interval.of}"
    return f"{percent(row.summary.median)} ({between}, n = {row.summary.n})"


def _paint(axes: Axes, shown: Sequence[Overhead]) -> None:
    for row, change in enumerate(shown):
        colour = svg.sentinel(0)
        axes.plot(change.changes_percent, [row + 0.22] * change.summary.n, ".", color=colour, alpha=0.55)
        if change.summary.interval:
            ends = [change.summary.interval.low, change.summary.interval.high]
            axes.plot(ends, [row, row], "-", color=colour, linewidth=2.2)
        axes.plot([change.summary.median], [row], svg.MARKERS[0], color=colour, markersize=7)
    axes.axvline(0, color=svg.INK, linewidth=0.9)
    svg.name_rows(axes, [svg.clean(_name(shown, change)) for change in shown])
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.margins(x=0.08)
    axes.set_xlabel("change from native to image, %")
    axes.set_title(TITLE)


def _data(rows: Sequence[Overhead]) -> DataTable:
    columns = ("figure of merit", "better", "placement", "NIC policy", "change (%)", "low", "high", "n")
    return DataTable(columns=columns, rows=[_row(row) for row in rows], numbers=frozenset(columns[4:]))


def _row(row: Overhead) -> tuple[str, ...]:
    interval, combination = row.summary.interval, row.combination
    ends = (interval.low, interval.high) if interval else ()
    return (
        row.fom.stem,
        str(row.fom.better),
        combination.placement,
        combination.nic_policy,
        f"{row.summary.median:.2f}",
        *(f"{end:.2f}" for end in ends),
        *(() if ends else ("", "")),
        str(row.summary.n),
    )
