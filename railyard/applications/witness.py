"""Read the witness of a launch: which rank of the program's own MPI world ran where (benchmarks/witness/witness.c).

Models: the file `railyard-witness/1`, whose `mpi` and `ranks` are those of a benchmark's output. Leaves out: whether
the placement was obeyed; `railyard.records.assemble` compares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from railyard.applications.reading import UnreadableError
from railyard.base.errors import InputError
from railyard.records import json_io
from railyard.records.json_io import Json

FORMAT = "railyard-witness/1"


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


def load(path: Path) -> Witness:
    """Return the witness in a file; raises InputError if the file is missing or something else."""
    if not path.is_file():
        raise UnreadableError(path.name, "witness", "the program never started MPI (built without it?)")
    document = json_io.read(path)
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise InputError(path.name, "format", _format(document), FORMAT)
    mpi = document.get("mpi")
    if not isinstance(mpi, Mapping) or type(mpi.get("ranks")) is not int or "ranks" not in document:
        raise InputError(
            path.name, "mpi.ranks", problem="missing", valid="the whole file of railyard-witness"
        )
    threads = document.get("openmp_threads")
    return Witness(mpi=mpi, ranks=document["ranks"], openmp_threads=threads)


def _format(document: Json) -> Json:
    return document.get("format") if isinstance(document, Mapping) else document
