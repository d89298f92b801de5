"""List the MPIs of this machine, those of `make mpis` included, and write a job script that launches under several.

Models: each MPI with a stage directory of its own below the job's (`write_launcher`), and rounds in which each is
launched once, in a new random order, so that drift of the machine affects all alike (`script`). Leaves out what the
launches are (`railyard.jobs.submission`), and real machines, whose MPIs are modules.
"""

from __future__ import annotations

import random
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from railyard.base.checkout import BUILD
from railyard.base.errors import InputError

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
    def environment_name(self) -> str:
        """Return the name of its environment in records: its own without a blank."""
        return self.name.replace(" ", "")

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


#: The folder below an MPI's stage directory with its launcher under the names that a launch may have.
LAUNCHERS = "bin"
LAUNCHER_NAMES = ("mpirun", "mpiexec")


def chosen(check: str, names: Sequence[str]) -> tuple[list[Mpi], list[str]]:
    """Return the installed MPIs with these environment names, and for each other one the reason, in one line.

    Without names, all MPIs that do not hang. Raises InputError for a name that no MPI has.
    """
    by_name = {mpi.environment_name: mpi for mpi in INSTALLED}
    if unknown := [name for name in names if name not in by_name]:
        raise InputError(check, "mpis", ", ".join(unknown), ", ".join(by_name))
    wanted = [by_name[name] for name in names] or [mpi for mpi in INSTALLED if not mpi.hangs]
    return [mpi for mpi in wanted if not mpi.absent()], [why for mpi in wanted if (why := mpi.absent())]


def write_launcher(folder: Path, mpi: Mpi) -> None:
    """Write scripts `mpirun` and `mpiexec` into an MPI's stage directory, which launch on the job's virtual torus."""
    place = folder / LAUNCHERS
    place.mkdir(parents=True, exist_ok=True)
    program = shutil.which(mpi.program) or mpi.program
    text = f'#!/bin/sh\nexec railyard torus launch "$RAILYARD_TORUS" {shlex.quote(program)} -- "$@"\n'
    for name in LAUNCHER_NAMES:
        (place / name).write_text(text)
        (place / name).chmod(0o755)


def within(folder: str, mpi: Mpi, lines: Sequence[str]) -> list[str]:
    """Return lines of a job script, wrapped to run in an MPI's stage directory with its PATH and its variables."""
    programs = shlex.quote(str(mpi.halo.parent))
    exports = [f"export {name}={shlex.quote(value)}" for name, value in mpi.environment.items()]
    path = f'export PATH="$PWD/{LAUNCHERS}":{programs}:"$PATH"'
    return ["(", f"cd {shlex.quote(folder)} || exit 1", path, *exports, *lines, ")"]


def script(lines: Mapping[str, Sequence[Sequence[str]]], mpis: Sequence[Mpi], seed: int) -> list[str]:
    """Return the lines of one job script for all MPIs, in rounds of random order drawn from `seed`.

    `lines` maps an environment's name to the lines of each launch.
    """
    order = random.Random(seed)
    rounds = max(map(len, lines.values()))
    return [
        line
        for number in range(rounds)
        for mpi in order.sample(list(mpis), len(mpis))
        for line in within(mpi.environment_name, mpi, lines[mpi.environment_name][number])
    ]
