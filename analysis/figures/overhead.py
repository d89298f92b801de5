"""The figure of a container's cost: the change of the first figures of merit from native to image, and of the launch.

The numbers behind the figure are those of all. Leaves out: how a change is made of a pair of launches
(`analysis.cases.overhead`).
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from analysis.cases import overhead
from analysis.cases.cases import Case
from analysis.cases.overhead import LAUNCH, Overhead
from analysis.figures import svg
from analysis.figures.drawing import DataTable, Drawing
from analysis.figures.general import SHOWN_FOMS
from analysis.text.numbers import percent
from railyard.records import units

#: These figures are no benchmark's own (`analysis.figures.registry`).
OF_ANY_CASE = True
TITLE = "Image against native"
_ROW_IN = 0.42


def drawings(case: Case) -> list[Drawing]:
    """The figure of a case that ran both; nothing for any other."""
    found = overhead.overheads(case)
    if not found:
        return []
    foms = [*dict.fromkeys(each.fom for each in found if each.fom != LAUNCH)][:SHOWN_FOMS]
    shown = [each for each in found if each.fom in {*foms, LAUNCH}]
    return [
        Drawing(
            name="overhead",
            title=TITLE,
            description=f"{TITLE}, change in percent over pairs of launches. {statement(shown)}",
            paint=lambda figure: _paint(figure.subplots(), shown),
            data=_data(found),
            height_in=1.15 + _ROW_IN * len(shown),
            statement=statement(shown),
        )
    ]


def statement(found: Sequence[Overhead]) -> str:
    """Each change with its interval; which direction is better stands in the figure's names."""
    return (
        "From native to image: " + "; ".join(f"{_name(found, each)} {_value(each)}" for each in found) + "."
    )


def _name(found: Sequence[Overhead], each: Overhead) -> str:
    """The FOM, and what tells its rows apart where it has several."""
    combinations = {other.combination for other in found}
    differs = [
        getattr(each.combination, part)
        for part in ("placement", "nic_policy")
        if len({getattr(other, part) for other in combinations}) > 1
    ]
    return ", ".join([units.stem(each.fom), *differs])


def _value(each: Overhead) -> str:
    interval = each.summary.interval
    if interval is None:
        return f"{percent(each.summary.median)} (n = {each.summary.n}: no interval)"
    between = f"95 % interval {percent(interval.low)} to {percent(interval.high)}"
    return f"{percent(each.summary.median)} ({between}, n = {each.summary.n})"


def _paint(axes: Axes, shown: Sequence[Overhead]) -> None:
    for row, each in enumerate(shown):
        colour = svg.sentinel(0)
        axes.plot(each.changes_percent, [row + 0.22] * each.summary.n, ".", color=colour, alpha=0.55)
        if each.summary.interval:
            ends = [each.summary.interval.low, each.summary.interval.high]
            axes.plot(ends, [row, row], "-", color=colour, linewidth=2.2)
        axes.plot([each.summary.median], [row], svg.MARKERS[0], color=colour, markersize=7)
    axes.axvline(0, color=svg.INK, linewidth=0.9)
    svg.name_rows(axes, [svg.clean(_name(shown, each)) for each in shown])
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.margins(x=0.08)
    axes.set_xlabel("change from native to image, %")
    axes.set_title(TITLE)


def _data(found: Sequence[Overhead]) -> DataTable:
    columns = ("figure of merit", "better", "placement", "NIC policy", "change (%)", "low", "high", "n")
    return DataTable(columns=columns, rows=[_row(each) for each in found], numbers=frozenset(columns[4:]))


def _row(each: Overhead) -> tuple[str, ...]:
    interval, combination = each.summary.interval, each.combination
    ends = (interval.low, interval.high) if interval else ()
    return (
        units.stem(each.fom),
        str(units.unit_of(each.fom).better),
        combination.placement,
        combination.nic_policy,
        f"{each.summary.median:.2f}",
        *(f"{end:.2f}" for end in ends),
        *(() if ends else ("", "")),
        str(each.summary.n),
    )
