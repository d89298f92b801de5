"""Compute the link loads of a torus: the bytes of all messages on every link, by dimension-order routes.

In each dimension a route stays on one ring of E routers. So the bytes of all messages are first added up by
(ring, from, to), and one product with the 0/1 table of which links are between `from` and `to` gives the loads.
131,072 ranks with 26 neighbours take about half a second.

Arrays of links have shape (X, Y, Z, 3, 2): the router that the link leaves, its dimension, its direction (0 plus, 1
minus).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railyard.placements.arrays import Floats, Ints, NDArray, np
from railyard.placements.topology.carried import Carried
from railyard.placements.topology.parts import Coordinate, Router
from railyard.placements.topology.ring import step

if TYPE_CHECKING:
    from railyard.placements.topology.torus import Torus


def carry(topology: Torus, source: Ints, node: Ints, sizes: Floats) -> Carried:
    """Return the link loads of messages from routers to nodes, as `Topology.carry` defines them."""
    at = topology.node_coordinates.astype(np.int32).T
    here, there = at[:, topology.first_node[source]], at[:, node]
    loads = np.zeros((*topology.extents, 3, 2))
    _add_routes(loads, here, there, sizes=sizes, extents=topology.extents)
    return Carried(link_bytes=loads, hops_bytes=_by_hops(here, there, sizes, topology.extents))


def link_rates(topology: Torus) -> Floats:
    """Return GB/s of each link, 0 where there is none; shape (X, Y, Z, 3, 2), as the loads."""
    rates = np.zeros((*topology.extents, 3, 2))
    for dimension, along in enumerate(topology.dimensions):
        for position in range(along.extent):
            router = [0, 0, 0]
            router[dimension] = position
            plane: list[slice | int] = [slice(None)] * 3
            plane[dimension] = position
            for link in topology.links_from(Router(coordinate=(router[0], router[1], router[2]))):
                if link.dimension == dimension:
                    rates[(*plane, dimension, int(link.step < 0))] = link.rate_gbyte_s
    return rates


def _add_routes(
    loads: Floats, here: NDArray[np.int32], there: NDArray[np.int32], *, sizes: Floats, extents: Coordinate
) -> None:
    """Add each message's bytes to the links of its route. `here` and `there` have shape (3, messages)."""
    for dimension, extent in enumerate(extents):
        # On its way along `dimension` a route has arrived in the dimensions before and not yet left in those after.
        ring = [there[d] if d < dimension else here[d] for d in range(3) if d != dimension]
        others = [extents[d] for d in range(3) if d != dimension]
        rings = others[0] * others[1]
        index = ((ring[0] * others[1] + ring[1]).astype(np.int64) * extent + here[dimension]) * extent
        index += there[dimension]
        pairs = np.bincount(index, sizes, rings * extent * extent).reshape(rings, extent * extent)
        ring_loads = (pairs @ _between(extent)).reshape(*others, extent, 2)
        loads[..., dimension, :] += np.moveaxis(ring_loads, 2, dimension)


def _between(extent: int) -> Floats:
    """Return which links of a ring a route takes: 1 at ((from, to), (link's router, direction)).

    The shape is (E * E, E * 2).
    """
    table = np.zeros((extent, extent, extent, 2))
    for start in range(extent):
        for end in range(extent):
            at = start
            while move := step(at, end, extent):
                table[start, end, at, int(move < 0)] = 1
                at = (at + move) % extent
    return table.reshape(extent * extent, extent * 2)


def _by_hops(here: NDArray[np.int32], there: NDArray[np.int32], sizes: Floats, extents: Coordinate) -> Floats:
    """Return the bytes by links travelled; shape (longest route + 1,)."""
    total = np.zeros(here.shape[1], dtype=np.int64)
    for dimension, extent in enumerate(extents):
        ahead = np.abs(here[dimension] - there[dimension])
        total += np.minimum(ahead, extent - ahead)
    return np.bincount(total, sizes, _diameter(extents) + 1).astype(np.float64)


def _diameter(extents: Coordinate) -> int:
    return sum(extent // 2 for extent in extents)
