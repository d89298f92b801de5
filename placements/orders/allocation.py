"""The nodes that a job was granted, in the scheduler's order.

Orders: `contiguous` (the topology's own, X slowest), `snake` (as ALPS numbers nodes: every node beside the one before,
block by block of 4x2x8 routers; Peña et al., EuroMPI'13, Fig. 2 and section 3.3), `snake-8x8x8` (the same in the blocks
with which that work began), `random` (from a seed), `axes` (the first node and one node at each hop count from it along
X, Y and Z: what a point-to-point benchmark by dimension and hops needs), `scheduler` (as a host file lists them).
`occupied` thins an allocation out, as a machine full of other jobs does.
`choose` takes some of the granted nodes for a job that is smaller than its allocation.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from placements.arrays import NDArray, np
from placements.orders import by_group
from placements.topology.base import Coordinate, Node, Topology
from railyard.base.errors import InputError

#: ALPS's building block, in routers.
ALPS_BLOCK: Coordinate = (4, 2, 8)
#: What usage data suggested first (section 3.3). The paper prints no unit: both blocks are taken in routers here.
FIRST_ALPS_BLOCK: Coordinate = (8, 8, 8)
#: The dimension, Y, along which the nodes of a router are neighbours (Peña et al., EuroMPI'13, section 4.1).
NODES_ALONG = 1


class Order(StrEnum):
    """How the nodes of an allocation are numbered."""

    CONTIGUOUS = "contiguous"
    SNAKE = "snake"
    SNAKE_8X8X8 = "snake-8x8x8"
    RANDOM = "random"
    AXES = "axes"
    SCHEDULER = "scheduler"


#: The building block of each order that is a walk.
WALKS: Mapping[str, Coordinate] = {Order.SNAKE: ALPS_BLOCK, Order.SNAKE_8X8X8: FIRST_ALPS_BLOCK}


class Choice(StrEnum):
    """Which of the granted nodes a smaller job takes; the scheduler's order stays.

    `contiguous` the first, `scattered` at equal steps, `random` from a seed, `by-router` one node of every router
    before the second of any, `half-routers:K` the first routers, K of which give one of their two nodes. The others are
    explained in `by_group`.
    """

    CONTIGUOUS = "contiguous"
    SCATTERED = "scattered"
    RANDOM = "random"
    BY_ROUTER = "by-router"
    HALF_ROUTERS = "half-routers"
    ONE_SWITCH = "one-switch"
    ONE_GROUP = "one-group"
    FEW_GROUPS = "few-groups"
    EVEN_GROUPS = "even-groups"
    RANDOM_SWITCHES = "random-switches"
    RANDOM_GROUPS = "random-groups"

    @property
    def argument(self) -> str:
        """Return what the number after the choice's name is: a seed, a count of groups or routers, or nothing."""
        if self in {Choice.FEW_GROUPS, Choice.EVEN_GROUPS, Choice.HALF_ROUTERS}:
            return "K"
        return "SEED" if self in {Choice.RANDOM, Choice.RANDOM_SWITCHES, Choice.RANDOM_GROUPS} else ""

    @property
    def needs_coordinates(self) -> bool:
        """Return whether the choice means nothing where nobody knows how the nodes are joined."""
        return self not in {Choice.CONTIGUOUS, Choice.SCATTERED, Choice.RANDOM}


