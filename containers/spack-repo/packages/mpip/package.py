"""Spack's own recipe of mpiP with the commit whose histogram of collectives has times."""

from spack.package import *

try:
    from spack_repo.builtin.packages.mpip.package import Mpip as Builtin
except ImportError:  # Spack before 1.0
    from spack.pkg.builtin.mpip import Mpip as Builtin


class Mpip(Builtin):
    """A profiler of MPI, after release 3.5."""

    git = "https://github.com/LLNL/mpiP.git"

    version("3.5.20210820", commit="c22011bedd328f236c4041249e7c5e3fb9f9b961")
