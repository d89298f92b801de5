"""Build an allocation: the nodes that a scheduler grants to a job, in the scheduler's order.

Orders of the nodes:

- `contiguous`: the topology's own order, in which X changes slowest;
- `snake`: ALPS's numbering, in which consecutive nodes are neighbours, in blocks of 4x2x8 routers (Peña et al.,
  EuroMPI'13, Fig. 2 and section 3.3);
- `snake-8x8x8`: the same with the larger blocks that the paper tried first;
- `random`: drawn from a seed;
- `axes`: the first node and one node at each hop count from it along X, Y and Z, for a point-to-point benchmark by
  dimension and hops;
- `scheduler`: the order of a host file.

`occupied` removes a random part of an allocation, as if other jobs used those nodes.
`railyard.placements.orders.choices` selects the nodes of a job that is smaller than its allocation.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from railyard.base.errors import InputError
from railyard.placements.arrays import Ints, np
from railyard.placements.orders.walks import ALPS_BLOCK, alps_walk, row_major, text
from railyard.placements.topology.base import Coordinate, Node, Topology

#: The block that usage data suggested first (section 3.3). The paper gives no unit; both blocks are in routers here.
FIRST_ALPS_BLOCK: Coordinate = (8, 8, 8)
#: The dimension, Y, along which the nodes of a router are neighbours (Peña et al., EuroMPI'13, section 4.1).
NODES_ALONG = 1


class AllocationOrder(StrEnum):
    """How the nodes of an allocation are numbered."""

    CONTIGUOUS = "contiguous"
    SNAKE = "snake"
    SNAKE_8X8X8 = "snake-8x8x8"
    RANDOM = "random"
    AXES = "axes"
    SCHEDULER = "scheduler"


#: The building block of each order that is a walk.
WALKS: Mapping[str, Coordinate] = {AllocationOrder.SNAKE: ALPS_BLOCK, AllocationOrder.SNAKE_8X8X8: FIRST_ALPS_BLOCK}


@dataclass(frozen=True, kw_only=True, eq=False)
class Allocation:
    """An ordered choice of nodes: `indices` into `topology.nodes`; shape (nodes,), without repeats.

    `counted` are the same nodes, or more, in the order in which the launcher itself numbers them, where that differs.
    """

    topology: Topology
    order: AllocationOrder
    seed: int | None
    block: Coordinate
    indices: Ints
    counted: Ints | None = None

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Return the nodes, in order."""
        return tuple(self.topology.nodes[i] for i in self.indices)

    @property
    def as_launched(self) -> Ints:
        """Return the indices in the order in which the launcher itself numbers the nodes."""
        if self.counted is None:
            return self.indices
        return np.asarray(self.counted[np.isin(self.counted, self.indices)], dtype=np.int64)

    @property
    def cells(self) -> Ints:
        """Return the lattice position of each node (`Topology.cells`)."""
        return self.topology.cells(self.indices)

    @property
    def switches(self) -> Ints:
        """Return the switch of each node (of a torus: its router), as a position in the topology's `coordinates`."""
        return np.asarray(self.topology.router_of_node[self.indices], dtype=np.int64)

    @property
    def groups(self) -> Ints:
        """Return the group of each node; InputError for a topology without groups."""
        return np.asarray(self.topology.groups[self.switches], dtype=np.int64)

    @property
    def is_whole_block(self) -> bool:
        """Return whether every node of `block` is granted."""
        inside = (self.topology.node_coordinates < np.array(self.block)).all(axis=1)
        return len(self.indices) == int(inside.sum())


