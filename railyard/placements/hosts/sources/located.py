"""What a source of coordinates is, what it returns, and what its parsers share.

A module of this folder that defines `SOURCE` is a source (`railyard.placements.hosts.sources` finds it); nothing else
must be edited to add one. A line that a parser cannot read is passed over and counted (`OddLineError`), so that one odd
line never takes the coordinates from all nodes. A text of which no line can be read is an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from railyard.base.errors import InputError, quoted
from railyard.placements.hosts import hostlist
from railyard.placements.topology.base import Coordinate

#: What a node is called: a host name, or a Cray's name of its place.
HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,254}")
Line = tuple[int, str]


class OddLineError(InputError):
    """One line that is not of the form; the others are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCoordinates:
    """Node name -> coordinate, in the order of the source; `extents` if the source has them.

    `dimensions` is what the numbers are called there, `kind` the source's name, which its parser leaves out.
    `passed_over` describes each line that could not be read.
    """

    kind: str = ""
    coordinates: dict[str, Coordinate]
    extents: Coordinate | None = None
    dimensions: tuple[str, ...] = ("x", "y", "z")
    passed_over: tuple[str, ...] = ()

    def note(self, source: str) -> str:
        """Return one line about what was passed over; empty if nothing was."""
        return note(self.passed_over, source)


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinateSource:
    """One form in which a machine writes the coordinates of its nodes; `does` describes such a file.

    `matches(text)` is true of a text that looks like it. `parse(text, path)` raises InputError for a broken one.
    Sources are tried in the order of `precedence`, the lowest first; the first that matches reads the text. Each has a
    number of its own, lower than those of the forms that its texts match, too.
    """

    name: str
    does: str
    precedence: int
    matches: Callable[[str], object]
    parse: Callable[[str, str], NodeCoordinates]


def read_lines(lines: Iterable[Line], read: Callable[[int, str], object]) -> list[OddLineError]:
    """Pass number and text of every line to `read`, and return the errors of those that are odd."""
    odd = []
    for number, line in lines:
        try:
            read(number, line)
        except OddLineError as error:
            odd.append(error)
    return odd


def located(
    coordinates: dict[str, Coordinate], odd: Iterable[OddLineError], **fields: Any
) -> NodeCoordinates:
    """Return what a parser read; raises the first odd line if it read no node."""
    odd = list(odd)
    if odd and not coordinates:
        raise InputError(odd[0].source, odd[0].field, odd[0].value, odd[0].valid, problem=odd[0].problem)
    return NodeCoordinates(coordinates=coordinates, passed_over=tuple(map(described, odd)), **fields)


def described(error: OddLineError) -> str:
    """Return what is odd about a line, without the name of the file."""
    return f"{error.field}: {error.problem or quoted(error.value)}; expected {error.valid}"


def note(passed_over: Sequence[str], source: str) -> str:
    """Return one line about descriptions of lines that were passed over; empty if there are none."""
    if not passed_over:
        return ""
    count = len(passed_over)
    lines = "1 line" if count == 1 else f"{count} lines"
    return f"{source}: {lines} passed over{': ' if count == 1 else ', the first '}{passed_over[0]}"


def at_line(number: int) -> str:
    """Return the field of an error: a line's number, or nothing for 0, where the text has no lines of its own."""
    return f"line {number}" if number else ""


def put(coordinates: dict[str, Coordinate], name: str, at: Coordinate, *, source: str, number: int) -> None:
    """Add a node; OddLineError for a name that no host has, InputError for one that has another coordinate already."""
    if not HOST.fullmatch(name):
        valid = "a host's name: letters, digits, '.', '_', ':' and '-'"
        raise OddLineError(source, at_line(number), name, valid)
    if coordinates.setdefault(name, at) != at:
        here, before = (",".join(map(str, c)) for c in (at, coordinates[name]))
        valid = f"one place for a node; it was at {before}"
        raise InputError(source, at_line(number), problem=f"{name} at {here}", valid=valid)


def whole_number(word: str, source: str, number: int, what: str) -> int:
    """Return a number from 0; OddLineError names the line."""
    if not re.fullmatch(r"[0-9]{1,9}", word):
        raise OddLineError(source, f"line {number}", word, f"{what}: a whole number from 0")
    return int(word)


def expand(text: str, source: str, number: int) -> list[str]:
    """Return the names of a host list; OddLineError names the line."""
    try:
        return hostlist.expand(text)
    except InputError as error:
        raise OddLineError(source, at_line(number), error.value, f"a host list: {error.valid}") from error
