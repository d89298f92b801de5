"""Route along the rings of a torus, and sum link loads ring by ring.

`step` is the whole routing function of one dimension, which is a ring; `torus` states the tie rule. Because a route
stays on one ring of E routers in each dimension, the bytes of all messages are first added up by (ring, from, to), and
one product with the 0/1 table of which links are between `from` and `to` gives the loads. A million ranks with 26
neighbours take about a second.

Arrays of links have shape (X, Y, Z, 3, 2): the router that the link leaves, its dimension, its direction (0 plus, 1
minus).
"""

from __future__ import annotations

from railyard.placements.arrays import Floats, Ints, Ints32, np
from railyard.placements.topology.carried import Carried
from railyard.placements.topology.parts import Coordinate

#: Messages that are handled at a time: a few arrays of them fit into a cache.
_AT_ONCE = 1 << 18


def step(position: int, destination: int, extent: int) -> int:
    """Return the way along one dimension from `position` to `destination`: +1, -1, or 0 when already there."""
    ahead = (destination - position) % extent
    if ahead == 0:
        return 0
    if 2 * ahead == extent:
        return 1 if position % 2 == 0 else -1
    return 1 if 2 * ahead < extent else -1


def carry(at: Ints32, source: Ints, target: Ints, sizes: Floats, *, extents: Coordinate) -> Carried:
    """Return the link loads of messages between the places with the coordinates `at`, of shape (3, places).

    A message has one index (ring, from, to) in each dimension: the sum of a part that its source gives and one that its
    target gives. Messages are taken so many at a time that what is between the steps stays in the processor's cache.
    """
    leaving, arriving, distances, sums = [], [], [], []
    for dimension, extent in enumerate(extents):
        # On its way along `dimension` a route has arrived in the dimensions before and not yet left in those after.
        first, second = (d for d in range(3) if d != dimension)
        on_ring = (at[first].astype(np.int64) * extents[second] * extent**2, at[second].astype(np.int64) * extent**2)
        behind = [part for d, part in zip((first, second), on_ring, strict=True) if d < dimension]
        ahead = [part for d, part in zip((first, second), on_ring, strict=True) if d > dimension]
        leaving.append(sum(ahead, at[dimension].astype(np.int64) * extent))
        arriving.append(sum(behind, at[dimension].astype(np.int64)))
        rings = extents[first] * extents[second]
        far = np.abs(np.subtract.outer(np.arange(extent), np.arange(extent)))
        distances.append(np.tile(np.minimum(far, extent - far).ravel(), rings))
        sums.append(np.zeros(rings * extent**2))
    longest = 0
    for start in range(0, len(sizes), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        total = np.zeros(1, dtype=np.int64)
        for dimension in range(3):
            index = leaving[dimension][source[some]] + arriving[dimension][target[some]]
            sums[dimension] += np.bincount(index, sizes[some], len(sums[dimension]))
            total = total + distances[dimension][index]
        longest = max(longest, int(total[sizes[some] > 0].max(initial=0)))
    loads = np.zeros((*extents, 3, 2))
    for dimension, extent in enumerate(extents):
        others = [extents[d] for d in range(3) if d != dimension]
        ring_loads = (sums[dimension].reshape(-1, extent**2) @ _between(extent)).reshape(*others, extent, 2)
        loads[..., dimension, :] = np.moveaxis(ring_loads, 2, dimension)
    return Carried(link_bytes=loads, longest=longest)


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
