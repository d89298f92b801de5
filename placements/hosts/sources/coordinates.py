"""railyard's own coordinates file (docs/formats.md): `HOST X Y Z` a line, `torus X Y Z` before the first."""

from __future__ import annotations

import re

from placements.hosts.sources.located import Stands, content_lines, put, whole_number
from placements.topology.base import Coordinate
from railyard.errors import InputError


def matches(text: str) -> bool:
    """Return whether every line has four words, the last three of them numbers."""
    lines = [line for _, line in content_lines(text)]
    return bool(lines) and all(re.fullmatch(r"\S+(\s+\d+){3}", line) for line in lines)


def parse(text: str, source: str) -> Stands:
    """Name -> coordinate; InputError names the line."""
    stands: dict[str, Coordinate] = {}
    extents: Coordinate | None = None
    for number, line in content_lines(text):
        words = line.split()
        if len(words) != 4:
            raise InputError(source, f"line {number}", line, "HOST X Y Z")
        x, y, z = (whole_number(word, source, number, "HOST X Y Z") for word in words[1:])
        if words[0] == "torus":
            extents = x, y, z
        else:
            put(stands, words[0], (x, y, z), source=source, number=number)
    return Stands(kind="coordinates", stands=stands, extents=extents)
