"""Walks through boxes of cells, and the grids that a number of ranks can form. Pure; all cells at once."""

from __future__ import annotations

import math
from collections.abc import Iterator

from railyard.placements.arrays import Ints, np
from railyard.placements.topology.base import Coordinate

Grid = tuple[int, ...]
#: ALPS's building block, in routers.
ALPS_BLOCK: Coordinate = (4, 2, 8)


def row_major(extents: Grid) -> Ints:
    """Return every cell of a box, the last dimension fastest; shape (cells, dimensions)."""
    return np.indices(extents, dtype=np.int64).reshape(len(extents), -1).T


def boustrophedon(extents: Grid) -> Ints:
    """Return every cell of a box, each one step from the one before, the last dimension fastest.

    The shape is (cells, dimensions). The reflected mixed-radix Gray code: a digit runs backwards whenever the digits
    before it add up to an odd number.
    """
    cells = row_major(extents)
    walked = cells.copy()
    for dimension in range(1, len(extents)):
        backwards = walked[:, :dimension].sum(axis=1) % 2 == 1
        walked[backwards, dimension] = extents[dimension] - 1 - cells[backwards, dimension]
    return walked


def alps_walk(extents: Coordinate, block: Coordinate = ALPS_BLOCK) -> Ints:
    """Return ALPS's walk through a box, block by block; shape (cells, dimensions).

    It is `boustrophedon` among the blocks and within each. Blocks at the far sides are cut to the box. A box of other
    dimensions than the block's is one block.
    """
    block = block if len(extents) == len(block) else extents
    counts = tuple(math.ceil(e / b) for e, b in zip(extents, block, strict=True))
    walk = []
    for corner in boustrophedon(counts):
        start = corner * np.array(block)
        size = tuple(np.minimum(np.array(block), np.array(extents) - start).tolist())
        walk.append(boustrophedon(size) + start)
    return np.concatenate(walk)


def inverse(cells: Ints, values: Ints) -> Ints:
    """Return the value of each cell when the k-th of `cells` gets the k-th of `values`."""
    by_cell = np.empty_like(values)
    by_cell[cells] = values
    return by_cell


def grids(ranks: int, dimensions: int) -> Iterator[Grid]:
    """Yield every grid of so many ranks."""
    if dimensions == 1:
        yield (ranks,)
        return
    for extent in range(1, ranks + 1):
        if ranks % extent == 0:
            for rest in grids(ranks // extent, dimensions - 1):
                yield (extent, *rest)


def text(grid: Grid) -> str:
    """Return a grid as it is written: 4x4x2."""
    return "x".join(map(str, grid))


def divides(shape: Grid, grid: Grid) -> bool:
    """Return whether a grid is made of whole boxes of a shape."""
    return all(g % s == 0 for g, s in zip(grid, shape, strict=True))
