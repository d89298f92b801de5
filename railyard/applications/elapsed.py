"""Read how long any MPI program took, from MPI_Init to MPI_Finalize of its slowest rank (benchmarks/witness).

Models: the file `railyard-time/1`, which the witness leaves. Leaves out what the program printed: a program whose own
figure of merit counts needs patterns or a parser.
"""

from __future__ import annotations

import json

from railyard.applications.reading import Reading, UnreadableError, finite
from railyard.records import units
from railyard.records.benchmark import Series

#: The benchmark of any program, whose only figure is its time.
BENCHMARK = "any_program"
FORMAT = "railyard-time/1"
ELAPSED = units.fom("elapsed_s", "s", "lower")


def parse(text: str, left: str, source: str) -> Reading:
    """Return the time of a run; raises InputError if the program did not reach MPI_Finalize."""
    del text
    try:
        document = json.loads(left)
    except ValueError:
        document = None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise UnreadableError(source, "time", "the program did not come to MPI_Finalize")
    elapsed_s = finite(str(document.get("elapsed_s")), source, "elapsed_s")
    return Reading(
        program="any",
        version="unknown",
        ranks=None,
        series=[Series(fom=ELAPSED, labels={}, samples=(elapsed_s,))],
    )
