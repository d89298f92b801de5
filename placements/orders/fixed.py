"""Rank orders: in which order the ranks of a grid take the slots of the chosen nodes. Pure, all ranks at once.

plain        grid positions, the first dimension fastest, take the slots in order (Peña et al.'s "Plain")
cart-create  rank k takes slot k: what MPI_Cart_create does, whose reordering is the identity (their "Cart_create")
scheduler    the same ranks on the same slots, but the launcher is told nothing: what a user gets who asks nothing
custom       grid neighbours become torus neighbours (their "Custom"; `placements.orders.custom`)
snake        rank k takes slot k of the nodes sorted along ALPS's walk, 4x2x8 routers at a time, or so many as are named
by-group     rank k takes slot k of the nodes sorted by group (`by_group`)
by-switch    the same by group and switch
blocks       each node takes a block of AxBxC ranks of the grid, blocks in row-major order (Pedretti et al.'s remap)
hilbert      the grid along its Hilbert curve onto the nodes along theirs; both nodes of a router count along Y
random       ranks take the slots in an order drawn from a seed
file         line k of a host file is the node of rank k
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from placements.arrays import Ints, np
from placements.hosts import hostfile
from placements.orders import by_group, hilbert
from placements.orders.allocation import ALPS_BLOCK, Allocation, alps_walk, row_major
from placements.orders.custom import Grid, grids, matched
from placements.orders.spec import Kind
from placements.topology.base import Coordinate, Topology
from railyard.base.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Job:
    """What is to be placed: the ranks of a grid on an allocation. `argument` as in the placement's name."""

    allocation: Allocation
    grid: Grid
    ranks_per_node: int
    seed: int | None = None
    argument: str = ""

    @property
    def ranks(self) -> int:
        return math.prod(self.grid)

    @property
    def slots(self) -> Ints:
        """The node of each slot, one slot a rank, in the scheduler's order."""
        return np.repeat(self.allocation.indices, self.ranks_per_node)[: self.ranks]

    def along(self, walk: Ints) -> Ints:
        """The node of each slot, nodes in the order of `walk` (places in the allocation)."""
        return np.repeat(self.allocation.indices[walk], self.ranks_per_node)[: self.ranks]


def ordered(kind: Kind, job: Job) -> Ints:
    """The node of each rank under an order that needs no traffic; InputError for what the order cannot do."""
    match kind:
        case Kind.PLAIN:
            return job.slots[_column_major(job.grid)]
        case Kind.CART_CREATE | Kind.SCHEDULER:
            return job.slots
        case Kind.CUSTOM:
            return matched(job.allocation, job.grid, job.ranks_per_node)
        case Kind.SNAKE:
            return job.along(snake_walk(job.allocation, walk_block(job)))
        case Kind.BY_GROUP | Kind.BY_SWITCH:
            return job.along(by_group.walk(job.allocation, by_switch=kind == Kind.BY_SWITCH))
        case Kind.BLOCKS:
            return job.slots[_by_blocks(job)]
        case Kind.HILBERT:
            return _inverse(hilbert.order(row_major(job.grid)), job.along(hilbert_walk(job.allocation)))
        case Kind.RANDOM:
            if job.seed is None:
                raise InputError(
                    "placement",
                    "",
                    problem="random has no seed",
                    valid="random:SEED, such as random:1, or --seed SEED",
                )
            return np.random.default_rng(job.seed).permutation(job.slots)
        case Kind.FILE:
            return _from_file(job)
        case Kind.OPTIMISED:
            raise ValueError("optimised needs traffic; see placements.orders.optimiser")


def cells(allocation: Allocation) -> Ints:
    """Return the lattice position of each chosen node (`Topology.cells`)."""
    return allocation.topology.cells(allocation.indices)


def snake_walk(allocation: Allocation, block: Coordinate = ALPS_BLOCK) -> Ints:
    """Places in the allocation, sorted along ALPS's walk through the whole machine, block by block."""
    topology = allocation.topology
    return np.argsort(_walk_places(topology, block)[allocation.indices], kind="stable")


