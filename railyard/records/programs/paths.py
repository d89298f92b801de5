"""Make the options of `paths` from the parameters of a case."""

from __future__ import annotations

from collections.abc import Iterator

from railyard.records.programs.base import Given, Program, Word


def options(given: Given) -> Iterator[Word]:
    """Yield the options in the order of the job's line."""
    yield from given.coordinates
    yield from given.option("--paths", "paths")
    yield from given.option("--sizes", "sizes_bytes")
    yield from ("--tests", "bandwidth")
    yield from given.option("--window", "window")
    yield from given.timing()


PROGRAM = Program(name="paths", options=options)
