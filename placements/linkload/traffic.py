"""Traffic: which rank sends how many bytes to which other in one iteration of a program.

Patterns of a process grid (row-major, the last dimension fastest, periodic as MPI_Cart_create makes it):

    stencil6    each rank to the ranks beside it, a face each (in D dimensions 2 D neighbours)
    stencil27   also across edges and corners: 3^D - 1 neighbours (MiniGhost; Pedretti et al., CUG'13, section VI)
    alltoall    each rank a block to every other of its group
    allgather   the ring algorithm: each rank passes n - 1 blocks to the next of its group
    allreduce   the ring algorithm: 2 (n - 1) / n blocks to the next

A group is what shares all coordinates but those `within` names: rows (X), planes (XZ), the whole grid (XYZ), as in
Peña et al., EuroMPI'13, section 4.2. `read_matrix` takes what was measured instead.

Leaves out time: all messages are there at once, which is what a bulk-synchronous program does.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from placements.arrays import NDArray, np
from placements.topology.torus import DIMENSIONS
from railyard.base.errors import InputError

if TYPE_CHECKING:
    from scipy import sparse

Grid = tuple[int, ...]
MAX_MESSAGES = 60_000_000


class Pattern(StrEnum):
    """The patterns there are."""

    STENCIL6 = "stencil6"
    STENCIL27 = "stencil27"
    ALLTOALL = "alltoall"
    ALLGATHER = "allgather"
    ALLREDUCE = "allreduce"


@dataclass(frozen=True, kw_only=True, eq=False)
class Traffic:
    """Messages: rank `source[i]` sends `size_bytes[i]` to rank `target[i]`; shape (messages,), no rank to itself."""

    ranks: int
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    size_bytes: NDArray[np.float64]

    @property
    def total_bytes(self) -> float:
        return float(self.size_bytes.sum())

    def matrix(self) -> sparse.csr_array:
        """Return bytes by (source, target), messages of a pair added up; shape (ranks, ranks)."""
        from scipy import sparse  # here: most commands need no matrix, and scipy takes half of their start

        shape = (self.ranks, self.ranks)
        return sparse.csr_array((self.size_bytes, (self.source, self.target)), shape=shape)


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


def collective(pattern: Pattern, grid: Grid, within: str, size_bytes: float) -> Traffic:
    """Return the traffic of one collective in every group at once; `size_bytes` is a block.

    For `allreduce` it is the whole vector. Raises InputError for a `within` that is not some of the grid's
    dimensions, or more messages than fit in memory.
    """
    names = DIMENSIONS[: len(grid)]
    if not within or not set(within) <= set(names) or len(set(within)) < len(within):
        raise InputError("--within", "", within, f"some of {', '.join(names)}, each once")
    inside = [names.index(name) for name in within]
    outside = [d for d in range(len(grid)) if d not in inside]
    box = np.arange(math.prod(grid), dtype=np.int32).reshape(grid)
    size = math.prod(grid[d] for d in inside)
    groups = box.transpose(*outside, *inside).reshape(-1, size)
    if pattern == Pattern.ALLTOALL:
        if box.size * (size - 1) > MAX_MESSAGES:
            raise InputError(
                "--within", "", within, f"groups of at most {MAX_MESSAGES // box.size + 1} ranks"
            )
        far = [np.roll(groups, -shift, axis=1) for shift in range(1, size)]
        share = size_bytes
    else:
        far = [np.roll(groups, -1, axis=1)] if size > 1 else []
        share = size_bytes * (size - 1) * (2 / size if pattern == Pattern.ALLREDUCE else 1)
    target = np.concatenate([far_side.ravel() for far_side in far] or [groups[:0].ravel()])
    return Traffic(
        ranks=box.size,
        source=np.tile(groups.ravel(), len(far)),
        target=target,
        size_bytes=np.full(len(target), share, dtype=np.float64),
    )


def make(pattern: str, grid: Grid, *, size_bytes: tuple[float, ...], within: str = "") -> Traffic:
    """Return the traffic of a pattern by its name; `size_bytes` is face, edge, corner for stencils, else one block."""
    match Pattern(pattern):
        case Pattern.STENCIL6:
            return stencil(grid, size_bytes[:1])
        case Pattern.STENCIL27:
            return stencil(grid, size_bytes)
        case kind:
            return collective(kind, grid, within or DIMENSIONS[: len(grid)], size_bytes[0])


def read_matrix(path: Path, ranks: int | None = None) -> Traffic:
    """Return a measured matrix, bytes by (source, target), from `.mtx` (Matrix Market) or `.csv` (dense rows).

    The diagonal is dropped. Raises InputError, in one line, for a file that cannot be read, is not square, is not of
    `ranks` ranks, or holds a negative or not finite entry.
    """
    matrix = _parse_mtx(path) if path.suffix == ".mtx" else _parse_csv(path)
    rows, columns = matrix.shape
    if rows != columns:
        raise InputError(str(path), "", problem=f"{rows} rows of {columns} entries", valid="a square matrix")
    bad = np.flatnonzero(~(np.isfinite(matrix.data) & (matrix.data >= 0)))
    if len(bad):
        where = f"row {matrix.row[bad[0]]}, column {matrix.col[bad[0]]}"
        raise InputError(str(path), where, float(matrix.data[bad[0]]), "bytes: 0 or more, finite")
    if ranks is not None and rows != ranks:
        raise InputError(str(path), "", f"{rows}x{rows}", f"{ranks}x{ranks}: as many rows as ranks")
    sent = (matrix.row != matrix.col) & (matrix.data > 0)
    return Traffic(
        ranks=rows,
        source=matrix.row[sent].astype(np.int32),
        target=matrix.col[sent].astype(np.int32),
        size_bytes=matrix.data[sent].astype(np.float64),
    )


def _parse_mtx(path: Path) -> sparse.coo_array:
    from scipy import io, sparse

    try:
        matrix = io.mmread(path)
    except OSError as error:
        raise InputError(str(path), "", path.name, "a readable file") from error
    except (ValueError, OverflowError) as error:
        raise InputError(str(path), "", " ".join(str(error).split()), "a Matrix Market file") from error
    return _coo(sparse.coo_array(matrix), path)


def _parse_csv(path: Path) -> sparse.coo_array:
    from scipy import sparse

    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(str(path), "", path.name, "a readable .csv or .mtx file") from error
    rows = list(_numbers(path, [line for line in lines if line.strip()]))
    if not rows:
        raise InputError(str(path), "", problem="nothing", valid="one line of numbers for each rank")
    for number, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise InputError(
                str(path),
                f"row {number}",
                problem=f"{len(row)} entries",
                valid=f"{len(rows[0])}, as in row 0",
            )
    return _coo(sparse.coo_array(np.array(rows)), path)


def _numbers(path: Path, lines: list[str]) -> Iterator[list[float]]:
    for number, line in enumerate(lines):
        try:
            yield [float(word) for word in line.replace(",", " ").split()]
        except ValueError as error:
            raise InputError(str(path), f"row {number}", line[:40], "numbers with commas between") from error


def _coo(matrix: sparse.coo_array, path: Path) -> sparse.coo_array:
    if np.iscomplexobj(matrix.data):
        raise InputError(str(path), "", problem="complex numbers", valid="bytes: real numbers")
    return matrix