def walk_block(job: Job) -> Coordinate:
    """Return the building block of `snake`, in routers; InputError unless its argument is none or AxBxC."""
    words = job.argument.split("x") if job.argument else list(map(str, ALPS_BLOCK))
    block = tuple(int(word) for word in words) if all(word.isdecimal() for word in words) else ()
    if len(block) != len(ALPS_BLOCK) or min(block) < 1:
        raise InputError("placement", "snake", job.argument, "AxBxC routers, each at least 1, such as 8x8x8")
    return block


def hilbert_walk(allocation: Allocation) -> Ints:
    """Places in the allocation, sorted along a Hilbert curve through the machine."""
    return hilbert.order(cells(allocation))


def block_extents(job: Job, text: str) -> Grid:
    """The block that `text` says; InputError unless it holds a node's ranks and divides the grid."""
    words = text.split("x")
    valid = [shape for shape in grids(job.ranks_per_node, len(job.grid)) if _divides(shape, job.grid)]
    shape = tuple(int(word) for word in words) if all(word.isdecimal() for word in words) else ()
    if shape not in valid:
        some = (
            ", ".join("x".join(map(str, v)) for v in valid[:8])
            or "none: the ranks of a node do not divide it"
        )
        grid = "x".join(map(str, job.grid))
        rule = f"{job.ranks_per_node} ranks a node that divide the grid {grid}: {some}"
        raise InputError("placement", "blocks", text, rule)
    return shape


def blocked(grid: Grid, block: Grid) -> Ints:
    """The slot of each rank when blocks of the grid follow one another; row-major among and within blocks."""
    at = row_major(grid)
    outer, inner = at // np.array(block), at % np.array(block)
    counts = tuple(g // b for g, b in zip(grid, block, strict=True))
    place = np.ravel_multi_index(tuple(outer.T), counts) * math.prod(block)
    return np.asarray(place + np.ravel_multi_index(tuple(inner.T), block), dtype=np.int64)


def _by_blocks(job: Job) -> Ints:
    """The slot of each rank; the nodes of a router take blocks that share their largest faces, if the grid allows."""
    block = block_extents(job, job.argument)
    shapes = grids(job.allocation.topology.nodes_per_router, len(job.grid))
    groups = [group for shape in shapes if _divides(group := _product(shape, block), job.grid)]
    group = min(groups, key=_surface, default=block)
    outer, within = blocked(job.grid, group), blocked(group, block)
    # `outer` numbers the ranks of a group row-major; `within` puts them in the order of their blocks.
    return np.asarray(outer // len(within) * len(within) + within[outer % len(within)], dtype=np.int64)


def _product(one: Grid, other: Grid) -> Grid:
    return tuple(a * b for a, b in zip(one, other, strict=True))


def _surface(box: Grid) -> int:
    """Half the cells on its sides."""
    return sum(math.prod(box) // side for side in box)


def _divides(shape: Grid, grid: Grid) -> bool:
    return all(g % s == 0 for g, s in zip(grid, shape, strict=True))


def _column_major(grid: Grid) -> Ints:
    return np.asarray(np.ravel_multi_index(tuple(row_major(grid).T), grid, order="F"), dtype=np.int64)


def _inverse(ranks: Ints, nodes: Ints) -> Ints:
    """The node of each rank when the k-th of `ranks` takes the k-th of `nodes`."""
    found = np.empty_like(nodes)
    found[ranks] = nodes
    return found


def _walk_places(topology: Topology, block: Coordinate) -> Ints:
    """Each node's place on ALPS's walk; shape (nodes,)."""
    routers = np.ravel_multi_index(tuple(alps_walk(topology.extents, block).T), topology.extents)
    place = _inverse(routers, np.arange(len(routers)))
    return np.argsort(np.argsort(place[topology.router_of_node], kind="stable"), kind="stable")


def _from_file(job: Job) -> Ints:
    path = Path(job.argument)
    found = hostfile.read(path, job.allocation.topology, most=job.ranks_per_node)
    if len(found) != job.ranks:
        raise InputError(
            str(path), "", problem=f"{len(found)} lines", valid=f"{job.ranks}: one for each rank"
        )
    strange = np.flatnonzero(~np.isin(found, job.allocation.indices))
    if len(strange):
        name = job.allocation.topology.nodes[found[strange[0]]].name
        raise InputError(str(path), f"rank {strange[0]}", name, "a node of the allocation")
    return found
