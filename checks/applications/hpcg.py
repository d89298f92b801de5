"""HPCG, conjugate gradients with a multigrid preconditioner: its rating under placements and NIC policies."""

from __future__ import annotations

import reframe as rfm

from checks.application import MiniAppCheck, with_poster_policies


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


@rfm.simple_test
class hpcg_weak(HpcgCheck):
    """Weak scaling: the work per rank is fixed."""


@rfm.simple_test
@with_poster_policies
class hpcg_multirail(HpcgCheck):
    """NIC policies of LLNL's multirail poster, two ranks per node."""
