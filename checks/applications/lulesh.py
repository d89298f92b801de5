"""LULESH, a hydrodynamics mini-application of the CORAL suite: zones per second under placements and NIC policies."""

from __future__ import annotations

import reframe as rfm
from reframe.core.builtins import run_after, variable

from checks.application import MiniAppCheck, profiled, timed_by_policy, with_poster_policies, with_threads


class LuleshCheck(MiniAppCheck):
    """The Sedov blast on a cube of domains; its final energy is verified where it runs to the end."""

    descr = "LULESH: Sedov blast wave on a cube of domains"
    benchmark = "lulesh"
    program = "lulesh2.0"
    package = "lulesh"

    #: Edge of each rank's domain in zones.
    sizes = {
        "weak": {"laptop": 5, "ci": 5, "node": 30, "rack": 30},
        "strong": {"laptop": 15, "ci": 10, "node": 60, "rack": 30},
    }

    #: Iterations; 0 for as many as the problem takes.
    #:
    #: :type: :class:`int`
    #: :default: ``0``
    iterations = variable(int, value=0)

    @run_after("setup")
    def choose_options(self) -> None:
        self.parameters = {**self.parameters, "iterations": self.iterations}
        self.options = ["-s", str(self.size), *(["-i", str(self.iterations)] if self.iterations else [])]


@rfm.simple_test
class lulesh_weak(LuleshCheck):
    """Weak scaling: the domain of a rank is fixed."""


@rfm.simple_test
class lulesh_strong(LuleshCheck):
    """Strong scaling: the mesh is fixed. Few iterations, because links are slow."""

    scaling = "strong"
    iterations = 20


@rfm.simple_test
@with_poster_policies
class lulesh_multirail(LuleshCheck):
    """NIC policies of LLNL's multirail poster, two ranks per node."""

    studies = ["llnl-multirail"]


@rfm.simple_test
@profiled
class lulesh_profile(LuleshCheck):
    """Share of time in MPI and sizes of messages, by mpiP."""


@rfm.simple_test
@timed_by_policy
class lulesh_mpi_time(LuleshCheck):
    """Time in MPI under the NIC policies of LLNL's multirail poster, by mpiP in every launch."""

    studies = ["llnl-multirail"]


@rfm.simple_test
@with_threads
class lulesh_hybrid(LuleshCheck):
    """MPI with OpenMP: two threads per rank, for a program that is built with OpenMP."""

    studies = ["llnl-multirail"]
