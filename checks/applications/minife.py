"""miniFE, an implicit finite-element mini-application: Mflop/s of its solver under placements and NIC policies."""

from __future__ import annotations

from reframe.core.builtins import run_after

from checks.application import MiniAppCheck, variants


@variants("weak", "strong", "profile", "faults", poster=["multirail", "mpi_time", "hybrid"])
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
