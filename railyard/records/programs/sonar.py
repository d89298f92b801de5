"""Make the options of `sonar` from the parameters of a case."""

from __future__ import annotations

from collections.abc import Iterator

from railyard.records.programs.base import Given, Program, Word


def options(given: Given) -> Iterator[Word]:
    """Yield the options in the order of the job's line."""
    yield from given.option("--sizes", "sizes_bytes")
    yield from ("--pings", ",".join(given.value("pings", ["send"])))
    yield from given.number("--count", "count")
    yield from given.option("--repeats", "repeats")
    yield from ("--group", str(given.value("group", "auto")))


PROGRAM = Program(name="sonar", options=options)
