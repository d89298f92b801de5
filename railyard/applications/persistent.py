"""Read the messages that a program sent by persistent requests, which mpiP does not count (benchmarks/persistent/).

Models: the file `railyard-persistent/1` of one launch (docs/formats.md): messages and bytes of each rank, and of all
ranks by powers of two. A file whose numbers contradict each other is refused. Leaves out: what mpiP counts
(`railyard.applications.mpip` adds the two).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from railyard.applications.reading import UnreadableError
from railyard.base.errors import InputError
from railyard.records import json_io
from railyard.records.json_io import Json

FORMAT = "railyard-persistent/1"
#: The largest message, far above any that an MPI can send.
MOST = 10**18


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """A number of messages, and their bytes together."""

    messages: int = 0
    size_bytes: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(messages=self.messages + other.messages, size_bytes=self.size_bytes + other.size_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sends:
    """The persistent sends of one launch: of each rank, and of all ranks by the largest size of a class in bytes."""

    ranks: tuple[Amount, ...] = ()
    sizes: Mapping[int, Amount] = field(default_factory=dict)

    @property
    def total(self) -> Amount:
        """Return the messages of all ranks."""
        return sum(self.ranks, Amount())


def load(path: Path, ranks: int) -> Sends:
    """Return the sends in a launch's file; raises InputError for one that is absent or is not of so many ranks."""
    if not path.is_file():
        why = "no such file: the program did not end MPI, or its railyard-witness is of an earlier version"
        raise UnreadableError(path.name, "persistent sends", why)
    return parse(json_io.read(path), path.name, ranks)


def parse(document: Json, source: str, ranks: int) -> Sends:
    """Return the sends in a document; raises InputError naming the field that is wrong."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        format_name = document.get("format") if isinstance(document, dict) else document
        raise InputError(source, "format", str(format_name), FORMAT)
    rows = _rows(document, source, "ranks", "rank")
    if [number for number, _ in rows] != list(range(ranks)):
        raise InputError(source, "ranks", problem=f"{len(rows)} ranks", valid=f"ranks 0 to {ranks - 1} in order")
    classes = _rows(document, source, "sizes", "size_bytes")
    for index, (largest, amount) in enumerate(classes):
        _check_class(largest, amount, classes[index - 1][0] if index else -1, f"{source}: sizes[{index}]")
    sends = Sends(ranks=tuple(amount for _, amount in rows), sizes=dict(classes))
    by_size = sum(sends.sizes.values(), Amount())
    if by_size != sends.total:
        problem = f"{by_size.messages} messages of {by_size.size_bytes} bytes"
        valid = f"{sends.total.messages} messages of {sends.total.size_bytes} bytes, as the ranks have"
        raise InputError(source, "sizes", problem=problem, valid=valid)
    return sends


def _rows(document: Mapping[str, Json], source: str, name: str, key: str) -> list[tuple[int, Amount]]:
    """Return the rows of a list: the number under `key`, and an amount."""
    rows = document.get(name)
    if not isinstance(rows, list):
        raise InputError(source, name, problem="no list", valid=f"a list of objects with {key}, messages, bytes")
    return [_row(row, key, f"{source}: {name}[{index}]") for index, row in enumerate(rows)]


def _row(row: Json, key: str, place: str) -> tuple[int, Amount]:
    # A class of sizes may end where 64 bits do.
    number = _whole(row, key, place, 2**64 - 1)
    messages, size_bytes = _whole(row, "messages", place, MOST), _whole(row, "bytes", place, MOST)
    return number, Amount(messages=messages, size_bytes=size_bytes)


def _whole(row: Json, name: str, place: str, most: int) -> int:
    """Return a number of a row; raises InputError for anything but a whole number from 0 to `most`."""
    number = row.get(name) if isinstance(row, dict) else None
    if type(number) is not int or not 0 <= number <= most:  # a truth value is an integer for Python
        raise InputError(place, name, number, f"a whole number from 0 to {most:,}")
    return number


def _check_class(largest: int, amount: Amount, before: int, place: str) -> None:
    """Raise InputError unless a class ends below a power of two, is larger than the one before, and holds its bytes."""
    if largest & (largest + 1) or largest <= before:
        raise InputError(place, "size_bytes", largest, "one less than a power of two, in ascending order")
    smallest = (largest + 1) // 2
    if not amount.messages or not smallest <= amount.size_bytes / amount.messages <= largest:
        problem = f"{amount.messages} messages of {amount.size_bytes} bytes"
        raise InputError(place, "bytes", problem=problem, valid=f"messages of {smallest} to {largest} bytes")
