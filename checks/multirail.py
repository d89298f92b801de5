"""NIC policies side by side on nodes with two NICs: LLNL's multirail poster, on the virtual cluster of its kind."""

from __future__ import annotations

import reframe as rfm

from checks.base import POSTER
from checks.contention import ContentionCheck
from checks.halo import HaloCheck


class MultirailCheck(HaloCheck):
    """A halo exchange with two ranks per node, one per socket, under the NIC policies of LLNL's poster, and striped."""

    descr = "Halo exchange under the NIC policies Default (round-robin), NIC-0, NIC-1, Local-NIC and stripe"
    torus = "dual-rail-small"
    allocation = "contiguous"
    placements = ["cart-create"]
    nics = [*POSTER, "stripe"]
    ranks_per_node = 2
    grid = [8, 4]
    small = {"cells": 16384, "repeats": 2}
    standard = {"cells": 65536}


@rfm.simple_test
class multirail_halo(MultirailCheck):
    """All policies, with enough launches for a 95 % interval."""

    studies = ["llnl-multirail"]
    tags = {"multirail"}


@rfm.simple_test
class multirail_rails(MultirailCheck):
    """Nodes with eight NICs in one network, a rank for each: all NICs by rank, by socket and in turn, and one alone."""

    descr = "Halo exchange on a rail-optimised network under the NIC policies that follow rails"
    tags = {"multirail"}
    torus = "rail-pod-small"
    nics = ["one-per-rank", "nearest", "round-robin", "nic-0"]
    ranks_per_node = 8
    grid = [4, 8]
    launches = 4
    small = {"cells": 4096, "repeats": 2}


@rfm.simple_test
class multirail_contention(ContentionCheck):
    """The high-contention case of LLNL's multirail poster: four pairs per node between the halves of the machine."""

    descr = "Pairs between two groups of nodes at once under the NIC policies Default, NIC-0, NIC-1, Local-NIC"
    studies = ["llnl-multirail"]
    tags = {"multirail"}
    torus = "dual-rail-small"
    ranks_per_node = 4
    nics = POSTER
    pairs = [4]
    small = {"window": 1, "sizes": [1 << 15], "repeats": 3}


@rfm.simple_test
class catalyst_halo(MultirailCheck):
    """The machine of LLNL's multirail poster: 256 nodes of Catalyst with two ranks per node, simulated."""

    studies = ["llnl-multirail"]
    tags = {"multirail"}
    valid_systems = ["+torus +simulated"]
    torus = "catalyst-dual-rail"
    nics = POSTER
    grid = [32, 16]
    small = {"cells": 4096, "repeats": 1, "warmups": 0, "face_memory": 8 * 8 * 4096}


@rfm.simple_test
class catalyst_contention(ContentionCheck):
    """The high-contention case of LLNL's multirail poster: 256 nodes of Catalyst, two pairs per node, simulated."""

    studies = ["llnl-multirail"]
    tags = {"multirail"}
    valid_systems = ["+torus +simulated"]
    torus = "catalyst-dual-rail"
    ranks_per_node = 2
    nics = POSTER
    pairs = [2]
    grid = [512]
    small = {"window": 1, "sizes": [1 << 15], "repeats": 1}
    least_s = 0.0


@rfm.simple_test
class multirail_smoke(MultirailCheck):
    """Smoke test: runs everything in seconds, with too few launches to compare policies."""

    tags = {"smoke"}
    nics = ["nic-1", "round-robin"]
    grid = [4, 4]  # half of the nodes, because a launch on sixteen containers takes longest
    launches = 1
    small = {"cells": 1024}
