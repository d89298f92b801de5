"""Render the pictures of all cases: drawn by every processor when there are many, the same bytes either way.

Leaves out: what is drawn (`railyard.analysis.figures.registry`), SVG (`railyard.analysis.figures.svg`).
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Sequence

from markupsafe import Markup

from railyard.analysis.figures import drawing
from railyard.analysis.figures.drawing import Drawing
from railyard.base.parent import workers

#: Fewer are drawn sooner than a process starts.
_MANY = 24


def images(drawn: Sequence[Sequence[Drawing]]) -> list[list[Markup]]:
    """Return the drawings of each case as `<svg>` elements; ids start with `c<number of the case>`."""
    jobs = [(number, drawing_) for number, of_case in enumerate(drawn, 1) for drawing_ in of_case]
    texts = iter(_texts(jobs))
    # made by an XML writer, which escapes text and attributes
    return [[Markup(next(texts)) for _ in of_case] for of_case in drawn]


def _texts(jobs: Sequence[tuple[int, Drawing]]) -> list[str]:
    processors = os.cpu_count() or 1
    if len(jobs) < _MANY or processors < 2 or "fork" not in multiprocessing.get_all_start_methods():
        return [_text(job) for job in jobs]
    global _jobs
    _jobs = jobs  # children are forks: they find the drawings, whose functions cannot be sent, where they are
    with workers(processors) as pool:
        return list(pool.map(_numbered_text, range(len(jobs)), chunksize=4))


_jobs: Sequence[tuple[int, Drawing]] = ()


def _numbered_text(number: int) -> str:
    return _text(_jobs[number])


def _text(job: tuple[int, Drawing]) -> str:
    number, drawn = job
    return drawing.inline_svg(drawn, f"c{number}")
