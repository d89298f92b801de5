"""From what a launch of a third-party program left to railyard's benchmark output.

Models: reading + witness + profile, if there is one, as a document of `schema/benchmark-v1.json`. A program that found
fewer ranks than were asked for ran as several worlds (its MPI is not the launcher's): that is said, and nothing of it is
used. Leaves out: where the files are (`checks.application`) and what a launch is worth (`results.assemble`).
"""

from __future__ import annotations

from collections.abc import Sequence

from railyard.errors import InputError
from applications.reading import Reading
from applications.witness import Witness
from results.benchmark import Series
from results.strictjson import Json


def document(
    benchmark: str, reading: Reading, witness: Witness, ranks: int, profile: Sequence[Series] = ()
) -> dict[str, Json]:
    """The launch's output, for `ranks` ranks asked; raises InputError when the program had another number."""
    check_world(reading, witness, ranks)
    return {
        "format": "railyard-benchmark/1",
        "benchmark": benchmark,
        "version": reading.version,
        "parameters": {},
        "mpi": dict(witness.mpi),
        "verified": reading.verified,
        "ranks": witness.ranks,
        "series": [_series(each) for each in (*reading.series, *(profile if reading.verified else ()))],
    }


def check_world(reading: Reading, witness: Witness, ranks: int) -> None:
    """Raises InputError unless program and witness both saw one world of that many ranks."""
    for who, found in (("the witness", witness.size), (reading.program, reading.ranks)):
        if found is not None and found != ranks:
            raise InputError(
                who,
                "ranks",
                found,
                f"{ranks}: the program's MPI does not know the launcher, and ran that many worlds of its own",
            )


def _series(each: Series) -> dict[str, Json]:
    return {"fom": each.fom, "labels": dict(each.labels), "samples": list(each.samples)}
