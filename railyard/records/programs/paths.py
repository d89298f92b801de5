"""Make the options of `paths` from the parameters of a case, and relate its figures."""

from __future__ import annotations

from collections.abc import Iterator

from railyard.records.programs import pairs
from railyard.records.programs.base import Given, Kind, Program, Word
from railyard.records.programs.contradictions import Run, numbers


def options(given: Given) -> Iterator[Word]:
    """Yield the options in the order of the job's line."""
    yield from given.coordinates
    yield from given.options("--paths", "--sizes=sizes_bytes")
    yield from ("--tests", "bandwidth")
    yield from given.option("--window", "window")
    yield from given.timing()


def contradictions(run: Run) -> Iterator[str]:
    """Yield what contradicts the case or other figures: points, samples, and the rate of all paths together."""
    for paths in numbers(run.parameters.get("paths")):
        for size in numbers(run.parameters.get("sizes_bytes")):
            yield from pairs.lacking(run, ["bandwidth"], paths=paths, size_bytes=size)
    yield from pairs.counts(run)
    yield from pairs.contradictions(run)


PROGRAM = Program(
    name="paths",
    noun="the exchange along paths",
    options=options,
    needs={"paths": Kind.INTEGERS, "sizes_bytes": Kind.INTEGERS, "window": Kind.INTEGER, "repeats": Kind.INTEGER},
    figures=pairs.LABELS,
    contradictions=contradictions,
    sent=pairs.sent,
)
