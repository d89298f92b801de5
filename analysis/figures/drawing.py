"""Describe one figure of a page: how it is painted, its description in words, and the numbers behind it.

Models: a `Drawing` is data with one function that paints it; the page, the SVG files and the tests take what they
need from it. Leaves out: which drawings a case has (`analysis.figures.registry`), SVG (`analysis.figures.svg`), markup.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.figure import Figure

from analysis.figures import svg
from analysis.text.datatable import DataTable as DataTable

WIDTH_IN = 4.6
HEIGHT_IN = 3.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A figure of one case.

    `name` is short and unique in its case (letters, digits, '-': it becomes a file's name), `description` states in
    words what it shows, `paint` draws on an empty figure of `width_in` x `height_in` inches, inside
    `svg.style()`, with colours from `svg.sentinel` and `svg.INK` alone. `statement` is a sentence for the page's
    summary, or empty. `foms` are the figures of merit that this drawing takes over: the page then draws no general
    figure of them and states no general comparison.
    """

    name: str
    title: str
    description: str
    paint: Callable[[Figure], None]
    data: DataTable
    width_in: float = WIDTH_IN
    height_in: float = HEIGHT_IN
    statement: str = ""
    foms: frozenset[str] = frozenset()


def inline_svg(drawing: Drawing, prefix: str) -> str:
    """Return the drawing as an `<svg>` element for a page; `prefix` makes its ids unique there."""
    with svg.style():
        return svg.inline(_painted(drawing), f"{prefix}{drawing.name}", drawing.description)


def svg_file(drawing: Drawing) -> str:
    """Return the drawing as an SVG file of its own, light and dark."""
    with svg.style():
        return svg.standalone(_painted(drawing), drawing.name, drawing.description)


def _painted(drawing: Drawing) -> Figure:
    figure = Figure(figsize=(drawing.width_in, drawing.height_in), layout="constrained")
    drawing.paint(figure)
    return figure
