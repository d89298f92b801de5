"""Convert the reading of a third-party program to railyard's benchmark output.

Models: reading + witness + profile, if there is one, as a document of `schema/benchmark-v1.json`. The witness is the
file that benchmarks/witness/witness.c writes: which rank of the program's own MPI world ran where. A program with fewer
ranks than were requested ran as several MPI worlds, because its MPI is not the launcher's. This is an error, and
its figures are not used. Leaves out: where the files are (`checks.application`), and whether a launch is a result
(`railyard.records.assemble`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from railyard.applications.mpip import Profile
from railyard.applications.reading import Reading, UnreadableError
from railyard.base.errors import InputError
from railyard.records import benchmark, json_io
from railyard.records.benchmark import Unmeasured
from railyard.records.json_io import Json

WITNESS = "railyard-witness/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """What rank 0 wrote. `mpi` and `ranks` are validated as parts of a benchmark's output.

    `openmp_threads` is how many threads rank 0 would start, 0 in a program without OpenMP; None in files of older
    witnesses, which have no such number.
    """

    mpi: Mapping[str, Json]
    ranks: Json
    openmp_threads: int | None = None

    @property
    def size(self) -> int:
        """Return the number of ranks of the program's MPI_COMM_WORLD."""
        ranks: int = self.mpi["ranks"]
        return ranks


def load_witness(path: Path) -> Witness:
    """Return the witness in a file; raises InputError if the file is missing or something else."""
    if not path.is_file():
        raise UnreadableError(path.name, "witness", "the program never started MPI (built without it?)")
    document = json_io.read(path)
    if not isinstance(document, Mapping) or document.get("format") != WITNESS:
        format_name = document.get("format") if isinstance(document, Mapping) else document
        raise InputError(path.name, "format", format_name, WITNESS)
    mpi = document.get("mpi")
    if not isinstance(mpi, Mapping) or type(mpi.get("ranks")) is not int or "ranks" not in document:
        raise InputError(path.name, "mpi.ranks", problem="missing", valid="the whole file of railyard-witness")
    threads = document.get("openmp_threads")
    return Witness(mpi=mpi, ranks=document["ranks"], openmp_threads=threads)


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
    """Raise InputError unless the program's MPI made one world of `ranks` ranks."""
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
