"""The orders by boxes: `blocks`, a box of the grid for each node, and `custom`, the grid on a block of the torus.

`blocks`: each node takes a box of AxBxC ranks of the grid, boxes in row-major order. Pedretti et al., CUG'13: a remap
of 1x1x16 to 2x2x4. The nodes of a router take boxes that share their largest face, if the grid allows.

`custom`: grid neighbours become torus neighbours. The two nodes of a router count as neighbours along Y (Peña et al.,
EuroMPI'13, section 4.1). Coordinates may have any number of dimensions. Leaves out: blocks with gaps, for which
`optimised` can be used.

`folded` gives grids that `custom` does not: an axis of the box is shared by two dimensions of the grid. An 8x8 grid on
4x4x4 nodes needs half of an axis for each dimension: a row is 4 nodes along X times 2 of Y. The two parts of an axis
are walked there and back, so that a step in the slower part is short where the ring closes (on 4 nodes it is always one
hop, as in a Gray code).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from railyard.base.errors import InputError
from railyard.placements.arrays import Ints, np
from railyard.placements.orders.allocation import Allocation
from railyard.placements.orders.rank_orders import PlacementJob, RankOrder
from railyard.placements.orders.walks import Grid, boustrophedon, divides, grids, row_major, text
from railyard.placements.topology.base import Topology


def place_blocks(job: PlacementJob) -> Ints:
    """Return the node of each rank; InputError for a block of another size, or that does not divide the grid."""
    words = job.argument.split("x")
    fitting = [shape for shape in grids(job.ranks_per_node, len(job.grid)) if divides(shape, job.grid)]
    block = tuple(int(word) for word in words) if all(word.isdecimal() for word in words) else ()
    if block not in fitting:
        some = ", ".join(map(text, fitting[:8])) or "none: the ranks of a node do not divide it"
        rule = f"{job.ranks_per_node} ranks per node that divide the grid {text(job.grid)}: {some}"
        raise InputError("placement", "blocks", job.argument, rule)
    shapes = grids(job.allocation.topology.nodes_per_router, len(job.grid))
    boxes = (tuple(a * b for a, b in zip(shape, block, strict=True)) for shape in shapes)
    dividing = (box for box in boxes if divides(box, job.grid))
    # The box with the fewest cells on its sides.
    box = min(dividing, key=lambda box: sum(math.prod(box) // side for side in box), default=block)
    outer, within = blocked(job.grid, box), blocked(box, block)
    # `outer` numbers the ranks of a router's box row-major; `within` puts them in the order of their blocks.
    nodes: Ints = job.slots[outer // len(within) * len(within) + within[outer % len(within)]]
    return nodes


def blocked(grid: Grid, block: Grid) -> Ints:
    """Return the slot of each rank when blocks of the grid follow one another; row-major among and within blocks."""
    cells = row_major(grid)
    outer, inner = cells // np.array(block), cells % np.array(block)
    counts = tuple(g // b for g, b in zip(grid, block, strict=True))
    first = np.ravel_multi_index(tuple(outer.T), counts) * math.prod(block)
    return np.asarray(first + np.ravel_multi_index(tuple(inner.T), block), dtype=np.int64)


#: For each dimension of a grid, the dimensions of the box of nodes that it covers.
Groups = tuple[tuple[int, ...], ...]


def place_custom(job: PlacementJob) -> Ints:
    """Return the node of each rank; raises InputError for a block with gaps, and for a grid that does not fit."""
    allocation, grid = job.allocation, job.grid
    box = box_of(allocation)
    if box is None:
        nodes = f"{len(allocation.indices)} nodes of {text(allocation.block)} routers"
        valid = "for custom every node of a block; for an allocation with gaps: optimised, hilbert, blocks"
        raise InputError("placement", "allocation", nodes, valid)
    if layout := _layout(box, grid, job.ranks_per_node):
        groups, inside = layout
        outer = row_major(grid) // np.array(inside)
        cell = np.zeros((len(outer), len(box)), dtype=np.int64)
        for dimension, group in enumerate(groups):
            if group:  # a grid dimension that covers several torus dimensions walks them in a snake
                cell[:, list(group)] = boustrophedon(tuple(box[d] for d in group))[outer[:, dimension]]
        return allocation.topology.nodes_in(cell)
    fitting = {
        tuple(f * math.prod(box[d] for d in group) for f, group in zip(inside, groups, strict=True))
        for groups in _groupings(len(grid), len(box))
        for inside in grids(job.ranks_per_node, len(grid))
    }
    some = [text(g) for g in sorted(fitting, key=lambda g: (max(g), g))]
    valid = f"for custom on {text(box)} nodes: {', '.join(some[:8])}{', ...' if len(some) > 8 else ''}"
    raise InputError("placement", "grid", text(grid), valid)


def _layout(box: Grid, grid: Grid, ranks_per_node: int) -> tuple[Groups, Grid] | None:
    """Return the box dimensions that each grid dimension covers, and the grid on one node; None if nothing fits."""
    for groups in _groupings(len(grid), len(box)):
        for inside in grids(ranks_per_node, len(grid)):
            if all(g == f * math.prod(box[d] for d in group) for g, f, group in zip(grid, inside, groups, strict=True)):
                return groups, inside
    return None


def unfit(topology: Topology, grid: Grid, ranks_per_node: int) -> str:
    """Return one line that explains why a grid fits no box of the machine's nodes; empty if it fits one."""
    most = topology.box_of_cells(topology.extents)
    nodes = math.prod(grid) // ranks_per_node
    boxes = itertools.product(*(range(1, extent + 1) for extent in most[:-1]))
    for box in ((*front, nodes // math.prod(front)) for front in boxes if nodes % math.prod(front) == 0):
        if box[-1] <= most[-1] and _layout(box, grid, ranks_per_node):
            return ""
    return f"the grid {text(grid)} fits no box of {text(most)} nodes, {ranks_per_node} ranks per node"


def box_of(allocation: Allocation) -> Grid | None:
    """Return the nodes along each axis of a block, or of a box from the origin, that is granted whole; else None."""
    if allocation.is_whole_block:
        return allocation.topology.box_of_cells(allocation.block)
    most = allocation.cells.max(axis=0) + 1
    return tuple(most.tolist()) if most.prod() == len(allocation.indices) else None


def _groupings(dimensions: int, axes: int) -> Iterator[Groups]:
    """Yield every way to give the box's axes to the grid's dimensions; the natural one first."""
    owners = itertools.product(range(dimensions), repeat=axes)
    for owner in sorted(owners, key=lambda o: sum(abs(d - g) for d, g in enumerate(o))):
        yield tuple(tuple(d for d in range(axes) if owner[d] == g) for g in range(dimensions))


ORDERS = (
    RankOrder(
        name="blocks",
        does="each node takes a box of the grid; the nodes of a router take boxes that share their largest face",
        after="Pedretti et al., 1x1x16 to 2x2x4",
        argument="AxB or AxBxC",
        needs_argument=True,
        example="1x1x2",
        place=place_blocks,
        needs_grid=True,
        needs_routers=True,
    ),
    RankOrder(
        name="custom",
        does="the grid laid over a whole block of the torus, so that grid neighbours become torus neighbours; "
        "both nodes of a router count along Y",
        after='Peña et al., "Custom"',
        place=place_custom,
        unfit=unfit,
        needs_coordinates=True,
        needs_grid=True,
        all_nodes=True,
        start=5,
    ),
)


MOST_FOLDS = 48

#: The parts of each axis of a box: one for a whole axis, slow and fast for one that is shared.
Parts = tuple[Grid, ...]


def folded(grid: Grid, box: Grid) -> Iterator[Ints]:
    """Yield the cell of the box for each rank of a grid, shape (ranks, axes), for as many folds as there are or 48.

    Folds that share the fewest axes come first. The grid has as many ranks as the box has cells.
    """
    yield from itertools.islice(_folded(grid, box), MOST_FOLDS)


def _folded(grid: Grid, box: Grid) -> Iterator[Ints]:
    for parts in sorted(itertools.product(*map(_parts, box)), key=lambda parts: sum(map(len, parts))):
        extents = [extent for axis in parts for extent in axis]
        if len(extents) == len(box):
            continue  # what `custom` does
        for owner in itertools.product(range(len(grid)), repeat=len(extents)):
            groups = [[k for k, owned in enumerate(owner) if owned == g] for g in range(len(grid))]
            if tuple(math.prod(extents[k] for k in group) for group in groups) == grid:
                yield _lay_folded(grid, parts, groups)


def _parts(extent: int) -> list[Grid]:
    return [(extent,), *((slow, extent // slow) for slow in range(2, extent // 2 + 1) if extent % slow == 0)]


def _lay_folded(grid: Grid, parts: Parts, groups: Sequence[Sequence[int]]) -> Ints:
    """Return the cells where each grid dimension walks its parts of axes in a snake, whole axes fastest."""
    extents = [extent for axis in parts for extent in axis]
    is_whole = [len(axis) == 1 for axis in parts for _ in axis]
    steps = row_major(grid)
    digits = np.zeros((len(steps), len(extents)), dtype=np.int64)
    for dimension, group in enumerate(groups):
        if slow_first := sorted(group, key=is_whole.__getitem__):
            digits[:, slow_first] = boustrophedon(tuple(extents[k] for k in slow_first))[steps[:, dimension]]
    axes, first = [], 0
    for axis in parts:
        walked = np.empty(axis, dtype=np.int64)
        walked[tuple(boustrophedon(axis).T)] = np.arange(math.prod(axis))
        axes.append(walked[tuple(digits[:, first : first + len(axis)].T)])
        first += len(axis)
    return np.stack(axes, axis=1)
