"""HPCG, conjugate gradients with a multigrid preconditioner: its rating under placements and NIC policies."""

from __future__ import annotations

import reframe  # noqa: F401 - ReFrame loads files that import it

from checks.application import MiniAppCheck, variants


@variants("weak", "multirail")
class HpcgCheck(MiniAppCheck):
    """A Laplacian with 27 points on a box of cubes; HPCG itself must call the result valid."""

    descr = "HPCG: conjugate gradients with multigrid, by the rating of its own report"
    benchmark = "hpcg"
    program = "xhpcg"
    package = "hpcg"
    arguments = "--nx={size} --ny={size} --nz={size} --rt=1"
    leaves = "HPCG-Benchmark_*.txt"

    #: Edge of each rank's cube in points, a multiple of 8; HPCG chooses the grid of ranks.
    sizes = {"weak": {"laptop": 16, "ci": 16, "node": 104, "rack": 104}}
