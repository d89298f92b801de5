"""AMG and AMG2023, algebraic multigrid of the CORAL suite: non-zeros per second under placements and NIC policies."""

from __future__ import annotations

import reframe as rfm

from checks.application import MiniAppCheck, profiled, timed_by_policy, with_poster_policies, with_threads


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


@rfm.simple_test
class amg_weak(AmgCheck):
    """Weak scaling: the work per rank is fixed."""


@rfm.simple_test
class amg_strong(AmgCheck):
    """Strong scaling: the work of all ranks together is fixed."""

    scaling = "strong"


@rfm.simple_test
@with_poster_policies
class amg_multirail(AmgCheck):
    """NIC policies of LLNL's multirail poster, two ranks per node."""

    studies = ["llnl-multirail"]


@rfm.simple_test
@profiled
class amg_profile(AmgCheck):
    """Share of time in MPI and sizes of messages, by mpiP."""


@rfm.simple_test
@timed_by_policy
class amg_mpi_time(AmgCheck):
    """Time in MPI under the NIC policies of LLNL's multirail poster, by mpiP in every launch."""

    studies = ["llnl-multirail"]


@rfm.simple_test
@with_threads
class amg_hybrid(AmgCheck):
    """MPI with OpenMP: two threads per rank, for a program that is built with OpenMP."""

    studies = ["llnl-multirail"]


class Amg2023Check(AmgCheck):
    """The same problem for AMG2023, which solves it by hypre."""

    descr = "AMG2023: algebraic multigrid by hypre on a Laplacian of 27 points"
    benchmark = "amg2023"
    program = "amg2023"
    package = "amg2023"


@rfm.simple_test
class amg2023_weak(Amg2023Check):
    """Weak scaling: the work per rank is fixed."""


@rfm.simple_test
class amg2023_strong(Amg2023Check):
    """Strong scaling: the work of all ranks together is fixed."""

    scaling = "strong"


@rfm.simple_test
@with_poster_policies
class amg2023_multirail(Amg2023Check):
    """NIC policies of LLNL's multirail poster, two ranks per node."""
