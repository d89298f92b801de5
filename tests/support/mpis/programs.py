"""Build programs with one of the machine's MPIs, and run them under the witness that was built with it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from support.benchmark_runs import DEADLINE_S, ENVIRONMENT, MPIRUN, Outcome

from railyard.base.checkout import BUILD

NAMES = ("openmpi", "mpich")


class Mpi:
    """One MPI: its compilers and its launcher, and the benchmarks that were built with it.

    A test is skipped without the compiler or the benchmarks.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder, self.bin = name, folder, BUILD / f"benchmarks-{name}/bin"
        self.witness = self.bin / "railyard-witness"
        if not shutil.which(f"mpicc.{name}") or not self.witness.exists():
            pytest.skip(f"no mpicc.{name}, or no benchmarks for it; run: make test-tools setup")

    def built(self, source: Path, *options: str) -> Path:
        """Compile a source; a Fortran compiler that is missing skips the test."""
        wrapper = "mpif90" if source.suffix == ".F90" else "mpicc"
        if wrapper == "mpif90" and not shutil.which("gfortran"):
            pytest.skip("no gfortran here; run: make test-tools")
        program = self.folder / "-".join([source.name, self.name, *options]).replace("=", "-")
        words = [f"{wrapper}.{self.name}", "-w", "-o", str(program), str(source), *options]
        subprocess.run(words, check=True, capture_output=True)
        return program

    def run(self, ranks: int, *words: str | Path, **variables: str) -> Outcome:
        """Run a command on so many ranks."""
        launcher = MPIRUN if self.name == "openmpi" else [f"mpiexec.{self.name}"]
        command = [*launcher, "-n", str(ranks), *map(str, words)]
        env = ENVIRONMENT | variables
        done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, env=env, check=False)
        return Outcome(status=done.returncode, out=done.stdout, err=done.stderr)

    def witnessed(self, ranks: int, *words: str | Path, **variables: str) -> Outcome:
        """Run a command under the witness, which preloads what the variables ask for."""
        return self.run(ranks, self.witness, self.folder / "launch.witness", *words, **variables)
