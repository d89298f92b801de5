"""Traffic: which rank sends how many bytes to which other in one iteration of a program.

A grid of processes is row-major, the last dimension fastest, and periodic as MPI_Cart_create makes it. A group is what
shares all coordinates but those `within` names: rows (X), planes (XZ), the whole grid (XYZ), as in Peña et al.,
EuroMPI'13, section 4.2. A module of `railyard.placements.linkload.patterns` that defines `PATTERN` is a pattern;
nothing else must be edited to add one. What was measured instead is read by `railyard.placements.linkload.matrix`.

Leaves out time: all messages are there at once, which is what a bulk-synchronous program does.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railyard.base.errors import InputError
from railyard.placements.arrays import NDArray, np
from railyard.placements.topology.torus import DIMENSIONS

if TYPE_CHECKING:
    from scipy import sparse

Grid = tuple[int, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Traffic:
    """Messages: rank `source[i]` sends `size_bytes[i]` to rank `target[i]`; shape (messages,), no rank to itself.

    Traffic that `is_measured` need not follow the grid of ranks.
    """

    ranks: int
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    size_bytes: NDArray[np.float64]
    is_measured: bool = False

    @property
    def total_bytes(self) -> float:
        return float(self.size_bytes.sum())

    def matrix(self) -> sparse.csr_array:
        """Return bytes by (source, target), messages of a pair added up; shape (ranks, ranks)."""
        from scipy import sparse  # imported here: takes half of a command's start, and most need no matrix

        shape = (self.ranks, self.ranks)
        return sparse.csr_array((self.size_bytes, (self.source, self.target)), shape=shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficPattern:
    """A pattern by name; `does` describes which rank sends what to which.

    `traffic(grid, size_bytes, within)` returns its messages. One `in_groups` has one size, that of a block, and sends
    inside the groups of `within`. Others have sizes to a face, an edge and a corner neighbour, and no groups.
    """

    name: str
    does: str
    traffic: Callable[[Grid, tuple[float, ...], str], Traffic]
    in_groups: bool = True


def stencil(grid: Grid, size_bytes: tuple[float, ...]) -> Traffic:
    """Send `size_bytes[k - 1]` from each rank to its neighbours that differ in k coordinates (face, edge, corner).

    A size of 0 leaves those neighbours out. In a dimension of 2 both neighbours are one rank, which gets both messages;
    in a dimension of 1 there is none.
    """
    ranks = np.arange(math.prod(grid), dtype=np.int32)
    box = ranks.reshape(grid)
    targets, sizes = [], []
    for offset in itertools.product((-1, 0, 1), repeat=len(grid)):
        order = sum(step != 0 for step in offset)
        alone = any(step and extent == 1 for step, extent in zip(offset, grid, strict=True))
        if order and not alone and order <= len(size_bytes) and size_bytes[order - 1] > 0:
            targets.append(np.roll(box, [-step for step in offset], axis=tuple(range(len(grid)))).ravel())
            sizes.append(size_bytes[order - 1])
    return Traffic(
        ranks=len(ranks),
        source=np.tile(ranks, len(targets)),
        target=np.concatenate([*targets, ranks[:0]]),
        size_bytes=np.repeat(np.array(sizes, dtype=np.float64), len(ranks)),
    )


def face_bytes(cells: int, dimensions: int, element_bytes: int = 8) -> tuple[float, ...]:
    """Return the bytes to a face, edge and corner neighbour of a rank that holds `cells` in each dimension."""
    return tuple(float(element_bytes * cells ** (dimensions - k)) for k in range(1, dimensions + 1))


def groups(grid: Grid, within: str) -> NDArray[np.int32]:
    """Return the ranks of each group, shape (groups, ranks of a group): those that differ in dimensions `within` alone.

    Raises InputError for a `within` that is not some of the grid's dimensions.
    """
    names = DIMENSIONS[: len(grid)]
    if not set(within) <= set(names) or len(set(within)) < len(within):
        raise InputError("--within", "", within, f"some of {', '.join(names)}, each once")
    inside = [names.index(name) for name in within]
    outside = [d for d in range(len(grid)) if d not in inside]
    ranks = np.arange(math.prod(grid), dtype=np.int32).reshape(grid)
    return ranks.transpose(*outside, *inside).reshape(-1, math.prod(grid[d] for d in inside))


def shifted(grouped: NDArray[np.int32], shifts: Sequence[int], size_bytes: float) -> Traffic:
    """Send `size_bytes` from each rank to those so many places after it in its group, round its end."""
    targets = [np.roll(grouped, -shift, axis=1).ravel() for shift in shifts]
    return Traffic(
        ranks=grouped.size,
        source=np.tile(grouped.ravel(), len(targets)),
        target=np.concatenate([*targets, grouped[:0].ravel()]),
        size_bytes=np.full(len(targets) * grouped.size, size_bytes, dtype=np.float64),
    )


def ring(grid: Grid, within: str, size_bytes: Callable[[int], float]) -> Traffic:
    """Send `size_bytes(n)` from each rank to the next of its group of n ranks; a group of one sends nothing."""
    grouped = groups(grid, within)
    ranks = grouped.shape[1]
    return shifted(grouped, range(1, min(ranks, 2)), size_bytes(ranks))
