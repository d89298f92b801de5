"""Make the options of `rowcol` from the parameters of a case."""

from __future__ import annotations

from collections.abc import Iterator

from railyard.records.programs.base import SMALL, Given, Program, Word


def options(given: Given) -> Iterator[Word]:
    """Yield the options in the order of the job's line."""
    yield from given.coordinates
    yield from given.option("--splits", "splits")
    yield from given.option("--collectives", "collectives")
    yield from given.option("--sizes", "sizes_bytes")
    yield from given.timing()
    yield from given.option("--start", "start")
    if given.scale == SMALL:
        # On a busy machine ranks begin later, and what is accepted grows; how late they began is in the document.
        yield from ("--late-percent", "3", "--late-most", "90")


PROGRAM = Program(name="rowcol", options=options)
