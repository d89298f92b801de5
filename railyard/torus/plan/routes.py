"""The routing table of each router, as prefixes and the links that they leave by.

The usual routes are `placements.routing`'s, gathered into as few prefixes as the addresses allow; round dead links
come the exceptions of `placements.detours`, each with a longer prefix than the route it overrides.

A rail carries packets for a node's addresses on every rail, each as it carries those for its own: whichever NIC sends
a packet decides its rail, whichever address it goes to.
"""

from __future__ import annotations

from collections.abc import Mapping

from placements.topology.base import Link, Router, Topology
from placements.topology.detours import Destination, Detours
from placements.topology.fattree import FatTree
from placements.topology.routing import step
from placements.topology.torus import Torus
from railyard.torus.plan import addresses

Table = Mapping[str, Link]


def table(topology: Topology, router: Router, detours: Detours) -> Table:
    """Prefix -> link, of one router."""
    found: dict[str, Link] = {}
    for rail in range(topology.rails):
        found |= _usual(topology, router, rail)
        for (at, destination), link in detours.items():
            if at == router:
                found[addresses.prefix(topology, destination, rail)] = link
    return found


def _usual(topology: Topology, router: Router, rail: int) -> Table:
    """To the addresses of one rail."""
    if isinstance(topology, FatTree):
        return _down(topology, router, rail) if router.level else _up(topology, router, rail)
    assert isinstance(topology, Torus)
    return _dimension_order(topology, router, rail)


def _up(tree: FatTree, leaf: Router, rail: int) -> Table:
    return {f"10.{64 * rail + spine}.0.0/16": tree.link(leaf, spine) for spine in range(tree.spines)}


def _down(tree: FatTree, spine: Router, rail: int) -> Table:
    """To every leaf for every group of slots: after a detour a spine serves others than its own."""
    return {
        addresses.prefix(tree, Destination(coordinate=(leaf, 0, 0), group=group), rail): tree.link(
            spine, leaf
        )
        for leaf in range(tree.leaves)
        for group in range(tree.spines)
    }


def _dimension_order(torus: Torus, router: Router, rail: int) -> Table:
    """One prefix for each other X, each other Y at this X, each other Z at this X and Y."""
    x, y, _ = router.coordinate
    first = 64 * rail
    found = {}
    for dimension, extent in enumerate(torus.extents):
        for target in range(extent):
            if direction := step(router.coordinate[dimension], target, extent):
                prefix = (
                    f"10.{first + target}.0.0/16",
                    f"10.{first + x}.{target}.0/24",
                    f"10.{first + x}.{y}.{8 * target}/29",
                )[dimension]
                found[prefix] = torus.link(router, dimension, direction)
    return found
