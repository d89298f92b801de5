"""Transfers on parallel paths along one dimension: Peña et al., EuroMPI'13, Figure 4."""

from __future__ import annotations

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.builtins import variable

from checks.base import REAL, SWEEP, WindowCheck


class PathsCheck(WindowCheck):
    """Pairs of nodes on parallel lines transfer at the same time; all other ranks sleep."""

    descr = "Aggregate bandwidth of parallel paths by dimension and hops"
    benchmark = "paths"
    needs_coordinates = True
    placements = ["cart-create"]
    allocation = "contiguous"
    rate_scale = "auto*20"  # few pairs at a time

    #: Numbers of pairs that transfer at the same time.
    paths = variable(typ.List[int], value=[1, 2])

    small = {"sizes": [1 << 16], "repeats": 3, "window": 2}
    standard = {"sizes": SWEEP, "repeats": 20, "window": 64}
    large = {"repeats": 100}

    case_of = {"paths": "paths", "sizes_bytes": "sizes", "window": "window", "repeats": "repeats"}


@rfm.simple_test
class paths_parallel(PathsCheck):
    """Two parallel paths: both nodes of a router along X and Z, adjacent rows along Y; up to 2 hops."""

    studies = ["pena2013"]
    torus = "gemini-4x4x4-two-nodes"
    block = [3, 3, 3]
    launches = 1


@rfm.simple_test
class paths_paper(PathsCheck):
    """Figure 4 at the paper's size, on a block of Blue Waters: simulated or measured."""

    valid_systems = ["+torus +simulated", REAL]
    studies = ["pena2013"]
    torus = "blue-waters"
    block = [7, 4, 7]
    launches = 1
    small = {"sizes": [1 << 20], "window": 16, "repeats": 1}
    standard = {"sizes": [1 << 20], "repeats": 50, "launches": 6}


@rfm.simple_test
class paths_smoke(PathsCheck):
    """Smoke test: runs everything in seconds, with too few launches for a result."""

    tags = {"smoke"}
    block = [2, 2, 2]
    small = {"sizes": [1 << 13]}
    launches = 1
