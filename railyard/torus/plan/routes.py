"""Compute the routing table of each router: prefixes, and the links by which packets to them leave.

The routes are those of `Topology.prefixes`. Detours around dead links are exceptions, each with a prefix at least as
long as that of the route that it overrides.

A packet stays on the rail of the NIC that sends it, whichever of the destination's addresses it has. Therefore the
routers of each rail have routes to the addresses on all rails.
"""

from __future__ import annotations

from collections.abc import Mapping

from railyard.placements.topology.base import Detours, Link, Router, Topology
from railyard.torus.plan import addresses

Table = Mapping[str, Link]


def table(topology: Topology, router: Router, detours: Detours) -> Table:
    """Return the table of one router: IP prefix -> the link by which packets to it leave.

    `detours` are the exceptions around dead links, (router, destination) -> link.
    """
    blocks = dict(topology.prefixes(router))
    blocks |= {topology.block(end): link for (start, end), link in detours.items() if start == router}
    return {
        addresses.prefix(block, rail): link
        for rail in range(topology.rails)
        for block, link in blocks.items()
    }
