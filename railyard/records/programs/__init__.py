"""List railyard's own benchmarks: `PROGRAM` of a module, or each of `PROGRAMS`, is a `Program` of `base`.

One pure function makes the options of a job, and makes them again from a record for the strict check. Another relates
the figures of a launch; `third_party` has those of programs that are not railyard's. Leaves out the launcher before the
program (`railyard.placements.nics.lines`).
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence

from railyard.base.members import members
from railyard.records.programs import third_party
from railyard.records.programs.base import Contradictions, Free, Given, Program, Word

__all__ = ["PROGRAMS", "Free", "Given", "Program", "Word", "contradictions", "expected", "leader", "options", "what"]

#: The benchmarks by name.
PROGRAMS: Mapping[str, Program] = {program.name: program for program in members(__name__, "PROGRAM", "PROGRAMS")}


def leader(benchmark: str, fom: str, at_point: Container[str]) -> str:
    """Return the figure among those of one point of which `fom` is a function; empty if it is a measurement itself."""
    follows = PROGRAMS[benchmark].follows if benchmark in PROGRAMS else third_party.follows(benchmark)
    return next((other for other in follows.get(fom, ()) if other in at_point), "")


def what(benchmarks: Collection[str]) -> str:
    """Return what benchmarks measure, for a sentence; a program that is not railyard's own has its name."""
    if len(benchmarks) != 1:
        return "these programs"
    (name,) = benchmarks
    return PROGRAMS[name].noun if name in PROGRAMS else name


def options(benchmark: str, given: Given) -> list[str]:
    """Return the options of a benchmark for a job; raises TypeError if a number is missing in `given.unrecorded`."""
    words = []
    for word in PROGRAMS[benchmark].options(given):
        if isinstance(word, Free):
            raise TypeError(f"an option of {benchmark} has no number")
        words.append(word)
    return words


def expected(benchmark: str, given: Given) -> Sequence[Word] | None:
    """Return the options that a record's case determines; None for a program that is not railyard's own."""
    return list(PROGRAMS[benchmark].options(given)) if benchmark in PROGRAMS else None


def contradictions(benchmark: str) -> Contradictions:
    """Return the function that yields what contradicts the case or other figures of a launch of a benchmark."""
    if benchmark in PROGRAMS:
        return PROGRAMS[benchmark].contradictions
    return third_party.contradictions(benchmark)
