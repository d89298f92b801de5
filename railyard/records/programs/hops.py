"""Make the options of `hops` from the parameters of a case, and relate its figures."""

from __future__ import annotations

from collections.abc import Iterator

from railyard.records.programs import pairs
from railyard.records.programs.base import Given, Kind, Program, Word
from railyard.records.programs.contradictions import Run, numbers


def options(given: Given) -> Iterator[Word]:
    """Yield the options in the order of the job's line."""
    yield from given.coordinates
    yield from given.options("--sizes=sizes_bytes", "--window")
    if given.is_located:
        yield from given.option("--pairs-per-point", "pairs_per_point")
    yield from given.timing()


def contradictions(run: Run) -> Iterator[str]:
    """Yield what contradicts the case: a test and size without a pair, or with another number of samples."""
    for test, figure in (("latency", "latency_us"), *((test, "bandwidth_gbyte_s") for test in pairs.STREAMS)):
        for size in numbers(run.parameters.get("sizes_bytes")):
            if size or test == "latency":
                yield from run.lacks([figure], test=test, size_bytes=size)
    yield from pairs.counts(run)
    most = run.parameters.get("pairs_per_point")
    for fom in ("latency_us", "bandwidth_gbyte_s"):
        for point, taken in pairs.by_point(run, fom).items():
            if type(most) is int and len(taken) > most:
                yield f"{fom} of {len(taken)} pairs at {dict(point)}; pairs_per_point is {most}"


PROGRAM = Program(
    name="hops",
    noun="the messages between pairs of nodes",
    options=options,
    needs={"sizes_bytes": Kind.INTEGERS, **dict.fromkeys(("window", "repeats", "pairs_per_point"), Kind.INTEGER)},
    figures=pairs.LABELS,
    contradictions=contradictions,
    sent=pairs.sent,
)
