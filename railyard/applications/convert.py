"""Convert the reading of a third-party program to railyard's benchmark output.

Models: reading + witness + profile, if there is one, as a document of `schema/benchmark-v1.json`. A program with
fewer ranks than were requested ran as several MPI worlds, because its MPI is not the launcher's. This is an error, and
its figures are not used. Leaves out: where the files are (`checks.application`), and whether a launch is a result
(`railyard.records.assemble`).
"""

from __future__ import annotations

from railyard.applications.mpip import Profile
from railyard.applications.reading import Reading
from railyard.applications.witness import Witness
from railyard.base.errors import InputError
from railyard.records import benchmark
from railyard.records.benchmark import Unmeasured
from railyard.records.json_io import Json


def document(
    program: str, reading: Reading, witness: Witness, *, ranks: int, profile: Profile | None = None
) -> dict[str, Json]:
    """Return the benchmark output of a launch of `ranks` ranks; InputError if the program reports another number."""
    if reading.ranks not in (None, ranks):
        raise InputError(reading.program, "ranks", reading.ranks, f"{ranks}, as were requested")
    series, not_measured = list(reading.series), list(reading.not_measured)
    if profile and reading.verified:
        series += profile.series
        not_measured += profile.not_measured
    return {
        "format": "railyard-benchmark/3",
        "benchmark": program,
        "version": reading.version,
        "parameters": {},
        "reported": dict(reading.parameters),
        "mpi": dict(witness.mpi),
        "verified": reading.verified,
        "ranks": witness.ranks,
        "figures": benchmark.figures_json([one.fom for one in series] + [one.fom for one in not_measured]),
        "series": [benchmark.series_json(one) for one in series],
        **({"not_measured": list(map(_unmeasured, not_measured))} if not_measured else {}),
    }


def check_world(witness: Witness, ranks: int) -> None:
    """Raise InputError unless the program's MPI made one world of that many ranks."""
    if witness.size != ranks:
        alone = f"{ranks} worlds of one rank each: the program's MPI does not know what started it"
        wanted = f"{ranks} ranks" if witness.size > 1 else f"{ranks} ranks in one world; there are {alone}"
        raise InputError("the witness", "ranks", witness.size, wanted)


def check_threads(reading: Reading, seen: Witness, wanted: Json) -> None:
    """Raise InputError unless each rank has as many OpenMP threads as were requested, if any were.

    Both the program's own output and the witness must agree, as far as they report threads.
    """
    if not wanted:
        return
    if seen.openmp_threads == 0 and wanted > 1:
        raise InputError(
            reading.program, "threads", 0, f"{wanted}, as were requested; the program is built without OpenMP"
        )
    for reported in (seen.openmp_threads, reading.parameters.get("threads")):
        if reported not in (None, 0, wanted):
            raise InputError(reading.program, "threads", reported, f"{wanted}, as were requested")


def _unmeasured(one: Unmeasured) -> dict[str, Json]:
    return {"fom": str(one.fom), "labels": dict(one.labels), "reason": one.reason}
