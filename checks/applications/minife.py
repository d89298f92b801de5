"""miniFE, an implicit finite-element mini-application: Mflop/s of its solver under placements and NIC policies."""

from __future__ import annotations

import reframe as rfm
from reframe.core.builtins import run_after

from checks.application import MiniAppCheck, profiled, timed_by_policy, with_poster_policies, with_threads


class MinifeCheck(MiniAppCheck):
    """Conjugate gradients on a cube of hexahedra, the solution compared with the analytic one."""

    descr = "miniFE: conjugate gradients on a cube of finite elements"
    benchmark = "minife"
    program = "miniFE.x"
    package = "minife"
    without_openmp = "build=ref"
    leaves = "miniFE.*.yaml"

    #: Elements of the whole cube along each edge for each rank along it (weak: the edge is that times the ranks').
    sizes = {
        "weak": {"laptop": 8, "ci": 8, "node": 60, "rack": 60},
        "strong": {"laptop": 12, "ci": 8, "node": 120, "rack": 60},
    }

    @run_after("setup")
    def choose_options(self) -> None:
        z, y, x = (self.size * ranks for ranks in self.grid)
        self.options = [f"nx={x}", f"ny={y}", f"nz={z}", "verify_solution=1"]


@rfm.simple_test
class minife_weak(MinifeCheck):
    """Weak scaling: the work per rank is fixed."""


@rfm.simple_test
class minife_strong(MinifeCheck):
    """Strong scaling: the work of all ranks together is fixed."""

    scaling = "strong"


@rfm.simple_test
@with_poster_policies
class minife_multirail(MinifeCheck):
    """NIC policies of LLNL's multirail poster, two ranks per node."""

    studies = ["llnl-multirail"]


@rfm.simple_test
@profiled
class minife_profile(MinifeCheck):
    """Share of time in MPI and sizes of messages, by mpiP."""


@rfm.simple_test
@timed_by_policy
class minife_mpi_time(MinifeCheck):
    """Time in MPI under the NIC policies of LLNL's multirail poster, by mpiP in every launch."""

    studies = ["llnl-multirail"]


@rfm.simple_test
@with_threads
class minife_hybrid(MinifeCheck):
    """MPI with OpenMP: two threads per rank, for a program that is built with OpenMP."""

    studies = ["llnl-multirail"]
