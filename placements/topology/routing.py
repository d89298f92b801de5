"""Routes: dimension order on a torus (X, then Y, then Z, the shortest way round in each), up and down in a fat tree.

Tie rule: a destination exactly half-way round an even dimension is reached in the plus direction from an even
coordinate and in the minus direction from an odd one, so that ties load both directions alike. After the first step of
a tie the rest is no tie, so every router can decide alone: `step` is the whole routing function.

Leaves out adaptive routing; what happens round broken links is in `detours`.
"""

from __future__ import annotations

from placements.topology.base import Coordinate, Link, Router, Topology
from placements.topology.fattree import FatTree
from placements.topology.torus import Torus, hops

__all__ = ["hops", "mean_hops", "route", "step"]


def step(position: int, destination: int, extent: int) -> int:
    """Which way along one dimension from `position` to `destination`: +1, -1, or 0 when already there."""
    ahead = (destination - position) % extent
    if ahead == 0:
        return 0
    if 2 * ahead == extent:
        return 1 if position % 2 == 0 else -1
    return 1 if 2 * ahead < extent else -1


def route(
    topology: Topology, source: Coordinate, destination: Coordinate, rail: int = 0, slot: int = 0
) -> list[Link]:
    """The links from a router to the router of the destination, in order; empty for a router and itself.

    `slot` is the destination node's; only in a fat tree does it decide anything.
    """
    if isinstance(topology, FatTree):
        return _up_and_down(topology, source, destination, rail, slot)
    assert isinstance(topology, Torus)
    links: list[Link] = []
    here = Router(coordinate=source, rail=rail)
    for dimension, extent in enumerate(topology.extents):
        while move := step(here.coordinate[dimension], destination[dimension], extent):
            links.append(topology.link(here, dimension, move))
            here = links[-1].target
    return links


def _up_and_down(
    tree: FatTree, source: Coordinate, destination: Coordinate, rail: int, slot: int
) -> list[Link]:
    if source == destination:
        return []
    up = tree.link(Router(coordinate=source, rail=rail), tree.spine_of(slot))
    return [up, tree.link(up.target, destination[0])]


def mean_hops(extents: Coordinate) -> float:
    """Mean hops over all ordered pairs of a torus's routers, a router with itself included: the closed form.

    A ring of n routers has mean distance n/4 (even n) or (n*n - 1)/(4n) (odd n); dimensions add up.
    """
    return sum(n / 4 if n % 2 == 0 else (n * n - 1) / (4 * n) for n in extents)
