"""The order `snake`: ranks on the nodes sorted along ALPS's walk (Peña et al., EuroMPI'13, section 3.3)."""

from __future__ import annotations

from railyard.base.errors import InputError
from railyard.placements.arrays import Ints, np
from railyard.placements.orders.allocation import Allocation
from railyard.placements.orders.rank_orders import PlacementJob, RankOrder
from railyard.placements.orders.walks import ALPS_BLOCK, alps_walk, inverse
from railyard.placements.topology.base import Coordinate


def place(job: PlacementJob) -> Ints:
    """Return the node of each rank; InputError unless the argument is empty or AxBxC routers."""
    words = job.argument.split("x") if job.argument else list(map(str, ALPS_BLOCK))
    block = tuple(int(word) for word in words) if all(word.isdecimal() for word in words) else ()
    if len(block) != len(ALPS_BLOCK) or min(block) < 1:
        raise InputError("placement", "snake", job.argument, "AxBxC routers, each at least 1, such as 8x8x8")
    return job.along(walk(job.allocation, block))


def walk(allocation: Allocation, block: Coordinate = ALPS_BLOCK) -> Ints:
    """Return positions in the allocation, sorted along ALPS's walk through the whole machine, block by block."""
    topology = allocation.topology
    routers = np.ravel_multi_index(tuple(alps_walk(topology.extents, block).T), topology.extents)
    position = inverse(routers, np.arange(len(routers)))
    return np.lexsort((allocation.indices, position[topology.router_of_node[allocation.indices]]))


ORDER = RankOrder(
    name="snake",
    does="rank k takes slot k of the nodes sorted along ALPS's walk, 4x2x8 routers at a time; `snake:8x8x8` is its "
    "first rule",
    after="ALPS",
    argument="AxBxC",
    place=place,
    needs_coordinates=True,
    start=3,
)
