"""What the links of one rail carry: the result of `Topology.carry`, and how it is found route by route."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from placements.topology.parts import Router
from placements.topology.routing import walk

if TYPE_CHECKING:
    from placements.topology.base import Topology

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
#: Up to so many pairs of a router and a node, a table of all pairs is faster than sorting the messages.
DENSE_PAIRS = 1 << 26


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Carried:
    """Bytes of every link in the shape of `Topology.link_rates`; `hops_bytes[h]` are those that travel h links."""

    link_bytes: Floats
    hops_bytes: Floats

    def __add__(self, other: Carried) -> Carried:
        """Return what both put on the links together."""
        hops = np.zeros(max(len(self.hops_bytes), len(other.hops_bytes)))
        for part in (self.hops_bytes, other.hops_bytes):
            hops[: len(part)] += part
        return Carried(link_bytes=self.link_bytes + other.link_bytes, hops_bytes=hops)


def added(place: Ints, sizes: Floats, count: int = 0) -> Floats:
    """Return the sum of the sizes of every place; shape (places,), at least `count` of them."""
    return np.bincount(place, sizes, count).astype(np.float64, copy=False)


def summed(source: Ints, node: Ints, sizes: Floats, nodes: int) -> tuple[Ints, Ints, Floats]:
    """Return messages with those of one router to one node added up, sorted by both."""
    if len(source) == 0:
        return source, node, sizes
    key = source.astype(np.int64) * nodes + node
    if (int(source.max()) + 1) * nodes <= DENSE_PAIRS:
        dense = added(key, sizes)
        filled = np.flatnonzero(dense).astype(np.int64)
        return filled // nodes, filled % nodes, dense[filled]
    pairs, place = np.unique(key, return_inverse=True)
    return pairs // nodes, pairs % nodes, added(place, sizes)


def by_routes(topology: Topology, source: Ints, node: Ints, sizes: Floats) -> Carried:
    """Return what messages put on the links, each along its usual route: from routers to nodes, as indices."""
    source, node, sizes = summed(source, node, sizes, len(topology.nodes))
    numbers = {name: number for number, name in enumerate(link.name for link in topology.first_rail)}
    loads = np.zeros(len(numbers))
    by_hops = [0.0]
    ends = [topology.destination(n.coordinate, n.slot) for n in topology.nodes]
    for at, to, size in zip(source.tolist(), node.tolist(), sizes.tolist(), strict=True):
        links = list(walk(topology, Router(coordinate=topology.coordinates[at]), ends[to]))
        for link in links:
            loads[numbers[link.name]] += size
        by_hops += [0.0] * (len(links) + 1 - len(by_hops))
        by_hops[len(links)] += size
    return Carried(link_bytes=loads, hops_bytes=np.array(by_hops))
