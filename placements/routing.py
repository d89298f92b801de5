"""Hops and dimension-order routes on a torus: X, then Y, then Z, the shortest way round in each.

Tie rule: a destination exactly half-way round an even dimension is reached in the plus direction from an even
coordinate and in the minus direction from an odd one, so that ties load both directions alike. After the first step of
a tie the rest is no tie, so every router can decide alone: `step` is the whole routing function.

Leaves out adaptive routing and broken links.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from placements.topology import Coordinate, Link, Router, Topology


def step(position: int, destination: int, extent: int) -> int:
    """Which way along one dimension from `position` to `destination`: +1, -1, or 0 when already there."""
    ahead = (destination - position) % extent
    if ahead == 0:
        return 0
    if 2 * ahead == extent:
        return 1 if position % 2 == 0 else -1
    return 1 if 2 * ahead < extent else -1


def route(topology: Topology, source: Coordinate, destination: Coordinate, rail: int = 0) -> list[Link]:
    """The links from one router to another, in order; empty for a router and itself."""
    links: list[Link] = []
    here = Router(coordinate=source, rail=rail)
    for dimension, extent in enumerate(topology.extents):
        while move := step(here.coordinate[dimension], destination[dimension], extent):
            links.append(topology.link(here, dimension, move))
            here = links[-1].target
    return links


def hops(
    sources: NDArray[np.int64], destinations: NDArray[np.int64], extents: Coordinate
) -> NDArray[np.int64]:
    """Links between routers on a dimension-order route.

    `sources` and `destinations` have shape (..., 3) and broadcast; the result has the shape without the last axis.
    """
    ahead = np.abs(sources - destinations)
    total: NDArray[np.int64] = np.minimum(ahead, np.array(extents) - ahead).sum(axis=-1)
    return total


def mean_hops(extents: Coordinate) -> float:
    """Mean hops over all ordered pairs of routers, a router with itself included: the closed form.

    A ring of n routers has mean distance n/4 (even n) or (n*n - 1)/(4n) (odd n); dimensions add up.
    """
    return sum(n / 4 if n % 2 == 0 else (n * n - 1) / (4 * n) for n in extents)
