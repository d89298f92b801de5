"""LULESH, a hydrodynamics mini-application of the CORAL suite: zones per second under placements and NIC policies."""

from __future__ import annotations

import reframe as rfm
from reframe.core.builtins import run_after, variable

from checks.application import MiniAppCheck, variants


@variants("profile", "faults", poster=["multirail", "mpi_time", "hybrid"])
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
