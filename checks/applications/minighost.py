"""MiniGhost, a boundary-exchange mini-application: under placements and NIC policies (Pedretti et al., CUG'13)."""

from __future__ import annotations

import reframe as rfm
from reframe.core.builtins import run_after, variable

from checks.application import MiniAppCheck, variants


@variants("weak", "strong", "profile", "faults", poster=["multirail"])
class MinighostCheck(MiniAppCheck):
    """A 27-point stencil that sends the messages of all variables together, as in the paper; heat must be conserved."""

    descr = "MiniGhost: difference stencil of 27 points with boundary exchange"
    benchmark = "minighost"
    program = "miniGhost.x"
    package = "minighost"
    leaves = "results.yaml"

    #: Edge of each rank's block in points.
    sizes = {
        "weak": {"laptop": 12, "ci": 12, "node": 100, "rack": 100},
        "strong": {"laptop": 18, "ci": 12, "node": 200, "rack": 100},
    }

    #: Variables that each point has.
    stencil_variables = variable(int, value=4)

    #: Time steps.
    steps = variable(int, value=10)

    @run_after("setup")
    def choose_options(self) -> None:
        self.parameters = {**self.parameters, "variables": self.stencil_variables, "steps": self.steps}
        z, y, x = map(str, self.grid)
        self.options = [
            *("--scaling", "2"),  # sizes are a rank's, whatever the scaling
            *("--ndim", str(self.size)),
            *("--npx", x, "--npy", y, "--npz", z),
            *("--stencil", "24"),
            *("--comm_method", "10"),
            *("--num_vars", str(self.stencil_variables)),
            *("--num_tsteps", str(self.steps)),
            *("--error_tol", "4"),  # 1e-4, as in the program's own scripts for this stencil
        ]


@rfm.simple_test
class minighost_stalls(MinighostCheck):
    """Pedretti et al., CUG'13, Figures 6 and 7: rows, blocks and random order, with the bytes and stalls of routers.

    The virtual torus alone counts stalls, on the network `router`, whose buffers are finite. Eight ranks per node, for
    the paper's sixteen: as a row of the grid, as 2x2x2, and at random.
    """

    studies = ["pedretti2013"]
    valid_systems = ["+torus %origin=emulated"]
    torus = "gemini-3x3x3"
    network = "router"
    rate_scale = "0.00001"  # a third of what `auto` takes on two cores, because the ranks compute, too
    allocation = "contiguous"
    placements = ["cart-create", "blocks:2x2x2", "random:1"]
    grid = [6, 6, 6]
    ranks_per_node = 8
    counted = True
    launches = 2
