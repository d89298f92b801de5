"""The order `blocks`: each node takes a box of AxBxC ranks of the grid, boxes in row-major order.

Pedretti et al., CUG'13: a remap of 1x1x16 to 2x2x4. The nodes of a router take boxes that share their largest face,
if the grid allows.
"""

from __future__ import annotations

import math

from railyard.base.errors import InputError
from railyard.placements.arrays import Ints, np
from railyard.placements.orders.rank_orders import PlacementJob, RankOrder
from railyard.placements.orders.walks import Grid, divides, grids, row_major, text


def place(job: PlacementJob) -> Ints:
    """Return the node of each rank; InputError for a block of another size, or that does not divide the grid."""
    block = _block(job)
    shapes = grids(job.allocation.topology.nodes_per_router, len(job.grid))
    boxes = (tuple(a * b for a, b in zip(shape, block, strict=True)) for shape in shapes)
    box = min((box for box in boxes if divides(box, job.grid)), key=_surface, default=block)
    outer, within = blocked(job.grid, box), blocked(box, block)
    # `outer` numbers the ranks of a router's box row-major; `within` puts them in the order of their blocks.
    nodes: Ints = job.slots[outer // len(within) * len(within) + within[outer % len(within)]]
    return nodes


def _block(job: PlacementJob) -> Grid:
    words = job.argument.split("x")
    valid = [shape for shape in grids(job.ranks_per_node, len(job.grid)) if divides(shape, job.grid)]
    shape = tuple(int(word) for word in words) if all(word.isdecimal() for word in words) else ()
    if shape not in valid:
        some = ", ".join(map(text, valid[:8])) or "none: the ranks of a node do not divide it"
        rule = f"{job.ranks_per_node} ranks per node that divide the grid {text(job.grid)}: {some}"
        raise InputError("placement", "blocks", job.argument, rule)
    return shape


def blocked(grid: Grid, block: Grid) -> Ints:
    """Return the slot of each rank when blocks of the grid follow one another; row-major among and within blocks."""
    cells = row_major(grid)
    outer, inner = cells // np.array(block), cells % np.array(block)
    counts = tuple(g // b for g, b in zip(grid, block, strict=True))
    first = np.ravel_multi_index(tuple(outer.T), counts) * math.prod(block)
    return np.asarray(first + np.ravel_multi_index(tuple(inner.T), block), dtype=np.int64)


def _surface(box: Grid) -> int:
    """Return half the number of cells on a box's sides."""
    return sum(math.prod(box) // side for side in box)


ORDER = RankOrder(
    name="blocks",
    does="each node takes a box of the grid; the nodes of a router take boxes that share their largest face",
    after="Pedretti et al., 1x1x16 to 2x2x4",
    argument="AxB or AxBxC",
    needs_argument=True,
    example="1x1x2",
    place=place,
    needs_grid=True,
    needs_routers=True,
)
