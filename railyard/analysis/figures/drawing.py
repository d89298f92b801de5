"""Describe one figure of a page: how it is painted, its description in words, and the numbers behind it.

Models: a `Drawing` is data with one function that paints it; the page, the SVG files and the tests take what they need
from it. Many are drawn by every processor, the same bytes either way. Leaves out: which drawings a case has
(`railyard.analysis.figures.registry`), SVG (`railyard.analysis.figures.svg`), markup.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from markupsafe import Markup
from matplotlib.figure import Figure

from railyard.analysis.figures import svg
from railyard.analysis.text import DataTable as DataTable
from railyard.base.parent import workers
from railyard.base.progress import track

WIDTH_IN = 4.6
HEIGHT_IN = 3.1
#: Fewer figures are drawn sooner than a process starts.
_MANY = 6


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
    paint: Callable[[Figure], object]
    data: DataTable
    width_in: float = WIDTH_IN
    height_in: float = HEIGHT_IN
    statement: str = ""
    foms: frozenset[str] = frozenset()

    @property
    def is_wide(self) -> bool:
        """Return whether it takes the whole width of a page."""
        return self.width_in > 1.5 * WIDTH_IN


def inline_svg(drawing: Drawing, prefix: str) -> str:
    """Return the drawing as an `<svg>` element for a page; `prefix` makes its ids unique there."""
    return _written(drawing, lambda shown, figure: svg.inline(figure, f"{prefix}{shown.name}", shown.description))


def svg_file(drawing: Drawing) -> str:
    """Return the drawing as an SVG file of its own, light and dark."""
    return _written(drawing, lambda shown, figure: svg.standalone(figure, shown.name, shown.description))


def made(name: str, make: Callable[[], Iterable[Drawing]]) -> list[Drawing]:
    """Return the drawings that a function makes, or the one line of `failed`."""
    try:
        return list(make())
    except Exception as error:  # one family of figures must not take the page of all records with it
        return [failed(name, error)]


def failed(name: str, error: Exception) -> Drawing:
    """Return one line for the place of a figure that could not be drawn, with the error."""
    text = f"{name}: not drawn: {type(error).__name__}: {' '.join(str(error).split())}"
    return Drawing(
        name=name,
        title=name,
        description=text,
        paint=lambda figure: figure.text(0, 0.5, text, va="center", color=svg.INK),
        data=DataTable(columns=["error"], rows=[[text]]),
        height_in=0.3,
    )


def _written(drawing: Drawing, write: Callable[[Drawing, Figure], str]) -> str:
    def written(shown: Drawing) -> str:
        figure = Figure(figsize=(shown.width_in, shown.height_in), layout="constrained")
        shown.paint(figure)
        return write(shown, figure)

    with svg.style():
        try:
            return written(drawing)
        except Exception as error:  # as above; matplotlib may fail when it paints or when it writes
            return written(failed(drawing.name, error))


def images(drawn: Sequence[Sequence[Drawing]]) -> list[list[Markup]]:
    """Return the drawings of each case as `<svg>` elements; ids start with `c<number of the case>`."""
    global _jobs
    # children are forks: they find the drawings, whose functions cannot be sent, where they are
    _jobs = [(number, drawing_) for number, of_case in enumerate(drawn, 1) for drawing_ in of_case]
    places, processors = range(len(_jobs)), os.cpu_count() or 1
    is_forked = len(_jobs) >= _MANY and processors > 1 and "fork" in multiprocessing.get_all_start_methods()
    with workers(processors) if is_forked else nullcontext() as pool:
        done = pool.map(_text, places, chunksize=2) if pool else map(_text, places)
        texts = iter(list(track(done, len(_jobs), "drawing figures")))
    # made by an XML writer, which escapes text and attributes
    return [[Markup(next(texts)) for _ in of_case] for of_case in drawn]


_jobs: Sequence[tuple[int, Drawing]] = ()


def _text(place: int) -> str:
    number, drawn = _jobs[place]
    return inline_svg(drawn, f"c{number}")
