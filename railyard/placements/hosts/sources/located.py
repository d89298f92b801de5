"""What a source of coordinates is, what it returns, and what its parsers share.

A module of this folder that defines `SOURCE` or `SOURCES` has sources (`railyard.placements.hosts.sources` finds them);
nothing else must be edited to add one. A line that a parser cannot read is passed over and counted (`OddLineError`), so
that one odd line never takes the coordinates from all nodes. A text without a readable line is an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from railyard.base.errors import InputError, quoted
from railyard.placements.hosts import hostlist
from railyard.placements.topology.base import Coordinate

#: What a node is called: a host name, or a Cray's name of its place.
HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,254}")
Line = tuple[int, str]
T = TypeVar("T")


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


@dataclass(frozen=True, slots=True)
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


class Reading:
    """What a parser has read of a text so far: the coordinates of nodes, and the errors of lines that are odd.

    `source` is the text's name, and `number` the line that is being read, 0 where the text has no lines of its own.
    """

    def __init__(self, source: str) -> None:
        self.source, self.number = source, 0
        self.coordinates: dict[str, Coordinate] = {}
        self.odd: list[OddLineError] = []

    def each(self, lines: Iterable[tuple[int, T]], read: Callable[[T], object]) -> None:
        """Pass what every numbered line holds to `read`, and pass over those that are odd."""
        for self.number, line in lines:
            try:
                read(line)
            except OddLineError as error:
                self.odd.append(error)
        self.number = 0

    def odd_line(self, text: str, valid: str) -> OddLineError:
        """Return the error for the line that is being read."""
        return OddLineError(self.source, at_line(self.number), text, valid)

    def put(self, name: str, at: Coordinate) -> None:
        """Add a node; OddLineError for a name that no host has, InputError for one with another coordinate already."""
        if not HOST.fullmatch(name):
            raise self.odd_line(name, "a host's name: letters, digits, '.', '_', ':' and '-'")
        if self.coordinates.setdefault(name, at) != at:
            here, before = (",".join(map(str, c)) for c in (at, self.coordinates[name]))
            valid = f"one place for a node; it was at {before}"
            raise InputError(self.source, at_line(self.number), problem=f"{name} at {here}", valid=valid)

    def whole_number(self, word: str, what: str) -> int:
        """Return a number from 0; OddLineError for another word."""
        if not re.fullmatch(r"[0-9]{1,9}", word):
            raise self.odd_line(word, f"{what}: a whole number from 0")
        return int(word)

    def expand(self, text: str) -> list[str]:
        """Return the names of a host list; OddLineError for one that cannot be read."""
        try:
            return hostlist.expand(text)
        except InputError as error:
            valid = f"a host list: {error.valid}"
            raise OddLineError(self.source, at_line(self.number), error.value, valid) from error

    def located(self, **fields: Any) -> NodeCoordinates:
        """Return what was read; raises the first odd line if no node was."""
        if self.odd and not self.coordinates:
            odd = self.odd[0]
            raise InputError(odd.source, odd.field, odd.value, odd.valid, problem=odd.problem)
        passed_over = tuple(map(described, self.odd))
        return NodeCoordinates(coordinates=self.coordinates, passed_over=passed_over, **fields)
