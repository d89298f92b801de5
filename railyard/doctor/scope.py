"""Write the configuration scope with which Spack builds against an MPI that doctor found (containers/host-mpi)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from railyard.base.checkout import CHECKOUT
from railyard.base.errors import InputError, RunError
from railyard.doctor.inventory import Mpi


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Names of an MPI: that of containers/host-mpi scope, and that of the builds' variable MPI."""

    family: str
    build: str


#: MPI of doctor -> its names. Programs for Cray MPICH are built as those of MPICH, whose ABI it has.
KNOWN: Mapping[str, Names] = {
    "openmpi": Names(family="openmpi", build="openmpi"),
    "openmpi5": Names(family="openmpi", build="openmpi5"),
    "mpich": Names(family="mpich", build="mpich"),
    "cray-mpich": Names(family="cray-mpich", build="mpich"),
}


def write(folder: Path, mpis: Sequence[Mpi]) -> str:
    """Write the scope of the first MPI that Spack's recipes know; return the command that builds with it."""
    chosen = next((mpi for mpi in mpis if mpi.name in KNOWN), None)
    if chosen is None:
        has = ", ".join(f"{mpi.name} {mpi.version}" for mpi in mpis) or "no MPI"
        raise InputError("--spack-scope", "", problem=f"{has} is here", valid=f"one of {', '.join(KNOWN)}")
    names = KNOWN[chosen.name]
    command = [str(CHECKOUT / "containers/host-mpi"), "scope", str(folder), names.family]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RunError(f"--spack-scope: {done.stderr.strip()}")
    build = os.path.relpath(CHECKOUT / "containers/build-native")
    return f"{done.stdout.strip()}; run: SCOPE={folder} MPI={names.build} {build}"
