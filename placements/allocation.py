"""The nodes that a job was granted, in the scheduler's order.

Orders: `contiguous` (the topology's own, X slowest), `snake` (as ALPS numbers nodes: every node beside the one before,
block by block; Peña et al., EuroMPI'13, Fig. 2 and section 3.3), `random` (from a seed), `axes` (the first node and
one node at each hop count from it along X, Y and Z: what a point-to-point benchmark by dimension and hops needs).
Leaves out what a real scheduler does when the machine is not empty.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from placements.topology import Coordinate, Node, Topology
from railyard.errors import InputError

ALPS_BLOCK: Coordinate = (4, 2, 8)


class Order(StrEnum):
    """How the nodes of an allocation are numbered."""

    CONTIGUOUS = "contiguous"
    SNAKE = "snake"
    RANDOM = "random"
    AXES = "axes"


@dataclass(frozen=True, kw_only=True, eq=False)
class Allocation:
    """An ordered choice of nodes: `indices` into `topology.nodes`; shape (nodes,), without repeats."""

    topology: Topology
    order: Order
    seed: int | None
    block: Coordinate
    indices: NDArray[np.int64]

    @property
    def nodes(self) -> tuple[Node, ...]:
        return tuple(self.topology.nodes[i] for i in self.indices)


def allocate(
    topology: Topology,
    order: str = Order.SNAKE,
    *,
    block: tuple[int, ...] | None = None,
    seed: int | None = None,
) -> Allocation:
    """All nodes of a block of routers that starts at 0,0,0 (default: the whole torus), numbered in an order.

    The order `axes` takes only some of them. Raises InputError for an unknown order, a block that does not fit, or
    `random` without a seed.
    """
    if order not in set(Order):
        raise InputError("allocation", "order", order, ", ".join(Order))
    extents = block or topology.extents
    if len(extents) != 3 or not all(1 <= b <= e for b, e in zip(extents, topology.extents, strict=True)):
        limit = "x".join(map(str, topology.extents))
        raise InputError("allocation", "block", "x".join(map(str, extents)), f"AxBxC from 1x1x1 to {limit}")
    box = (extents[0], extents[1], extents[2])
    if order == Order.RANDOM and seed is None:
        raise InputError("allocation", "seed", seed, "an integer, for the order random")
    if order == Order.AXES:
        indices = _nodes_of(topology, _axes(box))[:: topology.nodes_per_router]
    else:
        indices = _nodes_of(topology, snake(box, ALPS_BLOCK) if order == Order.SNAKE else row_major(box))
    if order == Order.RANDOM:
        indices = np.random.default_rng(seed).permutation(indices)
    return Allocation(topology=topology, order=Order(order), seed=seed, block=box, indices=indices)


def row_major(extents: tuple[int, ...]) -> NDArray[np.int64]:
    """Every cell of a box, the last dimension fastest; shape (cells, dimensions)."""
    return np.indices(extents, dtype=np.int64).reshape(len(extents), -1).T


def boustrophedon(extents: tuple[int, ...]) -> NDArray[np.int64]:
    """Every cell of a box, each one step from the one before, the last dimension fastest; shape (cells, dimensions).

    The reflected mixed-radix Gray code: a digit runs backwards whenever the digits before it add up to an odd number.
    """
    cells = row_major(extents)
    walked = cells.copy()
    for dimension in range(1, len(extents)):
        backwards = walked[:, :dimension].sum(axis=1) % 2 == 1
        walked[backwards, dimension] = extents[dimension] - 1 - cells[backwards, dimension]
    return walked


def snake(extents: Coordinate, block: Coordinate) -> NDArray[np.int64]:
    """A walk through a box block by block, `boustrophedon` among the blocks and within each; shape (cells, 3)."""
    counts = tuple(math.ceil(e / b) for e, b in zip(extents, block, strict=True))
    walk = []
    for corner in boustrophedon(counts):
        start = corner * np.array(block)
        size = tuple(np.minimum(np.array(block), np.array(extents) - start).tolist())
        walk.append(boustrophedon(size) + start)
    return np.concatenate(walk)


def _axes(extents: Coordinate) -> NDArray[np.int64]:
    """The origin, then one router at each hop count along X, Y, Z; shape (routers, 3)."""
    steps = [
        np.eye(3, dtype=np.int64)[d] * hop
        for d, extent in enumerate(extents)
        for hop in range(1, extent // 2 + 1)
    ]
    return np.array([np.zeros(3, dtype=np.int64), *steps])


def _nodes_of(topology: Topology, routers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Indices of the nodes behind routers, router by router, slot by slot."""
    first = np.ravel_multi_index(tuple(routers.T), topology.extents) * topology.nodes_per_router
    nodes: NDArray[np.int64] = (first[:, None] + np.arange(topology.nodes_per_router)).ravel()
    return nodes
