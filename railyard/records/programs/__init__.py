"""List railyard's own benchmarks, one module each: `PROGRAM` is a `Program` of `base`.

One pure function makes the options of a job, and makes them again from a record for the strict check. Leaves out the
launcher before the program (`placements.nics.lines`), and third-party programs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from railyard.base.members import members
from railyard.records.programs.base import Free, Given, Program, Word

__all__ = ["PROGRAMS", "Free", "Given", "Program", "Word", "expected", "options"]

#: The benchmarks by name.
PROGRAMS: Mapping[str, Program] = {program.name: program for program in members(__name__, "PROGRAM")}


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
