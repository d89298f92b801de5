"""Axes of figures of merit in a unit that keeps their numbers short: 1.4 s, where the samples are 1,400,000 µs.

Models: one unit for each axis, from its largest number. Leaves out: logarithmic axes, which span many units.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import Formatter

from railyard.records.units import Fom

#: Units of time, the longest first, and their µs. The first is taken of which the axis holds at least one.
TIMES = (("s", 1e6), ("ms", 1e3), ("µs", 1.0))
#: From here on numbers of other units are written with a power of ten at the axis' name.
LONG = 1e5
_MOST_DECIMALS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """What an axis is named, and what its numbers are divided by."""

    heading: str
    divisor: float


def scale_of(fom: Fom, largest: float) -> Scale:
    """Return the scale of an axis whose largest number is given in the unit of the figure."""
    if fom.unit.name == "us":
        text, divisor = next((row for row in TIMES if largest >= row[1]), TIMES[-1])
        return Scale(heading=fom.headed(text), divisor=divisor)
    if largest < LONG:
        return Scale(heading=fom.heading, divisor=1.0)
    power = 3 * ((len(str(int(largest))) - 1) // 3)
    text = f"1e{power} {fom.unit.text}"
    return Scale(heading=fom.headed(text), divisor=10.0**power)


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


def name_x(axes: Axes, fom: Fom) -> None:
    """Name the x axis after its figure's unit and write its numbers in it; what is drawn and the limits are final."""
    _name(axes.get_xlim(), fom, axes.xaxis.set_major_formatter, axes.set_xlabel)


def name_y(axes: Axes, fom: Fom) -> None:
    """Do the same with the y axis; a logarithmic one keeps the unit of the samples."""
    if axes.get_yscale() == "log":
        axes.set_ylabel(fom.heading)
    else:
        _name(axes.get_ylim(), fom, axes.yaxis.set_major_formatter, axes.set_ylabel)


def _name(
    limits: tuple[float, float],
    fom: Fom,
    set_formatter: Callable[[Formatter], None],
    set_label: Callable[[str], object],
) -> None:
    scale = scale_of(fom, max(map(abs, limits)))
    if scale.divisor != 1.0:
        set_formatter(Divided(scale.divisor))
    set_label(scale.heading)
