"""Spack's recipe of HPCG by a pinned commit, without threads, so that it needs no patch of Spack's own recipe."""

from contextlib import suppress

from spack.package import *

with suppress(ImportError):  # Spack 1.x has the build systems with its recipes
    from spack_repo.builtin.build_systems.makefile import MakefilePackage


class Hpcg(MakefilePackage):
    """High Performance Conjugate Gradients, one thread per rank."""

    homepage = "https://www.hpcg-benchmark.org"
    git = "https://github.com/hpcg-benchmark/hpcg.git"

    license("BSD-3-Clause")

    version("3.1", tag="HPCG-release-3-1-0", commit="e3fe052b572b5e512a826769834582fc1939389c")

    depends_on("cxx", type="build")
    depends_on("mpi")

    def edit(self, spec, prefix):
        with working_dir("build", create=True):
            Executable("../configure")("Linux_MPI")

    def build(self, spec, prefix):
        flags = "-O3 -ffast-math -DHPCG_NO_OPENMP"
        with working_dir("build"):
            make(f"CXX={spec['mpi'].mpicxx}", f"CXXFLAGS={flags}", "LINKFLAGS=-O3")

    def install(self, spec, prefix):
        mkdirp(prefix.bin)
        install("build/bin/xhpcg", prefix.bin)
