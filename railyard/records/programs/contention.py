"""Make the options of `contention` from the parameters of a case, and relate its figures."""

from __future__ import annotations

from collections.abc import Iterator

from railyard.records.programs import pairs
from railyard.records.programs.base import Given, Kind, Program, Word
from railyard.records.programs.contradictions import Run, numbers

#: Least seconds of each point at the scale small, where no parameter names others.
LEAST_S = 3.0


def options(given: Given) -> Iterator[Word]:
    """Yield the options in the order of the job's line."""
    yield from given.options("--pairs=pairs_per_node", "--sizes=sizes_bytes", "--window")
    yield from given.timing(warmups=1, least_s=given.value("least_s", LEAST_S))


def contradictions(run: Run) -> Iterator[str]:
    """Yield what contradicts the case or other figures: points, and the figures of all pairs together."""
    for count in numbers(run.parameters.get("pairs_per_node")):
        for size in numbers(run.parameters.get("sizes_bytes")):
            yield from pairs.lacking(run, ["latency", *pairs.STREAMS], pairs_per_node=count, size_bytes=size)
    yield from pairs.contradictions(run)


PROGRAM = Program(
    name="contention",
    noun="the exchange of many pairs",
    options=options,
    needs={
        "pairs_per_node": Kind.INTEGERS,
        "sizes_bytes": Kind.INTEGERS,
        "window": Kind.INTEGER,
        "repeats": Kind.INTEGER,
    },
    may={"least_s": Kind.NUMBER},
    figures=pairs.LABELS,
    contradictions=contradictions,
    sent=pairs.sent,
)
