"""What a source of coordinates is, what it returns, and what its parsers share.

A module of this folder that defines `SOURCE` is a source (`placements.hosts.sources` finds it); nothing else must be
edited to add one.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from placements.topology.base import Coordinate
from railyard.base.errors import InputError

#: What a node is called: a host name, or a Cray's name of its place.
HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,254}")
#: The most names in a host list; no machine has as many nodes.
MOST_NAMES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCoordinates:
    """Node name -> coordinate, in the order of the source; `extents` if the source has them.

    `dimensions` is what the three numbers are called there, `kind` the source's name, which its parser leaves out.
    """

    kind: str = ""
    coordinates: dict[str, Coordinate]
    extents: Coordinate | None = None
    dimensions: tuple[str, str, str] = ("x", "y", "z")


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


def readable(path: Path) -> str:
    """Return the text of a file; InputError, in one line, for one that cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(str(path), "", path.name, "a readable text file") from error


def content_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield line numbers from 1 and lines, without comments (#), outer blanks and empty lines."""
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.partition("#")[0].strip()
        if content:
            yield number, content


def put(coordinates: dict[str, Coordinate], name: str, at: Coordinate, *, source: str, number: int) -> None:
    """Add a node; InputError for a name that no host has, and for one that has another coordinate already."""
    if not HOST.fullmatch(name):
        valid = "a host's name: letters, digits, '.', '_', ':' and '-'"
        raise InputError(source, f"line {number}", name[:60], valid)
    if coordinates.setdefault(name, at) != at:
        here, before = (",".join(map(str, c)) for c in (at, coordinates[name]))
        valid = f"one place for a node; it was at {before}"
        raise InputError(source, f"line {number}", problem=f"{name} at {here}", valid=valid)


def whole_number(word: str, source: str, number: int, what: str) -> int:
    """Return a number from 0; InputError names the line."""
    if not re.fullmatch(r"\d{1,9}", word):
        raise InputError(source, f"line {number}", word, f"{what}: a whole number from 0")
    return int(word)


def expand(text: str) -> list[str]:
    """Return the names of a Slurm host list: `n[0-2,07],m1` is n0, n1, n2, n07, m1; several brackets multiply.

    Raises InputError for a bracket that is not closed or holds anything but numbers and ranges.
    """
    if text.count("[") != text.count("]"):
        raise InputError("host list", "", text, "numbers and ranges such as [0-3,7], each bracket closed")
    names = (name for part in _split_outside_brackets(text) for name in _expand_one(part))
    expanded = list(itertools.islice(names, MOST_NAMES + 1))
    if len(expanded) > MOST_NAMES:
        raise InputError("host list", "", text[:60], f"at most {MOST_NAMES:,} names")
    return expanded


def _split_outside_brackets(text: str) -> list[str]:
    return [part for part in re.split(r",(?![^\[]*\])", text) if part]


def _expand_one(part: str) -> Iterator[str]:
    bracket = re.match(r"([^\[]*)\[([^\]]*)\](.*)", part)
    if not bracket:
        yield part
        return
    before, ranges, after = bracket.groups()
    for number in _numbers(ranges):
        for rest in _expand_one(after):
            yield f"{before}{number}{rest}"


def _numbers(ranges: str) -> Iterator[str]:
    for one in ranges.split(","):
        first, _, last = one.partition("-")
        if not all(re.fullmatch(r"[0-9]{1,9}", word) for word in (first, last or first)):
            raise InputError("host list", "", f"[{ranges}]", "numbers and ranges such as [0-3,7]")
        for value in range(int(first), int(last or first) + 1):
            yield f"{value:0{len(first)}d}"
