"""Compute the bytes on every link of one rail, route by route: the default of `Topology.carry`, and its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from railyard.placements.arrays import Floats, Ints, NDArray, np
from railyard.placements.topology.parts import Destination, Router
from railyard.placements.topology.routing import walk

if TYPE_CHECKING:
    from railyard.placements.topology.base import Topology

#: The most pairs of a router and a node for which a table of all pairs is faster than sorting the messages.
DENSE_PAIRS = 1 << 26


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Carried:
    """Bytes of every link in the shape of `Topology.link_rates`; `hops_bytes[h]` are those that travel h links."""

    link_bytes: Floats
    hops_bytes: Floats

    def __add__(self, other: Carried) -> Carried:
        """Return the sum of both loads."""
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
    """Return the link loads of messages along their usual routes, from routers to nodes, which are indices."""
    source, node, sizes = summed(source, node, sizes, len(topology.nodes))
    places = route_places(topology, source, node)
    lengths = (places >= 0).sum(axis=1)
    loads = np.zeros(len(topology.first_rail))
    for column in places.T:
        on = column >= 0
        loads += added(column[on].astype(np.int64), sizes[on], len(loads))
    return Carried(link_bytes=loads, hops_bytes=added(lengths, sizes, 1))


def route_places(topology: Topology, source: Ints, node: Ints) -> NDArray[np.int32]:
    """Return the links of usual routes, found router by router (`Topology.route_places`)."""
    numbers = {link.name: number for number, link in enumerate(topology.first_rail)}
    ends = [topology.destination(n.coordinate, n.slot) for n in topology.nodes]
    routes = dict[tuple[int, Destination], list[int]]()
    rows = list[list[int]]()
    for at, to in zip(source.tolist(), node.tolist(), strict=True):
        links_of_route = routes.get((at, ends[to]))
        if links_of_route is None:
            links = walk(topology, Router(coordinate=topology.coordinates[at]), ends[to])
            links_of_route = routes[at, ends[to]] = [numbers[link.name] for link in links]
        rows.append(links_of_route)
    places = np.full((len(rows), max(map(len, rows), default=0)), -1, dtype=np.int32)
    for row, links_of_row in zip(places, rows, strict=True):
        row[: len(links_of_row)] = links_of_row
    return places
