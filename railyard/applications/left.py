"""Read what railyard's own helpers left of a launch: the time of any program, and what a ReFrame test's functions gave.

Models: the file `railyard-time/1` of the witness, from MPI_Init to MPI_Finalize of the slowest rank
(benchmarks/witness), and that of `railyard.placed.figures`. Leaves out what the program printed: a program whose own
figure of merit counts needs patterns or a parser.
"""

from __future__ import annotations

import json

from railyard.applications.reading import Parser, Reading, UnreadableError, finite, single
from railyard.base.errors import InputError
from railyard.records import units

#: The benchmark of any program, whose only figure is its time.
ANY_PROGRAM = "any_program"
TIME = "railyard-time/1"
ELAPSED = units.fom("elapsed_s", "s", "lower")
#: The key of a job's `read_by` that selects the results of a ReFrame test; its value is the name of the program.
REFRAME = "reframe"


def time(text: str, left: str, source: str) -> Reading:
    """Return the time of a run; raises InputError if the program did not reach MPI_Finalize."""
    del text
    try:
        document = json.loads(left)
    except ValueError:
        document = None
    if not isinstance(document, dict) or document.get("format") != TIME:
        raise UnreadableError(source, "time", "the program did not come to MPI_Finalize")
    elapsed_s = finite(str(document.get("elapsed_s")), source, "elapsed_s")
    return Reading(program="any", version="unknown", ranks=None, series=[single(ELAPSED, elapsed_s)])


def of_reframe(program: str) -> Parser:
    """Return a parser of the file that the functions' results are in."""

    def read(text: str, left: str, source: str) -> Reading:
        del text
        if not left:
            raise InputError(
                source, "", problem="ReFrame did not judge this launch", valid="a job that ReFrame waited for"
            )
        judged = json.loads(left)
        series = [
            single(units.fom(name, figure["unit"], figure["better"]), figure["value"])
            for name, figure in judged["figures"].items()
        ]
        fault = judged["fault"] or ("" if series else "no performance function of the test gave a number")
        version = "unknown"
        return Reading(program=program, version=version, ranks=None, series=series, fault=fault)

    return read
