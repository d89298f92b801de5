"""Make the options of `topobw` from the parameters of a case."""

from __future__ import annotations

from collections.abc import Iterator

from railyard.records.programs.base import Given, Program, Word


def options(given: Given) -> Iterator[Word]:
    """Yield the options in the order of the job's line."""
    yield from ("--coordinates", "coordinates", "--links", "links")
    yield from given.option("--size", "size_bytes")
    yield from given.option("--messages", "messages")
    yield from given.option("--repeats", "repeats")
    yield from given.option("--tolerance", "tolerance_percent")
    if given.is_emulated:  # hosts' names belong to the torus, elsewhere to another network
        yield from ("--routes", "strict")


PROGRAM = Program(name="topobw", options=options)
