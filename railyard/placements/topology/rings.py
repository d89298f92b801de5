"""Route along the rings of a torus, and sum link loads ring by ring.

`step` is the whole routing function of one dimension, which is a ring; `torus` states the tie rule. Because a route
stays on one ring of E routers in each dimension, the bytes of all messages are first added up by (ring, from, to), and
one product with the 0/1 table of which links are between `from` and `to` gives the loads. 131,072 ranks with 26
neighbours take about half a second.

Arrays of links have shape (X, Y, Z, 3, 2): the router that the link leaves, its dimension, its direction (0 plus, 1
minus).
"""

from __future__ import annotations

from railyard.placements.arrays import Floats, Ints, Ints32, np
from railyard.placements.topology.carried import Carried
from railyard.placements.topology.parts import Coordinate


def step(position: int, destination: int, extent: int) -> int:
    """Return the way along one dimension from `position` to `destination`: +1, -1, or 0 when already there."""
    ahead = (destination - position) % extent
    if ahead == 0:
        return 0
    if 2 * ahead == extent:
        return 1 if position % 2 == 0 else -1
    return 1 if 2 * ahead < extent else -1


def hops(sources: Ints, destinations: Ints, extents: Coordinate) -> Ints:
    """Return the links between routers on a shortest route round a torus, which a dimension-order route is.

    `sources` and `destinations` have shape (..., 3) and broadcast; the result has the shape without the last axis.
    """
    ahead = np.abs(sources - destinations)
    total: Ints = np.minimum(ahead, np.array(extents) - ahead).sum(axis=-1)
    return total


def mean_hops(extents: Coordinate) -> float:
    """Return the mean hops over all ordered pairs of routers, a router with itself included: the closed form.

    A ring of n routers has mean distance n/4 (even n) or (n*n - 1)/(4n) (odd n); dimensions add up.
    """
    return sum(n / 4 if n % 2 == 0 else (n * n - 1) / (4 * n) for n in extents)


def carry(here: Ints32, there: Ints32, sizes: Floats, extents: Coordinate) -> Carried:
    """Return the link loads of messages between the coordinates `here` and `there`, of shape (3, messages) each."""
    loads = np.zeros((*extents, 3, 2))
    total = np.zeros(here.shape[1], dtype=np.int64)
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
        ahead = np.abs(here[dimension] - there[dimension])
        total += np.minimum(ahead, extent - ahead)
    longest = sum(extent // 2 for extent in extents)
    return Carried(link_bytes=loads, hops_bytes=np.bincount(total, sizes, longest + 1).astype(np.float64))


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
