"""Paint what several figures share: axes in a unit that keeps numbers short, rows with marks, stacked bars, sizes.

Models: one unit for each axis, from its largest number: 1.4 s, where the samples are 1,400,000 µs. A logarithmic axis,
which spans many units, keeps that of the samples. Leaves out: colours and SVG (`railyard.analysis.figures.svg`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, Formatter, FuncFormatter, MaxNLocator, NullLocator
from matplotlib.transforms import blended_transform_factory

from railyard.analysis.figures import svg
from railyard.analysis.text import size_text
from railyard.records.units import Fom

#: Units of time, the longest first, and their µs. The axis has the first unit of which it holds at least one.
TIMES = (("s", 1e6), ("ms", 1e3), ("µs", 1.0))
#: Numbers of other units from this one on are written with a power of ten in the axis' name.
LONG = 1e5
_MOST_DECIMALS = 6


class Scale(NamedTuple):
    """What an axis is named, and what its numbers are divided by."""

    heading: str
    divisor: float


def scale_of(fom: Fom, largest: float) -> Scale:
    """Return the scale of an axis whose largest number is given in the unit of the figure."""
    if fom.unit.name == "us":
        text, divisor = next((row for row in TIMES if largest >= row[1]), TIMES[-1])
        return Scale(fom.headed(text), divisor)
    if largest < LONG:
        return Scale(fom.heading, 1.0)
    power = 3 * ((len(str(int(largest))) - 1) // 3)
    return Scale(fom.headed(f"1e{power} {fom.unit.text}"), 10.0**power)


class Divided(Formatter):
    """Writes the numbers of an axis divided by its scale's divisor, all with the same decimals."""

    def __init__(self, divisor: float) -> None:
        self.divisor = divisor

    def __call__(self, x: float, pos: int | None = None) -> str:
        return f"{x / self.divisor:g}"

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Return the texts of all ticks."""
        numbers = [value / self.divisor for value in values]
        fits = (
            decimals
            for decimals in range(_MOST_DECIMALS)
            if all(abs(round(number, decimals) - number) < 1e-9 * max(1.0, abs(number)) for number in numbers)
        )
        decimals = next(fits, _MOST_DECIMALS)
        return [f"{number:,.{decimals}f}" for number in numbers]


def name_axis(axis: Axis, fom: Fom) -> None:
    """Name an axis after its figure's unit and write its numbers in it; what is drawn and the limits are final.

    A logarithmic axis keeps the unit of the samples.
    """
    is_log = axis.get_scale() == "log"
    scale = Scale(fom.heading, 1.0) if is_log else scale_of(fom, max(map(abs, axis.get_view_interval())))
    if scale.divisor != 1.0:
        axis.set_major_formatter(Divided(scale.divisor))
    axis.set_label_text(scale.heading)


def name_rows(axes: Axes, names: Sequence[str], baseline: float | None = None) -> None:
    """Name the rows of a figure, the first at the top, without lines along them; a line marks the baseline's value."""
    if baseline is not None:
        axes.axvline(baseline, color=svg.INK, linewidth=0.9)
    axes.set_yticks(range(len(names)), [svg.clean(name) for name in names])
    axes.set_ylim(len(names) - 0.45, -0.55)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def head_row(axes: Axes, row: int, text: str) -> None:
    """Write the heading of the rows below it, across the whole figure."""
    across = blended_transform_factory(axes.figure.transFigure, axes.transData)
    heading = axes.text(0.0, row, svg.clean(text), transform=across, va="center", fontweight="bold")
    heading.set_in_layout(False)


def some_room(axes: Axes) -> None:
    """Leave some room at the ends of the x axis."""
    axes.margins(x=0.08)


def few_ticks(axes: Axes) -> None:
    """Write at most six round numbers at the x axis, and leave some room at its ends."""
    axes.xaxis.set_major_locator(MaxNLocator(5))
    some_room(axes)


def stacked_bars(
    figure: Figure, names: Sequence[str], parts: Mapping[str, Sequence[float]], alphas: Sequence[float]
) -> Axes:
    """Draw a bar per name, the first at the top, of parts one after another, and a legend of the parts.

    `parts` has the length of each bar's part; their opacities take turns.
    """
    axes = figure.subplots()
    starts, rows = [0.0] * len(names), range(len(names))
    for series, (part, lengths) in enumerate(parts.items()):
        colour, alpha = svg.sentinel(series), alphas[series % len(alphas)]
        axes.barh(rows, lengths, 0.6, left=starts, color=colour, alpha=alpha, label=part)
        starts = [start + length for start, length in zip(starts, lengths, strict=True)]
    axes.set_yticks(rows, [svg.clean(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    figure.legend(loc="outside lower center", ncols=4)
    return axes


def size_axis(axes: Axes, sizes: Sequence[int], most_ticks: int = 7) -> None:
    """Make the x axis one of message sizes in bytes, in order; it is logarithmic, from 0 linear up to 1."""
    if sizes[0] > 0:
        axes.set_xscale("log", base=2)
    else:
        axes.set_xscale("symlog", base=2, linthresh=1)
    axes.xaxis.set_major_locator(FixedLocator(list(sizes)[:: -(-len(sizes) // most_ticks)]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: size_text(round(value))))
