"""List the MPIs of this machine, those of `make mpis` included."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from railyard.base.checkout import BUILD

MPIS = BUILD / "mpis"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mpi:
    """An MPI of this machine: its launcher, its compiler, and benchmarks that were built with it or have its ABI.

    `feature` names it in an environment of ReFrame's configuration.

    An MPI with `hangs` may hang in MPI_Finalize, after its results were written: MPICH before 4.2 over UCX
    (docs/torus.md).
    """

    name: str
    feature: str
    launcher: str
    program: str
    build: str
    compiler: str
    environment: Mapping[str, str] = field(default_factory=dict)
    remedy: str = "make mpis"
    hangs: bool = False

    @property
    def halo(self) -> Path:
        """Return the path of its benchmark `halo`."""
        return self.benchmark("halo")

    def benchmark(self, name: str) -> Path:
        """Return the path of a benchmark that was built with it."""
        return BUILD / f"benchmarks-{self.build}" / "bin" / name

    def absent(self) -> str:
        """Return why the MPI cannot be started here; empty if it can."""
        if not shutil.which(self.program):
            return f"no {Path(self.program).name} of {self.name}; run: {self.remedy}"
        return "" if self.halo.exists() else f"no benchmarks built for {self.name}; run: {self.remedy}"


def _intel() -> Mapping[str, str]:
    library = MPIS / "impi/lib"
    return {
        "I_MPI_ROOT": str(MPIS / "impi"),
        "LD_LIBRARY_PATH": f"{library}:{library}/libfabric",
        "FI_PROVIDER_PATH": f"{library}/libfabric/prov",
    }


INSTALLED = (
    Mpi(
        name="openmpi 4",
        feature="openmpi",
        launcher="openmpi4",
        program="mpirun.openmpi",
        build="openmpi",
        compiler="mpicc.openmpi",
        remedy="make setup",
    ),
    Mpi(
        name="openmpi 5",
        feature="openmpi5",
        launcher="openmpi5",
        program=f"{MPIS}/openmpi5/bin/mpirun",
        build="openmpi5",
        compiler=f"{MPIS}/bin/mpicc.openmpi5",
    ),
    Mpi(
        name="mpich 4",
        feature="mpich",
        launcher="mpich",
        program="mpiexec.mpich",
        build="mpich",
        compiler="mpicc.mpich",
        remedy="make mpich",
        hangs=True,
    ),
    Mpi(
        name="mpich 5",
        feature="mpich",
        launcher="mpich",
        program=f"{MPIS}/mpich5/bin/mpiexec",
        build="mpich5",
        compiler=f"{MPIS}/bin/mpicc.mpich5",
    ),
    Mpi(
        name="intel 2021",
        feature="intel-mpi",
        launcher="intel-mpi",
        program=f"{MPIS}/impi/bin/mpiexec.hydra",
        build="mpich5",
        compiler=f"{MPIS}/bin/mpicc.mpich5",
        environment=_intel(),
    ),
)