def allocate(
    topology: Topology,
    order: str = AllocationOrder.SNAKE,
    *,
    block: tuple[int, ...] | None = None,
    seed: int | None = None,
) -> Allocation:
    """Return all nodes of a block of routers at 0,0,0 (default: the whole torus), numbered in an order.

    The order `axes` takes only some of them. Raises InputError for an unknown order, a block that does not fit, or
    `random` without a seed.
    """
    if order not in set(AllocationOrder) or order == AllocationOrder.SCHEDULER:
        names = ", ".join(o for o in AllocationOrder if o != AllocationOrder.SCHEDULER)
        raise InputError("allocation", "order", order, f"{names} (or a host file, for the scheduler's own)")
    box, most = tuple(block or topology.extents), topology.extents
    if len(box) != len(most) or not all(1 <= b <= e for b, e in zip(box, most, strict=True)):
        least = text((1,) * len(most))
        valid = f"{'x'.join('ABCDEFGH'[: len(most)])} from {least} to {text(most)}"
        raise InputError("allocation", "block", text(box), valid)
    if order == AllocationOrder.RANDOM and seed is None:
        valid = "--seed SEED, such as --seed 1"
        raise InputError("allocation", "", problem="random has no seed", valid=valid)
    if order == AllocationOrder.AXES:
        indices = _axes(topology, box)
    else:
        indices = _nodes_of(topology, alps_walk(box, WALKS[order]) if order in WALKS else row_major(box))
    if order == AllocationOrder.RANDOM:
        indices = np.random.default_rng(seed).permutation(indices)
    return Allocation(topology=topology, order=AllocationOrder(order), seed=seed, block=box, indices=indices)


def scheduled(topology: Topology, indices: Ints) -> Allocation:
    """Return the allocation of nodes as a scheduler listed them: indices into `topology.nodes`, without repeats."""
    return Allocation(
        topology=topology, order=AllocationOrder.SCHEDULER, seed=None, block=topology.extents, indices=indices
    )


def within(allocation: Allocation, cube: tuple[int, ...]) -> Allocation:
    """Return the granted nodes of a box of nodes from 0,0,0, in their order; both nodes of a router count along Y.

    A cube of 7x7x7 nodes is made of 7x4x7 routers with two nodes each, of which the last along Y provide one node.
    Raises InputError for a box with nodes that were not granted.
    """
    inside = allocation.indices[(allocation.cells < np.array(cube)).all(axis=1)]
    if len(inside) != math.prod(cube):
        most = text(allocation.topology.box_of_cells(allocation.block))
        valid = f"AxBxC nodes that were granted: at most {most}"
        raise InputError("allocation", "cube", text(cube), valid)
    return dataclasses.replace(allocation, indices=inside)


def occupied(allocation: Allocation, percent: float, seed: int) -> Allocation:
    """Return a random `percent` of an allocation's nodes, in its order, at least one; other jobs have the rest."""
    if not 0 < percent <= 100:
        raise InputError("allocation", "percent", percent, "above 0, at most 100")
    count = max(1, round(len(allocation.indices) * percent / 100))
    return taken(allocation, np.sort(np.random.default_rng(seed).permutation(len(allocation.indices))[:count]))


def taken(allocation: Allocation, positions: Ints) -> Allocation:
    """Return the allocation of the nodes at some positions of another."""
    return dataclasses.replace(allocation, indices=allocation.indices[positions])


def _axes(topology: Topology, extents: Coordinate) -> Ints:
    """Return the first node, then one at each hop count along X, Y, Z: indices into `topology.nodes`."""
    counts = np.diff(np.append(topology.first_node, len(topology.router_of_node)))
    nodes = [topology.first_node[0]]
    for d, extent in enumerate(extents):
        per_router = int(counts.max()) if d == NODES_ALONG else 1
        stride = math.prod(topology.extents[d + 1 :])
        for hops in range(1, extent * per_router // 2 + 1):
            at, slot = divmod(hops, per_router)
            if slot < counts[at * stride]:
                nodes.append(topology.first_node[at * stride] + slot)
    return np.array(nodes, dtype=np.int64)


def _nodes_of(topology: Topology, routers: Ints) -> Ints:
    """Return the indices of the nodes of routers, router by router, slot by slot."""
    numbers = np.ravel_multi_index(tuple(routers.T), topology.extents)
    counts = np.diff(np.append(topology.first_node, len(topology.router_of_node)))[numbers]
    within_router = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.asarray(np.repeat(topology.first_node[numbers], counts) + within_router, dtype=np.int64)
