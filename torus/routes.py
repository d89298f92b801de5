"""The routing table of each router, as prefixes and the links that they leave by.

The usual routes are `placements.routing`'s, gathered into as few prefixes as the addresses allow; round dead links
come the exceptions of `placements.detours`, each with a longer prefix than the route it overrides.
"""

from __future__ import annotations

from collections.abc import Mapping

from placements.detours import Destination, Detours
from placements.routing import step
from placements.topology import FatTree, Link, Router, Topology, Torus
from torus import addresses

Table = Mapping[str, Link]


def table(topology: Topology, router: Router, detours: Detours) -> Table:
    """Prefix -> link, of one router."""
    exceptions = {
        addresses.prefix(topology, destination, router.rail): link
        for (at, destination), link in detours.items()
        if at == router
    }
    return {**_usual(topology, router), **exceptions}


def _usual(topology: Topology, router: Router) -> Table:
    if isinstance(topology, FatTree):
        return _down(topology, router) if router.level else _up(topology, router)
    assert isinstance(topology, Torus)
    return _dimension_order(topology, router)


def _up(tree: FatTree, leaf: Router) -> Table:
    return {f"10.{64 * leaf.rail + spine}.0.0/16": tree.link(leaf, spine) for spine in range(tree.spines)}


def _down(tree: FatTree, spine: Router) -> Table:
    """To every leaf for every group of slots: after a detour a spine serves others than its own."""
    return {
        addresses.prefix(tree, Destination(coordinate=(leaf, 0, 0), group=group), spine.rail): tree.link(
            spine, leaf
        )
        for leaf in range(tree.leaves)
        for group in range(tree.spines)
    }


def _dimension_order(torus: Torus, router: Router) -> Table:
    """One prefix for each other X, each other Y at this X, each other Z at this X and Y."""
    x, y, _ = router.coordinate
    first = 64 * router.rail
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
