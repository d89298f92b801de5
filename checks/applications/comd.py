"""CoMD, classical molecular dynamics: the time of its steps under placements and NIC policies."""

from __future__ import annotations

from reframe.core.builtins import run_after

from checks.application import MiniAppCheck, variants
from railyard.applications.patterns import Figure, Limit, Patterns
from railyard.applications.reading import NUMBER


@variants("weak", "strong", "multirail")
class ComdCheck(MiniAppCheck):
    """Atoms of copper in cells of a cube, 20 steps; none may be lost, and their energy must stay."""

    descr = "CoMD: molecular dynamics with short-range forces on a cube of boxes"
    benchmark = "comd"
    program = "CoMD-mpi"
    package = "comd"
    leaves = "CoMD-mpi.*.yaml"
    output = Patterns(
        program="CoMD",
        version="1.1",
        figures={"loop_s": Figure(pattern=rf"loop +\d+: +(?:\S+) +\d+: +{NUMBER} +\S+ +\S+", unit="s", better="lower")},
        ranks=r"Timing Statistics Across (\d+) Ranks:",
        verified=r"  Final atom count : \d+, no atoms lost",
        limits={"final over initial energy": Limit(pattern=rf"  eFinal/eInitial : {NUMBER}", at_most=1.001)},
    )

    #: Unit cells of the whole cube along each edge for each rank along it (weak), and of all ranks (strong).
    sizes = {
        "weak": {"laptop": 6, "ci": 6, "node": 20, "rack": 20},
        "strong": {"laptop": 12, "ci": 18, "node": 80, "rack": 160},
    }

    @run_after("setup")
    def choose_options(self) -> None:
        z, y, x = self.grid
        edges = [self.size * (1 if self.scaling == "strong" else ranks) for ranks in (x, y, z)]
        words = zip("ijkxyz", (x, y, z, *edges), strict=True)
        self.options = [*(word for name, value in words for word in (f"-{name}", str(value))), "-N", "20", "-n", "20"]
