"""Make the options of `noise` from the parameters of a case."""

from __future__ import annotations

from collections.abc import Iterator

from railyard.records.programs.base import Given, Program, Word


def options(given: Given) -> Iterator[Word]:
    """Yield the options in the order of the job's line."""
    yield from given.option("--quantum", "quantum_s")
    yield from given.option("--count", "count")
    yield from given.option("--repeats", "repeats")


PROGRAM = Program(name="noise", options=options)
