"""Make the options of `congestor` from the parameters of a case."""

from __future__ import annotations

from collections.abc import Iterator

from railyard.records.programs.base import Given, Program, Word


def options(given: Given) -> Iterator[Word]:
    """Yield the options in the order of the job's line."""
    yield from given.option("--pattern", "pattern")
    yield from given.option("--size", "size_bytes", unit="B")
    yield from given.option("--rounds", "rounds")


PROGRAM = Program(name="congestor", options=options)
