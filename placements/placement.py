"""Placements: which node each rank runs on, for a program whose ranks form a grid.

A rank's place in the grid is row-major (the last dimension fastest), as MPI_Cart_create numbers it in Open MPI, MPICH
and SMPI; so a placement says the same to every program, and the program needs no option. Peña et al. (EuroMPI'13,
section 4.3) renumber the ranks inside the program instead; the traffic is the same.

    plain        grid positions, the first dimension fastest, take the allocation's slots in order (their "Plain")
    cart-create  rank k takes slot k (their "Cart_create")
    custom       grid neighbours become torus neighbours (their "Custom")
    random       ranks take the slots in an order drawn from a seed

A slot is room for one rank; the slots of a node are consecutive.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from placements.allocation import Allocation, boustrophedon, row_major
from placements.topology import Node
from railyard.errors import InputError

Grid = tuple[int, ...]


class Kind(StrEnum):
    """The placements there are."""

    PLAIN = "plain"
    CART_CREATE = "cart-create"
    CUSTOM = "custom"
    RANDOM = "random"


@dataclass(frozen=True, kw_only=True, eq=False)
class Placement:
    """Rank -> node: `indices[rank]` into `topology.nodes`; shape (ranks,)."""

    kind: Kind
    grid: Grid
    allocation: Allocation
    indices: NDArray[np.int64]

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The node of each rank."""
        return tuple(self.allocation.topology.nodes[i] for i in self.indices)

    def mean_hops(self) -> float:
        """Mean hops between neighbours of the periodic grid, over both directions of all its dimensions."""
        topology = self.allocation.topology
        at = topology.node_coordinates[self.indices].reshape(*self.grid, 3)
        far = [topology.hops(at, np.roll(at, -1, axis=d)) for d, e in enumerate(self.grid) if e > 1]
        return float(np.mean(far)) if far else 0.0


def place(
    kind: str, allocation: Allocation, grid: Grid, *, ranks_per_node: int = 1, seed: int | None = None
) -> Placement:
    """Place the ranks of a grid on an allocation.

    Raises InputError for an unknown kind, more ranks than slots, a grid that `custom` cannot match to the nodes (the
    message lists those it can), or `random` without a seed.
    """
    if kind not in set(Kind):
        raise InputError("placement", "", kind, ", ".join(Kind))
    if not grid or min(grid) < 1:
        raise InputError("placement", "grid", "x".join(map(str, grid)), "extents of at least 1")
    slots = np.repeat(allocation.indices, ranks_per_node)
    ranks = math.prod(grid)
    if ranks > len(slots):
        raise InputError(
            "placement", "grid", "x".join(map(str, grid)), f"at most {len(slots)} ranks, one a slot"
        )
    match Kind(kind):
        case Kind.PLAIN:
            indices = slots[np.ravel_multi_index(tuple(row_major(grid).T), grid, order="F")]
        case Kind.CART_CREATE:
            indices = slots[:ranks]
        case Kind.CUSTOM:
            indices = _matched(allocation, grid, ranks_per_node)
        case Kind.RANDOM:
            if seed is None:
                raise InputError("placement", "seed", seed, "an integer, for the placement random")
            indices = np.random.default_rng(seed).permutation(slots[:ranks])
    return Placement(kind=Kind(kind), grid=grid, allocation=allocation, indices=indices)


def check_ranks(grid: Grid, ranks: int) -> None:
    """InputError unless the grid holds exactly that many ranks."""
    if math.prod(grid) != ranks:
        options = ", ".join("x".join(map(str, g)) for g in _grids(ranks, len(grid)))
        raise InputError("placement", "grid", "x".join(map(str, grid)), f"a product of {ranks}: {options}")


def _matched(allocation: Allocation, grid: Grid, ranks_per_node: int) -> NDArray[np.int64]:
    """Lay the grid over the block of nodes; both nodes of a router count along Y (Peña et al., section 4.1)."""
    topology = allocation.topology
    x, y, z = allocation.block
    box = (x, y * topology.nodes_per_router, z)
    for groups in _groupings(len(grid)):
        for inside in _grids(ranks_per_node, len(grid)):
            if all(
                g == f * math.prod(box[d] for d in group)
                for g, f, group in zip(grid, inside, groups, strict=True)
            ):
                return _lay(allocation, grid, inside, groups, box)
    raise InputError("placement", "grid", "x".join(map(str, grid)), _matching(box, len(grid), ranks_per_node))


def _lay(
    allocation: Allocation, grid: Grid, inside: Grid, groups: tuple[tuple[int, ...], ...], box: Grid
) -> NDArray[np.int64]:
    """Grid position -> node. A grid dimension that covers several torus dimensions walks them in a snake."""
    topology = allocation.topology
    outer = row_major(grid) // np.array(inside)
    cell = np.zeros((len(outer), 3), dtype=np.int64)
    for dimension, group in enumerate(groups):
        if group:
            walk = boustrophedon(tuple(box[d] for d in group))
            cell[:, list(group)] = walk[outer[:, dimension]]
    slot = cell[:, 1] % topology.nodes_per_router
    cell[:, 1] //= topology.nodes_per_router
    router = np.ravel_multi_index(tuple(cell.T), topology.extents)
    return np.asarray(router * topology.nodes_per_router + slot, dtype=np.int64)


def _groupings(dimensions: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Every way to give the torus's X, Y, Z to the grid's dimensions; the natural one first."""
    owners = itertools.product(range(dimensions), repeat=3)
    for owner in sorted(owners, key=lambda o: sum(abs(d - g) for d, g in enumerate(o))):
        yield tuple(tuple(d for d in range(3) if owner[d] == g) for g in range(dimensions))


def _grids(ranks: int, dimensions: int) -> Iterator[Grid]:
    """Every grid of that many ranks."""
    if dimensions == 1:
        yield (ranks,)
        return
    for extent in range(1, ranks + 1):
        if ranks % extent == 0:
            for rest in _grids(ranks // extent, dimensions - 1):
                yield (extent, *rest)


def _matching(box: Grid, dimensions: int, ranks_per_node: int) -> str:
    grids = {
        tuple(f * math.prod(box[d] for d in group) for f, group in zip(inside, groups, strict=True))
        for groups in _groupings(dimensions)
        for inside in _grids(ranks_per_node, dimensions)
    }
    some = ["x".join(map(str, g)) for g in sorted(grids, key=lambda g: (max(g), g))]
    nodes = "x".join(map(str, box))
    return f"for custom on {nodes} nodes: {', '.join(some[:8])}{', ...' if len(some) > 8 else ''}"
