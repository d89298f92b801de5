"""Make the options of `contention` from the parameters of a case."""

from __future__ import annotations

from collections.abc import Iterator

from railyard.records.programs.base import Given, Program, Word

#: Least seconds of each point at the scale small, where no parameter names others.
LEAST_S = 3.0


def options(given: Given) -> Iterator[Word]:
    """Yield the options in the order of the job's line."""
    yield from given.option("--pairs", "pairs_per_node")
    yield from given.option("--sizes", "sizes_bytes")
    yield from given.option("--window", "window")
    yield from given.timing(warmups=1, least_s=given.value("least_s", LEAST_S))


PROGRAM = Program(name="contention", options=options)
