"""Spack's recipe of UMT2013, LLNL's mini-application of radiation transport: the program of LLNL's multirail poster."""

import re
from contextlib import suppress
from pathlib import Path

from spack.package import *

with suppress(ImportError):  # Spack 1.x has the build systems with its recipes
    from spack_repo.builtin.build_systems.makefile import MakefilePackage

PARAMETERS = "Teton/transport/Teton/misc/mpi_param_mod.F90"
#: Sources that instantiate a template from outside its namespace, which GCC refuses, and that namespace.
INSTANCES = {
    "Teton/communication/DomainNeighborMapInst.cc": ("DomainNeighborMap", "Communication"),
    "Teton/geom/Region/RegionInst.cc": ("Region", "Geometry"),
}


class Umt(MakefilePackage):
    """Unstructured mesh transport: non-linear radiation transport by discrete ordinates, MPI and OpenMP."""

    homepage = "https://github.com/LLNL/UMT"
    git = "https://github.com/LLNL/UMT.git"

    license("MIT")

    version("2013", tag="v2.0", commit="17f7f7500625f1b2a08556469c1cfc9d5ea0f686")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build")
    depends_on("mpi")

    parallel = False  # its Makefiles name no order of Fortran modules across folders

    def edit(self, spec, prefix):
        """Mend what is of one machine: the MPI's constants of a Cray, and two templates that GCC refuses."""
        text = Path(PARAMETERS).read_text()
        whole = re.sub(r'(?ms)^# 1 "/opt/cray.*?^# 22 [^\n]*\n', "  include 'mpif.h'\n", text)
        Path(PARAMETERS).write_text(re.sub(r"(?m)^# \d+.*\n", "", whole))
        for name, (template, namespace) in INSTANCES.items():
            filter_file(rf"template class {template}", f"template class {namespace}::{template}", name)
        copy(str(Path(__file__).parent / "make.defs"), "make.defs")

    @property
    def build_targets(self):
        mpi = self.spec["mpi"]
        return [f"MPICC={mpi.mpicc}", f"MPICXX={mpi.mpicxx}", f"MPIFC={mpi.mpifc}", f"PREFIX={self.prefix}"]

    def build(self, spec, prefix):
        make(*self.build_targets)
        with working_dir("Teton"):
            make("SuOlsonTest", *self.build_targets)

    def install(self, spec, prefix):
        mkdirp(prefix.bin, prefix.lib)
        install("Teton/SuOlsonTest", prefix.bin)
        for library in find(".", "lib*.so"):
            install(library, prefix.lib)
