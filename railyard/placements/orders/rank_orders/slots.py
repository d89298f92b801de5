"""The orders of slots: as they are, sorted, by rail, in an order drawn from a seed, or as a host file has them.

`snake` sorts the nodes along ALPS's walk (Peña et al., EuroMPI'13, section 3.3). By rail neighbouring ranks take the
same slot of different nodes, and so the same NIC.
"""

from __future__ import annotations

from pathlib import Path

from railyard.base.errors import InputError
from railyard.placements.arrays import Ints, np
from railyard.placements.hosts import hostfile
from railyard.placements.orders.allocation import Allocation
from railyard.placements.orders.rank_orders import PlacementJob, RankOrder
from railyard.placements.orders.walks import ALPS_BLOCK, alps_walk, inverse, row_major
from railyard.placements.topology.base import Coordinate


def plain(job: PlacementJob) -> Ints:
    """Return the node of each rank, grid positions with the first dimension fastest."""
    slots: Ints = job.slots[np.ravel_multi_index(tuple(row_major(job.grid).T), job.grid, order="F")]
    return slots


def shuffled(job: PlacementJob) -> Ints:
    """Return the node of each rank in an order drawn from a seed; InputError without one."""
    if job.seed is None:
        valid = "random:SEED, such as random:1, or --seed SEED"
        raise InputError("placement", "", problem="random has no seed", valid=valid)
    return np.random.default_rng(job.seed).permutation(job.slots)


def by_rail(job: PlacementJob) -> Ints:
    """Return the node of each rank: the first slot of every node, sorted by group and switch, then the second."""
    nodes = job.along(np.argsort(job.allocation.switches, kind="stable"))
    return _dealt(nodes, np.zeros(len(nodes), dtype=np.int64))


def by_pod_rail(job: PlacementJob) -> Ints:
    """Return the node of each rank: pod by pod, in each as `by_rail`; a network without groups is one pod."""
    allocation = job.allocation
    pods = allocation.groups if allocation.topology.has_groups else np.zeros(len(allocation.indices), np.int64)
    walk = np.lexsort((allocation.switches, pods))
    return _dealt(job.along(walk), np.repeat(pods[walk], job.ranks_per_node)[: job.ranks])


def _dealt(nodes: Ints, group: Ints) -> Ints:
    """Return slots by group, by their number on their node, and then in order; the slots of a node are consecutive."""
    begins = np.diff(nodes, prepend=-1) != 0
    node = np.cumsum(begins) - 1
    slot = np.arange(len(nodes)) - np.flatnonzero(begins)[node]
    return np.asarray(nodes[np.lexsort((node, slot, group))], dtype=np.int64)


def from_file(job: PlacementJob) -> Ints:
    """Return the node of each rank; InputError for another number of lines, or a node that was not granted."""
    path = Path(job.argument)
    nodes = hostfile.of_ranks(path, job.allocation.topology, most=job.ranks_per_node)
    if len(nodes) != job.ranks:
        valid = f"{job.ranks}: one for each rank"
        raise InputError(str(path), "", problem=f"{len(nodes)} lines", valid=valid)
    strange = np.flatnonzero(~np.isin(nodes, job.allocation.indices))
    if len(strange):
        name = job.allocation.topology.nodes[nodes[strange[0]]].name
        raise InputError(str(path), f"rank {strange[0]}", name, "a node of the allocation")
    return nodes


def along_snake(job: PlacementJob) -> Ints:
    """Return the node of each rank; InputError unless the argument is empty or AxBxC routers."""
    words = job.argument.split("x") if job.argument else list(map(str, ALPS_BLOCK))
    block = tuple(int(word) for word in words) if all(word.isdecimal() for word in words) else ()
    if len(block) != len(ALPS_BLOCK) or min(block) < 1:
        raise InputError("placement", "snake", job.argument, "AxBxC routers, each at least 1, such as 8x8x8")
    return job.along(snake_walk(job.allocation, block))


def snake_walk(allocation: Allocation, block: Coordinate = ALPS_BLOCK) -> Ints:
    """Return positions in the allocation, sorted along ALPS's walk through the whole machine, block by block."""
    topology = allocation.topology
    routers = np.ravel_multi_index(tuple(alps_walk(topology.extents, block).T), topology.extents)
    position = inverse(routers, np.arange(len(routers)))
    return np.lexsort((allocation.indices, position[topology.router_of_node[allocation.indices]]))


ORDERS = (
    # A torus has no groups.
    RankOrder(
        name="by-group",
        does="rank k takes slot k of the nodes sorted by group; within a group the scheduler's order stays",
        place=lambda job: job.along(np.argsort(job.allocation.groups, kind="stable")),
        needs_coordinates=True,
        start=6,
    ),
    # On a torus, by router.
    RankOrder(
        name="by-switch",
        does="rank k takes slot k of the nodes sorted by group and switch",
        place=lambda job: job.along(np.argsort(job.allocation.switches, kind="stable")),
        needs_coordinates=True,
        start=7,
    ),
    RankOrder(
        name="cart-create",
        does="rank k takes slot k; MPI_Cart_create's own reordering is the identity in Open MPI, MPICH and SMPI",
        after='Peña et al., "Cart_create"',
        place=lambda job: job.slots,
        start=1,
    ),
    RankOrder(
        name="plain",
        does="grid positions, first dimension fastest, take the slots in order",
        after='Peña et al., "Plain"',
        place=plain,
        needs_grid=True,
        start=2,
    ),
    RankOrder(name="random", does="an order drawn from a seed", argument="SEED", example="1", place=shuffled),
    # What a user gets who requests nothing.
    RankOrder(
        name="scheduler",
        does="the same as `cart-create`; the launcher gets the chosen nodes and fills them in its own block order",
        place=lambda job: job.slots,
        determined=False,
        by_launcher=True,
    ),
    RankOrder(
        name="by-pod-rail",
        does="pod by pod (group), in each of them as `by-rail`",
        place=by_pod_rail,
        needs_coordinates=True,
        start=9,
    ),
    RankOrder(
        name="by-rail",
        does="neighbouring ranks take one slot of each node, sorted by group and switch: one NIC under one-per-rank",
        place=by_rail,
        needs_coordinates=True,
        start=8,
    ),
    RankOrder(
        name="file",
        does="line k of a host file is the node of rank k",
        argument="PATH",
        needs_argument=True,
        place=from_file,
        determined=False,
        all_nodes=True,
    ),
    RankOrder(
        name="snake",
        does="rank k takes slot k of the nodes sorted along ALPS's walk, 4x2x8 routers at a time; `snake:8x8x8` is its "
        "first rule",
        after="ALPS",
        argument="AxBxC",
        place=along_snake,
        needs_coordinates=True,
        start=3,
    ),
)
