"""railyard's own coordinates file (docs/formats.md): `HOST X Y Z` per line, `torus X Y Z` before the first.

A topology with more dimensions has more numbers per line; all lines of a file have as many.
"""

from __future__ import annotations

import re

from placements.hosts.sources.located import (
    CoordinateSource,
    NodeCoordinates,
    content_lines,
    put,
    whole_number,
)
from placements.topology.base import Coordinate
from railyard.base.errors import InputError


def matches(text: str) -> bool:
    """Return whether every line has four words or more, all but the first of them numbers."""
    lines = [line for _, line in content_lines(text)]
    return bool(lines) and all(re.fullmatch(r"\S+(\s+\d+){3,}", line) for line in lines)


def parse(text: str, source: str) -> NodeCoordinates:
    """Return name -> coordinate; InputError names the line."""
    coordinates: dict[str, Coordinate] = {}
    extents: Coordinate | None = None
    dimensions = 0
    for number, line in content_lines(text):
        words = line.split()
        if len(words) < 4 or len(words) != 1 + (dimensions or len(words) - 1):
            as_before = f", with {dimensions} numbers as the lines before" if dimensions > 3 else ""
            raise InputError(source, f"line {number}", line, f"HOST X Y Z{as_before}")
        dimensions = len(words) - 1
        at = tuple(whole_number(word, source, number, "HOST X Y Z") for word in words[1:])
        if words[0] == "torus":
            extents = at
        else:
            put(coordinates, words[0], at, source=source, number=number)
    return NodeCoordinates(coordinates=coordinates, extents=extents)


SOURCE = CoordinateSource(
    name="coordinates", does="lines HOST X Y Z", precedence=70, matches=matches, parse=parse
)
