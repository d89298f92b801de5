"""AMG and AMG2023, algebraic multigrid of the CORAL suite: non-zeros per second under placements and NIC policies."""

from __future__ import annotations

import reframe  # noqa: F401 - ReFrame loads files that import it

from checks.application import MiniAppCheck, variants


@variants("weak", "strong", "profile", "faults", poster=["multirail", "mpi_time", "hybrid"])
class AmgCheck(MiniAppCheck):
    """A Laplacian with 27 points on a cube of cubes, solved by conjugate gradients with multigrid; it must converge."""

    descr = "AMG: algebraic multigrid on a Laplacian of 27 points"
    benchmark = "amg"
    program = "amg"
    package = "amg2013"
    arguments = "-problem 1 -n {size} {size} {size} -P {x} {y} {z}"

    #: Edge of each rank's cube in points.
    sizes = {
        "weak": {"laptop": 8, "ci": 8, "node": 40, "rack": 40},
        "strong": {"laptop": 12, "ci": 8, "node": 80, "rack": 40},
    }


@variants("weak", "strong", "multirail")
class Amg2023Check(AmgCheck):
    """The same problem for AMG2023, which solves it by hypre."""

    descr = "AMG2023: algebraic multigrid by hypre on a Laplacian of 27 points"
    benchmark = "amg2023"
    program = "amg2023"
    package = "amg2023"
