"""The routing table of each router, as prefixes and the links that they leave by.

The usual routes are `Topology.prefixes`; round dead links come the exceptions of `Topology.detours`, each with a prefix
at least as long as that of the route it overrides.

A rail carries packets for a node's addresses on every rail, each as it carries those for its own: whichever NIC sends
a packet decides its rail, whichever address it goes to.
"""

from __future__ import annotations

from collections.abc import Mapping

from placements.topology.base import Detours, Link, Router, Topology
from railyard.torus.plan import addresses

Table = Mapping[str, Link]


def table(topology: Topology, router: Router, detours: Detours) -> Table:
    """Return the table of one router: prefix -> link."""
    blocks = dict(topology.prefixes(router))
    blocks |= {topology.block(end): link for (at, end), link in detours.items() if at == router}
    return {
        addresses.prefix(block, rail): link
        for rail in range(topology.rails)
        for block, link in blocks.items()
    }
