"""Placements: which node each rank runs on, for a program whose ranks form a grid.

A rank's place in the grid is row-major (the last dimension fastest), as MPI_Cart_create numbers it in Open MPI, MPICH
and SMPI; so a placement says the same to every program, and the program needs no option. Peña et al. (EuroMPI'13,
section 4.3) renumber the ranks inside the program instead; the traffic is the same.

A placement is node choice x rank order x binding, written as one name (`placements.orders.spec`): which of the granted
nodes the job takes, in which order its ranks take their slots, what a rank is bound to. A slot is room for one rank;
the slots of a node are consecutive. docs/placements.md shows every order.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

from placements.arrays import NDArray, np
from placements.hosts.binding import Binding
from placements.linkload.traffic import Traffic
from placements.orders import fixed, optimiser, spec
from placements.orders.allocation import Allocation, choose
from placements.orders.custom import Grid, grids
from placements.orders.spec import Kind
from placements.topology.base import Node
from railyard.base.errors import InputError


@dataclass(frozen=True, kw_only=True, eq=False)
class Placement:
    """Rank -> node: `indices[rank]` into `topology.nodes`; shape (ranks,). `allocation` holds the nodes chosen."""

    kind: Kind
    grid: Grid
    allocation: Allocation
    indices: NDArray[np.int64]
    ranks_per_node: int = 1
    binding: Binding = Binding.NONE

    @functools.cached_property
    def nodes(self) -> tuple[Node, ...]:
        """The node of each rank."""
        nodes = self.allocation.topology.nodes
        return tuple(nodes[index] for index in self.indices.tolist())

    @functools.cached_property
    def local_ranks(self) -> NDArray[np.int64]:
        """Each rank's number among the ranks of its node, in the order of ranks; shape (ranks,)."""
        by_node = np.argsort(self.indices, kind="stable")
        nodes = self.indices[by_node]
        first = np.searchsorted(nodes, nodes, side="left")
        local = np.empty(len(nodes), dtype=np.int64)
        local[by_node] = np.arange(len(nodes)) - first
        return local

    def mean_hops(self) -> float:
        """Mean hops between neighbours of the periodic grid, over both directions of all its dimensions."""
        topology = self.allocation.topology
        at = topology.node_coordinates[self.indices].reshape(*self.grid, -1)
        far = [topology.hops(at, np.roll(at, -1, axis=d)) for d, e in enumerate(self.grid) if e > 1]
        return float(np.mean(far)) if far else 0.0


def place(
    name: str,
    allocation: Allocation,
    grid: Grid,
    *,
    ranks_per_node: int = 1,
    seed: int | None = None,
    traffic: Traffic | None = None,
    effort: optimiser.Effort | None = None,
) -> Placement:
    """Place the ranks of a grid on an allocation.

    `seed` serves what is random and has no seed in its name. `traffic` (default: a stencil's faces) and `effort` serve
    `optimised`. Raises InputError for a name that says no placement, more ranks than slots, ranks that do not divide,
    a grid that `custom` cannot match to the nodes (the message lists those it can), or `random` without a seed.
    """
    said = spec.parse(name)
    if not grid or min(grid) < 1:
        raise InputError("placement", "grid", "x".join(map(str, grid)), "extents of at least 1")
    ranks = math.prod(grid)
    room = len(allocation.indices) * ranks_per_node
    if ranks > room:
        raise InputError("placement", "grid", "x".join(map(str, grid)), f"at most {room} ranks, one a slot")
    nodes = len(allocation.indices) if said.order == Kind.FILE else math.ceil(ranks / ranks_per_node)
    if said.choice != "contiguous" or said.order != Kind.CUSTOM:
        otherwise = seed if said.choice.argument == "SEED" else None
        number = said.choice_seed if said.choice_seed is not None else otherwise
        allocation = choose(allocation, nodes, said.choice, number)
    job = fixed.Job(
        allocation=allocation,
        grid=grid,
        ranks_per_node=ranks_per_node,
        seed=said.seed(seed),
        argument=said.argument,
    )
    if said.order == Kind.OPTIMISED:
        indices = optimiser.optimised(job, traffic, effort or optimiser.Effort())
    else:
        indices = fixed.ordered(said.order, job)
    return Placement(
        kind=said.order,
        grid=grid,
        allocation=allocation,
        indices=indices,
        ranks_per_node=ranks_per_node,
        binding=said.binding,
    )


def check_ranks(grid: Grid, ranks: int) -> None:
    """InputError unless the grid holds exactly that many ranks."""
    if math.prod(grid) != ranks:
        options = ", ".join("x".join(map(str, g)) for g in grids(ranks, len(grid)))
        raise InputError("placement", "grid", "x".join(map(str, grid)), f"a product of {ranks}: {options}")