#: Which of the granted nodes each choice takes, for docs/placements.md.
CHOICES: Mapping[Choice, str] = {
    Choice.CONTIGUOUS: "the first",
    Choice.SCATTERED: "nodes at equal steps",
    Choice.RANDOM: "nodes drawn from a seed",
    Choice.BY_ROUTER: "one node of every router before the second of any",
    Choice.HALF_ROUTERS: "the first routers, of which K give one of their two nodes",
    Choice.ONE_SWITCH: "the nodes of one switch",
    Choice.ONE_GROUP: "the nodes of one group",
    Choice.FEW_GROUPS: "the K fullest groups, one after another",
    Choice.EVEN_GROUPS: "equally many nodes of K groups",
    Choice.RANDOM_SWITCHES: "whole switches in an order drawn from a seed",
    Choice.RANDOM_GROUPS: "whole groups in an order drawn from a seed",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Allocation:
    """An ordered choice of nodes: `indices` into `topology.nodes`; shape (nodes,), without repeats.

    `counted` are the same nodes, or more, in the order in which the launcher itself numbers them, where that differs.
    """

    topology: Topology
    order: Order
    seed: int | None
    block: Coordinate
    indices: NDArray[np.int64]
    counted: NDArray[np.int64] | None = None

    @property
    def nodes(self) -> tuple[Node, ...]:
        return tuple(self.topology.nodes[i] for i in self.indices)

    @property
    def as_launched(self) -> NDArray[np.int64]:
        """The indices in the order in which the launcher itself numbers the nodes."""
        if self.counted is None:
            return self.indices
        as_launched: NDArray[np.int64] = self.counted[np.isin(self.counted, self.indices)]
        return as_launched

    @property
    def is_whole_block(self) -> bool:
        """Return whether every node of `block` is granted."""
        inside = (self.topology.node_coordinates < np.array(self.block)).all(axis=1)
        return len(self.indices) == int(inside.sum())


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
    if order not in set(Order) or order == Order.SCHEDULER:
        made = ", ".join(o for o in Order if o != Order.SCHEDULER)
        raise InputError("allocation", "order", order, f"{made} (or a host file, for the scheduler's own)")
    box, most = tuple(block or topology.extents), topology.extents
    if len(box) != len(most) or not all(1 <= b <= e for b, e in zip(box, most, strict=True)):
        form, least, limit = (
            "x".join("ABCDEFGH"[: len(most)]),
            "x".join("1" * len(most)),
            "x".join(map(str, most)),
        )
        raise InputError("allocation", "block", "x".join(map(str, box)), f"{form} from {least} to {limit}")
    if order == Order.RANDOM and seed is None:
        raise InputError(
            "allocation", "", problem="random has no seed", valid="--seed SEED, such as --seed 1"
        )
    if order == Order.AXES:
        indices = _axes(topology, box)
    else:
        indices = _nodes_of(topology, alps_walk(box, WALKS[order]) if order in WALKS else row_major(box))
    if order == Order.RANDOM:
        indices = np.random.default_rng(seed).permutation(indices)
    return Allocation(topology=topology, order=Order(order), seed=seed, block=box, indices=indices)


def scheduled(topology: Topology, indices: NDArray[np.int64]) -> Allocation:
    """The allocation of nodes as a scheduler listed them: indices into `topology.nodes`, without repeats."""
    return Allocation(
        topology=topology, order=Order.SCHEDULER, seed=None, block=topology.extents, indices=indices
    )


def within(allocation: Allocation, cube: tuple[int, ...]) -> Allocation:
    """The granted nodes that stand in a box of nodes from 0,0,0, in their order; both nodes of a router count along Y.

    So a cube of 7x7x7 nodes is made of 7x4x7 routers with two nodes each, the last of which give one. Raises InputError
    for a box that holds nodes that were not granted.
    """
    topology = allocation.topology
    kept = allocation.indices[(topology.cells(allocation.indices) < np.array(cube)).all(axis=1)]
    if len(kept) != math.prod(cube):
        most = "x".join(map(str, topology.box_of_cells(allocation.block)))
        valid = f"AxBxC nodes that were granted: at most {most}"
        raise InputError("allocation", "cube", "x".join(map(str, cube)), valid)
    return dataclasses.replace(allocation, indices=kept)


def occupied(allocation: Allocation, percent: float, seed: int) -> Allocation:
    """A random `percent` of an allocation's nodes, in its order, at least one: the rest is somebody else's."""
    if not 0 < percent <= 100:
        raise InputError("allocation", "percent", percent, "above 0, at most 100")
    count = max(1, round(len(allocation.indices) * percent / 100))
    kept = np.sort(np.random.default_rng(seed).permutation(len(allocation.indices))[:count])
    return dataclasses.replace(allocation, indices=allocation.indices[kept])


def choose(allocation: Allocation, count: int, choice: Choice, number: int | None = None) -> Allocation:
    """`count` of an allocation's nodes, in its order; `number` is the choice's seed or number of groups.

    Raises InputError for more nodes than are granted, for a random choice without a seed, and for groups that the nodes
    do not fit in.
    """
    granted = len(allocation.indices)
    if count > granted:
        raise InputError("placement", "nodes", count, f"at most the {granted} nodes granted")
    if choice.argument and number is None:
        lacks, instead = (
            ("seed", " or --seed SEED") if choice.argument == "SEED" else ("number of groups", "")
        )
        raise InputError(
            "placement",
            "",
            problem=f"the node choice {choice} has no {lacks}",
            valid=f"{choice}:{choice.argument}, such as {choice}:1{instead}",
        )
    given = number or 0
    match choice:
        case Choice.CONTIGUOUS:
            taken = np.arange(count)
        case Choice.SCATTERED:
            taken = np.arange(count) * granted // count
        case Choice.RANDOM:
            taken = np.sort(np.random.default_rng(given).permutation(granted)[:count])
        case Choice.BY_ROUTER:
            slots = allocation.topology.slots[allocation.indices]
            taken = np.sort(np.argsort(slots, kind="stable")[:count])
        case Choice.HALF_ROUTERS:
            taken = by_group.halved(by_group.switches(allocation), count, given)
        case Choice.ONE_SWITCH:
            taken = by_group.one(by_group.switches(allocation), count, "switch")
        case Choice.ONE_GROUP:
            taken = by_group.one(by_group.groups(allocation), count, "group")
        case Choice.FEW_GROUPS:
            taken = by_group.few(by_group.groups(allocation), count, given)
        case Choice.EVEN_GROUPS:
            taken = by_group.even(by_group.groups(allocation), count, given)
        case Choice.RANDOM_SWITCHES:
            taken = by_group.shuffled(by_group.switches(allocation), count, given)
        case Choice.RANDOM_GROUPS:
            taken = by_group.shuffled(by_group.groups(allocation), count, given)
    return dataclasses.replace(allocation, indices=allocation.indices[taken])


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


def alps_walk(extents: Coordinate, block: Coordinate = ALPS_BLOCK) -> NDArray[np.int64]:
    """Return ALPS's walk through a box, block by block; shape (cells, dimensions).

    Blocks at the far sides are cut to the box. A box of other dimensions than the block's is one block.
    """
    return snake(extents, block if len(extents) == len(block) else extents)


def _axes(topology: Topology, extents: Coordinate) -> NDArray[np.int64]:
    """Return the first node, then one at each hop count along X, Y, Z: indices into `topology.nodes`."""
    counts = np.diff(np.append(topology.first_node, len(topology.router_of_node)))
    found = [topology.first_node[0]]
    for d, extent in enumerate(extents):
        per_router = int(counts.max()) if d == NODES_ALONG else 1
        stride = math.prod(topology.extents[d + 1 :])
        for hops in range(1, extent * per_router // 2 + 1):
            at, slot = divmod(hops, per_router)
            if slot < counts[at * stride]:
                found.append(topology.first_node[at * stride] + slot)
    return np.array(found, dtype=np.int64)


def _nodes_of(topology: Topology, routers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Indices of the nodes behind routers, router by router, slot by slot."""
    numbers = np.ravel_multi_index(tuple(routers.T), topology.extents)
    counts = np.diff(np.append(topology.first_node, len(topology.router_of_node)))[numbers]
    within_router = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    nodes: NDArray[np.int64] = np.repeat(topology.first_node[numbers], counts) + within_router
    return nodes
