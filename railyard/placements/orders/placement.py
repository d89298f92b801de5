"""Placements: which node each rank runs on, for a program whose ranks form a grid.

A rank's position in the grid is row-major (the last dimension fastest), as MPI_Cart_create numbers it in Open MPI,
MPICH and SMPI. A placement therefore means the same for every program, and the program needs no option. Peña et al.
(EuroMPI'13, section 4.3) renumber the ranks inside the program instead; the traffic is the same.

A placement is node choice x rank order x binding, written as one name (`railyard.placements.orders.spec`): which of the
granted nodes the job takes, which slot each rank takes, what a rank is bound to. A slot is room for one rank; the slots
of a node are consecutive. docs/placements.md shows every order.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

from railyard.base.errors import InputError
from railyard.placements.arrays import Ints, np
from railyard.placements.hosts.node import Binding
from railyard.placements.linkload.rails import local_ranks
from railyard.placements.linkload.traffic import Traffic
from railyard.placements.orders import spec
from railyard.placements.orders.allocation import Allocation
from railyard.placements.orders.choices import DEFAULT, choose
from railyard.placements.orders.rank_orders import Effort, PlacementJob, RankOrder
from railyard.placements.orders.walks import Grid, grids, text
from railyard.placements.topology.base import Node


@dataclass(frozen=True, kw_only=True, eq=False)
class Placement:
    """The node of each rank: `indices` into `topology.nodes`, shape (ranks,); `allocation` has the chosen nodes."""

    order: RankOrder
    grid: Grid
    allocation: Allocation
    indices: Ints
    ranks_per_node: int = 1
    binding: Binding = Binding.NONE

    @functools.cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Return the node of each rank."""
        nodes = self.allocation.topology.nodes
        return tuple(nodes[index] for index in self.indices.tolist())

    @functools.cached_property
    def local_ranks(self) -> Ints:
        """Return each rank's number among the ranks of its node, in the order of ranks; shape (ranks,)."""
        return local_ranks(self.indices)

    def mean_hops(self) -> float:
        """Return the mean hops between neighbours of the periodic grid, over both directions of all its dimensions."""
        topology = self.allocation.topology
        at = topology.node_coordinates[self.indices].reshape(*self.grid, -1)
        hops = [topology.hops(at, np.roll(at, -1, axis=d)) for d, e in enumerate(self.grid) if e > 1]
        return float(np.mean(hops)) if hops else 0.0


def place(
    name: str,
    allocation: Allocation,
    grid: Grid,
    *,
    ranks_per_node: int = 1,
    seed: int | None = None,
    traffic: Traffic | None = None,
    effort: Effort | None = None,
) -> Placement:
    """Place the ranks of a grid on an allocation.

    `seed` is for a random order or choice without a seed in the name. `traffic` (default: a stencil's faces) and
    `effort` are for `optimised`. Raises InputError for a name that is no placement's, more ranks than slots, and for
    what the order or the choice refuses.
    """
    parts = spec.parse(name)
    order, choice = parts.order, parts.choice
    if not grid or min(grid) < 1:
        raise InputError("placement", "grid", text(grid), "extents of at least 1")
    ranks = math.prod(grid)
    slots = len(allocation.indices) * ranks_per_node
    if ranks > slots:
        problem = f"{text(grid)} is {ranks} ranks, the nodes have {slots} slots"
        raise InputError("placement", "grid", problem=problem, valid=f"at most {slots} ranks, or more ranks per node")
    if choice.name != DEFAULT or not order.all_nodes:
        default = seed if choice.has_seed else None
        number = parts.choice_number if parts.choice_number is not None else default
        allocation = choose(allocation, math.ceil(ranks / ranks_per_node), choice.name, number)
    job = PlacementJob(
        allocation=allocation,
        grid=grid,
        ranks_per_node=ranks_per_node,
        seed=parts.seed(seed),
        argument=parts.argument,
        traffic=traffic,
        effort=effort,
    )
    return Placement(
        order=order,
        grid=grid,
        allocation=allocation,
        indices=order.place(job),
        ranks_per_node=ranks_per_node,
        binding=parts.binding,
    )


def check_ranks(grid: Grid, ranks: int) -> None:
    """Raise InputError unless the grid holds exactly that many ranks."""
    if math.prod(grid) != ranks:
        options = ", ".join(map(text, grids(ranks, len(grid))))
        raise InputError("placement", "grid", text(grid), f"a product of {ranks}: {options}")
