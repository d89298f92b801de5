"""A grid folded into a box of nodes: an axis of the box is shared by two dimensions of the grid.

An 8x8 grid on 4x4x4 nodes needs half of an axis for each dimension: a row is 4 nodes along X times 2 of Y. The two
parts of an axis are walked there and back, so that a step in the slower part is short where the ring closes (on 4 nodes
it is always one hop, as in a Gray code). Complements the order `custom`, which gives every axis to one dimension.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from railyard.placements.arrays import Ints, np
from railyard.placements.orders.walks import Grid, boustrophedon, row_major

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
                yield _lay(grid, parts, groups)


def _parts(extent: int) -> list[Grid]:
    return [(extent,), *((slow, extent // slow) for slow in range(2, extent // 2 + 1) if extent % slow == 0)]


def _lay(grid: Grid, parts: Parts, groups: Sequence[Sequence[int]]) -> Ints:
    """Return the cells where each grid dimension walks its parts of axes in a snake, whole axes fastest."""
    extents = [extent for axis in parts for extent in axis]
    is_whole = [len(axis) == 1 for axis in parts for _ in axis]
    steps = row_major(grid)
    digits = np.zeros((len(steps), len(extents)), dtype=np.int64)
    for dimension, group in enumerate(groups):
        slow_first = sorted(group, key=is_whole.__getitem__)
        if slow_first:
            walk = boustrophedon(tuple(extents[k] for k in slow_first))
            digits[:, slow_first] = walk[steps[:, dimension]]
    axes, first = [], 0
    for axis in parts:
        walked = np.empty(axis, dtype=np.int64)
        walked[tuple(boustrophedon(axis).T)] = np.arange(math.prod(axis))
        axes.append(walked[tuple(digits[:, first : first + len(axis)].T)])
        first += len(axis)
    return np.stack(axes, axis=1)
