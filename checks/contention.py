"""Pairs between two groups of nodes, all at once: the high-contention case of the LLNL poster on multirail networks."""

from __future__ import annotations

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.builtins import variable

from checks.base import SWEEP, WindowCheck
from railyard.records.programs.pairs import LEAST_S


class ContentionCheck(WindowCheck):
    """Transfers between two groups of nodes, with several ranks per node, each with a partner in the other group."""

    descr = "Latency and bandwidth of many pairs between two groups of nodes at once"
    benchmark = "contention"
    placements = ["cart-create"]
    allocation = "contiguous"
    ranks_per_node = 2

    #: Pairs per node at the same time.
    pairs = variable(typ.List[int], value=[1, 2])

    #: Least seconds of each point at the scale `small`, reached by longer samples of small messages. A short sample
    #: would end before all pairs have begun, and would measure no contention.
    #: :default: ``3``
    least_s = variable(float, value=LEAST_S)

    small = {"sizes": [8, 1 << 16], "repeats": 5, "window": 2}
    standard = {"sizes": SWEEP, "repeats": 20, "window": 64}
    large = {"repeats": 100}

    case_of = {"pairs_per_node": "pairs", "sizes_bytes": "sizes", "window": "window", "repeats": "repeats"}
    case_unless = {"least_s": LEAST_S}


@rfm.simple_test
class contention_pairs(ContentionCheck):
    """16 nodes with two rails and four ranks each, so that NIC policies differ."""

    studies = ["llnl-multirail"]
    torus = "dual-rail-small"
    ranks_per_node = 4
    pairs = [1, 2, 4]
    small = {"sizes": [8, 1 << 15], "window": 1, "repeats": 3}
    launches = 2


@rfm.simple_test
class contention_router(ContentionCheck):
    """Transfers between the two nodes of one router, over no link between routers: Ezell, CUG'13, Figure 6, Y+GS."""

    valid_systems = ["+torus +simulated"]
    studies = ["ezell2013"]
    torus = "gemini-4x4x4-two-nodes"
    block = [1, 1, 1]
    ranks_per_node = 1
    pairs = [1]
    small = {"sizes": [1 << 22], "window": 16, "repeats": 1}
    least_s = 0.0
    launches = 1


@rfm.simple_test
class contention_smoke(ContentionCheck):
    """Smoke test: runs everything in seconds, with too few launches for a result."""

    tags = {"smoke"}
    block = [2, 2, 2]
    ranks_per_node = 1
    pairs = [1]
    small = {"sizes": [1 << 8], "repeats": 3}
    least_s = 0.05
    launches = 1
