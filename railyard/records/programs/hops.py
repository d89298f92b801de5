"""Make the options of `hops` from the parameters of a case."""

from __future__ import annotations

from collections.abc import Iterator

from railyard.records.programs.base import Given, Program, Word


def options(given: Given) -> Iterator[Word]:
    """Yield the options in the order of the job's line."""
    yield from given.coordinates
    yield from given.option("--sizes", "sizes_bytes")
    yield from given.option("--window", "window")
    if given.is_located:
        yield from given.option("--pairs-per-point", "pairs_per_point")
    yield from given.timing()


PROGRAM = Program(name="hops", options=options)
