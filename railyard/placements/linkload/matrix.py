"""A measured matrix: which rank of a program sent how many messages and bytes to which other, by phase and kind.

Models the file `railyard-matrix/1` (docs/formats.md), which `railyard-capture` writes, and reads what others have: Open
MPI's `pml_monitoring` (one file for each rank), Matrix Market, and CSV with a line for each pair or each rank. Leaves
out when messages were sent: phases are steps that follow each other, or the program's own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from railyard.base.errors import InputError
from railyard.placements.arrays import Ints, NDArray, np
from railyard.placements.linkload.traffic import Traffic

if TYPE_CHECKING:
    from scipy import sparse

FORMAT = "railyard-matrix/1"
#: More ranks than any machine has; it bounds the memory for a file of one line.
MOST_RANKS = 1 << 24


class Kind(StrEnum):
    """What moved the bytes, in the order of the columns. Collectives are expanded by a model (docs/fit.md)."""

    MESSAGES = "messages"
    COLLECTIVES = "collectives"
    ONE_SIDED = "one-sided"


KINDS = tuple(Kind)
#: Bytes on the wire beside the payload, as counted on the virtual torus under Open MPI 4: of Ethernet, IP, TCP and MPI
#: for a message, of TCP's answer to it, of each further packet, and of the connections of a pair in each direction. An
#: answer has 66 bytes; of messages below 1 kB a quarter has one of its own (0.2 to 0.5 in three programs), the others'
#: answers ride on messages in the other direction.
HEADER_BYTES, ANSWER_BYTES, CONNECTION_BYTES = 88, 66 / 4, 1090
PACKET_BYTES, PACKET_HEADER_BYTES = 2448, 66
COLUMNS = (
    *("phase", "source", "target", "messages", "bytes"),
    *("collective_messages", "collective_bytes", "one_sided_messages", "one_sided_bytes"),
)
#: Lines of pml_monitoring: messages of the program, those that the library sends for it, puts and gets.
MONITORED = {"E": Kind.MESSAGES, "I": Kind.COLLECTIVES, "S": Kind.ONE_SIDED, "R": Kind.ONE_SIDED}
#: The note on a capture whose program ended early.
NOT_WHOLE = "the program ended without MPI_Finalize: the matrix has what it had sent until then"
MONITORED_LINE = re.compile(r"([EISR])\t(\d+)\t(\d+)\t(\d+) bytes\t(\d+) msgs")


@dataclass(frozen=True, kw_only=True, eq=False)
class Matrix:
    """Rows of a matrix, sorted, one for each phase and pair of ranks.

    `phase`, `source` and `target` have shape (rows,), `messages` and `size_bytes` shape (rows, kinds), in the order
    of `KINDS`. `left_out` is how many calls the capture could not count. `is_whole` is false for a
    program that ended without MPI_Finalize.
    """

    ranks: int
    phase: Ints
    source: Ints
    target: Ints
    messages: Ints
    size_bytes: NDArray[np.float64]
    left_out: int = 0
    is_whole: bool = True

    def traffic(self, kinds: Sequence[Kind] = KINDS, phase: int | None = None) -> Traffic:
        """Return the bytes of all phases, or of one; ranks' own are dropped. Pairs without bytes have no message."""
        size = self.size_bytes[:, [KINDS.index(kind) for kind in kinds]].sum(axis=1)
        sent = (self.source != self.target) & (size > 0)
        if phase is not None:
            sent &= self.phase == phase
        return self._summed(self.source[sent], self.target[sent], size[sent])

    def on_wire(self, phase: int | None = None) -> Traffic:
        """Return the bytes of a phase with headers and answers, where messages were counted.

        With None for all phases, and with connections.
        """
        some = (self.source != self.target) & ((self.phase == phase) | (phase is None))
        messages, size = self.messages[some].sum(axis=1), self.size_bytes[some].sum(axis=1)
        size += HEADER_BYTES * messages + np.where(messages > 0, size / PACKET_BYTES * PACKET_HEADER_BYTES, 0)
        ends = np.stack([self.source[some], self.target[some]])
        sizes = np.r_[size, ANSWER_BYTES * messages]
        source, target = np.hstack([ends, ends[::-1]])[:, sizes > 0]
        sent = self._summed(source, target, sizes[sizes > 0])
        is_connected = phase is None and bool(messages.any())
        return replace(sent, size_bytes=sent.size_bytes + CONNECTION_BYTES) if is_connected else sent

    def _summed(self, source: Ints, target: Ints, size: NDArray[np.float64]) -> Traffic:
        """Return traffic with the sizes of each pair added up."""
        pairs, where = np.unique(source * self.ranks + target, return_inverse=True)
        return Traffic(
            ranks=self.ranks,
            source=(pairs // self.ranks).astype(np.int32),
            target=(pairs % self.ranks).astype(np.int32),
            size_bytes=np.bincount(where, size, len(pairs)).astype(np.float64),
            is_measured=True,
        )


def read(paths: Sequence[Path]) -> Matrix:
    """Return the matrix in a file of any form, or in the files of pml_monitoring, one for each rank.

    Raises InputError, in one line, for a file that cannot be read, is not a matrix, or has entries that are not bytes.
    """
    if not paths:
        raise InputError("matrix", "", problem="no file", valid="a file of any form that docs/fit.md lists")
    first = _first_line(paths[0])
    if first.startswith("#") and FORMAT not in first and paths[0].suffix != ".mtx":
        return _monitored(paths)
    if len(paths) > 1:
        raise InputError(str(paths[1]), "", problem="a second file", valid="one file, or those of pml_monitoring")
    path = paths[0]
    if path.suffix == ".mtx":
        return _of_pairs(path, _parse_mtx(path))
    if first.startswith("#"):
        return _captured(path, first)
    if "source" in first.replace(" ", "").split(","):
        return _listed(path)
    return _of_pairs(path, _parse_dense(path))


def read_traffic(path: Path, ranks: int | None = None) -> Traffic:
    """Return all that a matrix puts on the wire; InputError if it is not of `ranks` ranks."""
    return read_of(path, ranks).on_wire()


def read_of(path: Path, ranks: int | None) -> Matrix:
    """Return the matrix in a file; InputError if it is not of `ranks` ranks."""
    matrix = read([path])
    if ranks is not None and matrix.ranks != ranks:
        size = f"{matrix.ranks}x{matrix.ranks}"
        raise InputError(str(path), "", size, f"{ranks}x{ranks}: as many rows as ranks")
    return matrix


def of_rows(rows: NDArray[np.float64], ranks: int) -> Matrix:
    """Return a matrix of rows with `COLUMNS`; those of one phase and pair are added up."""
    return _matrix(Path("matrix"), rows, ranks)


def write(file: IO[str], matrix: Matrix) -> None:
    """Write a matrix in railyard's form."""
    head = {"ranks": matrix.ranks, "left_out": matrix.left_out}
    head |= {} if matrix.is_whole else {"finalized": False}
    file.write(f"# {FORMAT} {json.dumps(head)}\n{','.join(COLUMNS)}\n")
    amounts = np.stack([matrix.messages, matrix.size_bytes.astype(np.int64)], axis=2)
    rows = np.column_stack([matrix.phase, matrix.source, matrix.target, amounts.reshape(len(amounts), -1)])
    np.savetxt(file, rows, fmt="%d", delimiter=",")


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Raise InputError for a file that cannot be opened, or is not text."""
    try:
        yield
    except (OSError, UnicodeDecodeError) as error:
        problem = f"cannot be read ({getattr(error, 'strerror', None) or error})"
        raise InputError(str(path), "", problem=problem, valid="a file of a form that docs/fit.md lists") from error


def _first_line(path: Path) -> str:
    with _readable(path), path.open(encoding="utf-8-sig") as file:
        return file.readline(4096).rstrip()


def _lines(path: Path) -> list[str]:
    with _readable(path):
        return path.read_text(encoding="utf-8").splitlines()


def _captured(path: Path, first: str) -> Matrix:
    try:
        head = json.loads(first.split(FORMAT, 1)[1])
        ranks, left_out = head["ranks"], head["left_out"]
    except (ValueError, KeyError, TypeError):
        ranks = left_out = None
    if type(ranks) is not int or type(left_out) is not int:
        raise InputError(str(path), "line 1", first[:60], f'# {FORMAT} {{"ranks": N, "left_out": N}}')
    matrix = _matrix(path, _rows(path, COLUMNS, skip=1), ranks)
    return replace(matrix, left_out=left_out, is_whole=head.get("finalized") is not False)


def _listed(path: Path) -> Matrix:
    """Read a line for each pair: source, target, bytes, and messages if there are any."""
    columns = tuple(word.strip() for word in _first_line(path).split(","))
    if not {"source", "target", "bytes"} <= set(columns):
        raise InputError(str(path), "line 1", ",".join(columns)[:60], "source,target,bytes[,messages]")
    given = _rows(path, columns, skip=0)
    rows = np.zeros((len(given), len(COLUMNS)))
    for name in {"phase", "source", "target", "messages", "bytes"} & set(columns):
        rows[:, COLUMNS.index(name)] = given[:, columns.index(name)]
    return _matrix(path, rows, int(rows[:, 1:3].max(initial=-1)) + 1)


def _rows(path: Path, columns: Sequence[str], *, skip: int) -> NDArray[np.float64]:
    """Return the lines below the line that names the columns; shape (rows, columns)."""
    with path.open(encoding="utf-8-sig") as file:
        names = [file.readline() for _ in range(skip + 1)][-1].strip()
        if [word.strip() for word in names.split(",")] != list(columns):
            raise InputError(str(path), f"line {skip + 1}", names[:60], ",".join(columns))
        try:
            rows = np.loadtxt(file, delimiter=",", ndmin=2)
        except (ValueError, UnicodeDecodeError) as error:
            problem = " ".join(str(error).split())[:120]
            raise InputError(str(path), "", problem, "numbers with commas between") from error
    if rows.size and rows.shape[1] != len(columns):
        raise InputError(str(path), "", problem=f"{rows.shape[1]} columns", valid=",".join(columns))
    return rows.reshape(-1, len(columns))


def _monitored(paths: Sequence[Path]) -> Matrix:
    """Read the files that Open MPI's pml_monitoring writes, one for each rank, which lists what that rank sent."""
    rows: list[list[int]] = []
    for path in paths:
        before = len(rows)
        for line in _lines(path):
            if not (seen := MONITORED_LINE.match(line)):
                continue
            source, target, size, messages = map(int, seen.groups()[1:])
            row = [0, source, target, *[0] * (2 * len(KINDS))]
            if seen[1] == "R":
                row[1:3] = target, source
            at = 3 + 2 * KINDS.index(MONITORED[seen[1]])
            row[at : at + 2] = messages, size
            rows.append(row)
        if len(rows) == before and "POINT TO POINT" not in _first_line(path):
            valid = f"a file of pml_monitoring, or one that begins with # {FORMAT}"
            raise InputError(str(path), "", _first_line(path)[:60], valid)
    table = np.array(rows, dtype=np.float64).reshape(-1, len(COLUMNS))
    ranks = max(int(table[:, 1:3].max(initial=-1)) + 1, len(paths))
    return _matrix(paths[0], table, ranks)


def _matrix(path: Path, rows: NDArray[np.float64], ranks: int) -> Matrix:
    """Return sorted rows, those of one phase and pair added up; InputError for what is not a count of bytes."""
    if not 0 < ranks <= MOST_RANKS:
        raise InputError(str(path), "ranks", ranks, f"1 to {MOST_RANKS}")
    bad = np.flatnonzero(~(np.isfinite(rows) & (rows >= 0) & (rows < 2.0**63)).all(axis=1))
    if len(bad):
        raise InputError(str(path), f"row {bad[0]}", rows[bad[0]].tolist(), "numbers of 0 or more, finite")
    keys = rows[:, :3].astype(np.int64)
    wrong = np.flatnonzero((keys[:, 1:] >= ranks).any(axis=1))
    if len(wrong):
        raise InputError(str(path), f"row {wrong[0]}", keys[wrong[0], 1:].tolist(), f"ranks below {ranks}")
    order = np.lexsort((keys[:, 2], keys[:, 1], keys[:, 0]))
    keys, amounts = keys[order], rows[order, 3:]
    starts = np.flatnonzero(np.r_[True, (keys[1:] != keys[:-1]).any(axis=1)]) if len(keys) else np.arange(0)
    keys = keys[starts]
    sums = np.add.reduceat(amounts, starts, axis=0) if len(starts) else amounts
    return Matrix(
        ranks=ranks,
        phase=keys[:, 0],
        source=keys[:, 1],
        target=keys[:, 2],
        messages=sums[:, 0::2].astype(np.int64),
        size_bytes=sums[:, 1::2],
    )


def _of_pairs(path: Path, matrix: sparse.coo_array) -> Matrix:
    """Return a square matrix of bytes; how many messages there were is not known (0)."""
    if np.iscomplexobj(matrix.data):
        raise InputError(str(path), "", problem="complex numbers", valid="bytes: real numbers")
    rows, columns = matrix.shape
    if rows != columns:
        raise InputError(str(path), "", problem=f"{rows} rows of {columns} entries", valid="a square matrix")
    bad = np.flatnonzero(~(np.isfinite(matrix.data) & (matrix.data >= 0)))
    if len(bad):
        where = f"row {matrix.row[bad[0]]}, column {matrix.col[bad[0]]}"
        raise InputError(str(path), where, float(matrix.data[bad[0]]), "bytes: 0 or more, finite")
    table = np.zeros((len(matrix.data), len(COLUMNS)))
    for name, values in (("source", matrix.row), ("target", matrix.col), ("bytes", matrix.data)):
        table[:, COLUMNS.index(name)] = values
    return _matrix(path, table, rows)


def _parse_mtx(path: Path) -> sparse.coo_array:
    from scipy import io, sparse

    with _readable(path):
        try:
            matrix: Any = io.mmread(path)
        except (ValueError, OverflowError) as error:
            raise InputError(str(path), "", " ".join(str(error).split()), "a Matrix Market file") from error
    return sparse.coo_array(matrix)


def _parse_dense(path: Path) -> sparse.coo_array:
    """Read a line for each rank, with the bytes to each other."""
    from scipy import sparse

    rows = list[list[float]]()
    for line in filter(str.strip, _lines(path)):
        rows.append([])
        for word in line.replace(",", " ").split():
            try:
                rows[-1].append(float(word))
            except ValueError as error:
                where = f"row {len(rows) - 1}"
                raise InputError(str(path), where, word[:40], "numbers with commas between") from error
    if not rows:
        raise InputError(str(path), "", problem="nothing", valid="one line of numbers for each rank")
    for number, row in enumerate(rows):
        if len(row) != len(rows[0]):
            valid = f"{len(rows[0])}, as in row 0"
            raise InputError(str(path), f"row {number}", problem=f"{len(row)} entries", valid=valid)
    return sparse.coo_array(np.array(rows))
