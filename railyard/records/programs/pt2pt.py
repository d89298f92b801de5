"""Make the options of `pt2pt` from the parameters of a case, and relate its figures."""

from __future__ import annotations

from collections.abc import Iterator

from railyard.records.programs import pairs
from railyard.records.programs.base import SMALL, Given, Kind, Program, Word
from railyard.records.programs.contradictions import Run, numbers, words


def options(given: Given) -> Iterator[Word]:
    """Yield the options in the order of the job's line."""
    yield from given.option("--pattern", "pattern")
    if given.value("pattern") == "ring":  # checks/canary.py
        yield from ("--tests", "latency,bandwidth")
        yield from given.option("--sizes", "sizes_bytes")
        yield from ("--window", "4")
        yield from given.option("--repeats", "repeats")
        yield from ("--max-time-per-point", "10")
        return
    yield from given.options("--tests", "--sizes=sizes_bytes", "--window")
    yield from ("--batch", "1", "--windows", "1")
    yield from given.timing(SMALL, warmups=1)


def contradictions(run: Run) -> Iterator[str]:
    """Yield what contradicts the case or other figures: points, and the figures of all pairs together."""
    if run.parameters.get("pattern") != "ring":  # checks/canary.py has these by itself
        for name in sorted({"tests", "window"} - run.parameters.keys()):
            yield f"no parameter {name}, which the program needs"
    tests = words(run.parameters.get("tests")) or ["latency", "bandwidth"]
    for size in numbers(run.parameters.get("sizes_bytes")):
        yield from pairs.lacking(run, tests, pattern=str(run.parameters.get("pattern")), size_bytes=size)
    yield from pairs.contradictions(run)


PROGRAM = Program(
    name="pt2pt",
    noun="the messages between pairs of ranks",
    options=options,
    needs={"pattern": Kind.TEXT, "sizes_bytes": Kind.INTEGERS, "repeats": Kind.INTEGER},
    may={"tests": Kind.TEXTS, "window": Kind.INTEGER},
    figures=pairs.LABELS,
    contradictions=contradictions,
    sent=pairs.sent,
)
