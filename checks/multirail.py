"""NIC policies side by side on nodes with two NICs: LLNL's multirail poster, on the virtual cluster of its kind."""

from __future__ import annotations

import reframe as rfm

from checks.halo import HaloCheck


class MultirailCheck(HaloCheck):
    """Two ranks a node, one a socket; every policy of the poster, and stripes over both NICs."""

    descr = "Halo exchange under the NIC policies Default (round-robin), NIC-0, NIC-1, Local-NIC and stripe"
    torus = "dual-rail-small"
    allocation = "contiguous"
    placements = ["cart-create"]
    nics = ["round-robin", "nic-0", "nic-1", "local-nic", "stripe"]
    ranks_per_node = 2
    grid = [8, 4]
    cells = 16384
    repeats = 2


@rfm.simple_test
class multirail_halo(MultirailCheck):
    """The study: enough launches for a 95 % interval."""

    studies = ["llnl-multirail"]
    tags = {"multirail"}


@rfm.simple_test
class multirail_smoke(MultirailCheck):
    """The whole path in seconds; too few launches to compare policies."""

    tags = {"smoke"}
    nics = ["nic-1", "round-robin"]
    launches = 1
    cells = 2048
