"""Spack's recipe of railyard's own benchmarks, built from the last commit of the checkout that this file is in."""

from contextlib import suppress
from pathlib import Path

from spack.package import *

with suppress(ImportError):  # Spack 1.x has the build systems with its recipes
    from spack_repo.builtin.build_systems.cmake import CMakePackage


class RailyardBenchmarks(CMakePackage):
    """MPI benchmarks of interconnects, the counters library, and a witness for programs that are not railyard's."""

    git = Path(__file__).resolve().parents[4].as_uri()

    license("BSD-3-Clause")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("mpi@3:")

    def cmake_args(self):
        return [self.define("MPI_C_COMPILER", self.spec["mpi"].mpicc)]
