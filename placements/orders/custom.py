"""The order `custom`: a grid laid over a block of the torus, so that grid neighbours become torus neighbours.

Both nodes of a router count along Y (Peña et al., EuroMPI'13, section 4.1). A kind's coordinates may have any number of
dimensions. Leaves out blocks with gaps; there `optimised` finds what fits.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from placements.arrays import NDArray, np
from placements.orders.allocation import Allocation, boustrophedon, row_major
from placements.topology.base import Topology
from railyard.base.errors import InputError

Grid = tuple[int, ...]


def matched(allocation: Allocation, grid: Grid, ranks_per_node: int) -> NDArray[np.int64]:
    """The node of each rank; InputError when the block has gaps, or lists the grids that fit."""
    box = _box(allocation)
    if box is None:
        held = f"{len(allocation.indices)} nodes of {'x'.join(map(str, allocation.block))} routers"
        valid = "for custom every node of a block; for an allocation with gaps: optimised, hilbert, blocks"
        raise InputError("placement", "allocation", held, valid)
    if found := _layout(box, grid, ranks_per_node):
        groups, inside = found
        return _lay(allocation, grid, inside, groups=groups, box=box)
    raise InputError("placement", "grid", "x".join(map(str, grid)), _matching(box, len(grid), ranks_per_node))


def _layout(box: Grid, grid: Grid, ranks_per_node: int) -> tuple[tuple[tuple[int, ...], ...], Grid] | None:
    """Return which of a box's dimensions each of a grid's covers, and the grid on a node; None where none fits."""
    for groups in _groupings(len(grid), len(box)):
        for inside in grids(ranks_per_node, len(grid)):
            if all(
                g == f * math.prod(box[d] for d in group)
                for g, f, group in zip(grid, inside, groups, strict=True)
            ):
                return groups, inside
    return None


def impossible(topology: Topology, grid: Grid, ranks_per_node: int) -> str:
    """Return why no box of a machine's nodes takes a grid, in one line; empty where one does."""
    most = topology.box_of_cells(topology.extents)
    nodes = math.prod(grid) // ranks_per_node
    boxes = itertools.product(*(range(1, extent + 1) for extent in most[:-1]))
    for box in ((*front, nodes // math.prod(front)) for front in boxes if nodes % math.prod(front) == 0):
        if box[-1] <= most[-1] and _layout(box, grid, ranks_per_node):
            return ""
    here = "x".join(map(str, most))
    return f"the grid {'x'.join(map(str, grid))} fits no box of {here} nodes, {ranks_per_node} ranks per node"


def _box(allocation: Allocation) -> Grid | None:
    """Nodes along each axis of a whole block, or of a box from the origin that has all its nodes; None with gaps."""
    if allocation.is_whole_block:
        return allocation.topology.box_of_cells(allocation.block)
    most = allocation.topology.cells(allocation.indices).max(axis=0) + 1
    return tuple(most.tolist()) if most.prod() == len(allocation.indices) else None


def _lay(
    allocation: Allocation, grid: Grid, inside: Grid, *, groups: tuple[tuple[int, ...], ...], box: Grid
) -> NDArray[np.int64]:
    """Grid position -> node. A grid dimension that covers several torus dimensions walks them in a snake."""
    outer = row_major(grid) // np.array(inside)
    cell = np.zeros((len(outer), len(box)), dtype=np.int64)
    for dimension, group in enumerate(groups):
        if group:
            walk = boustrophedon(tuple(box[d] for d in group))
            cell[:, list(group)] = walk[outer[:, dimension]]
    return allocation.topology.nodes_in(cell)


def _groupings(dimensions: int, axes: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Every way to give the box's axes to the grid's dimensions; the natural one first."""
    owners = itertools.product(range(dimensions), repeat=axes)
    for owner in sorted(owners, key=lambda o: sum(abs(d - g) for d, g in enumerate(o))):
        yield tuple(tuple(d for d in range(axes) if owner[d] == g) for g in range(dimensions))


def grids(ranks: int, dimensions: int) -> Iterator[Grid]:
    """Every grid of that many ranks."""
    if dimensions == 1:
        yield (ranks,)
        return
    for extent in range(1, ranks + 1):
        if ranks % extent == 0:
            for rest in grids(ranks // extent, dimensions - 1):
                yield (extent, *rest)


def _matching(box: Grid, dimensions: int, ranks_per_node: int) -> str:
    fitting = {
        tuple(f * math.prod(box[d] for d in group) for f, group in zip(inside, groups, strict=True))
        for groups in _groupings(dimensions, len(box))
        for inside in grids(ranks_per_node, dimensions)
    }
    some = ["x".join(map(str, g)) for g in sorted(fitting, key=lambda g: (max(g), g))]
    nodes = "x".join(map(str, box))
    return f"for custom on {nodes} nodes: {', '.join(some[:8])}{', ...' if len(some) > 8 else ''}"
