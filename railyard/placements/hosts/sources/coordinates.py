"""railyard's own coordinates file (docs/formats.md): `HOST X Y Z` per line, `torus X Y Z` before the first.

A topology with more dimensions has more numbers per line; all lines of a file have as many.
"""

from __future__ import annotations

import re

from railyard.placements.hosts.sources.located import CoordinateSource, NodeCoordinates, Reading
from railyard.placements.hosts.text import content_lines
from railyard.placements.topology.base import Coordinate


def matches(text: str) -> bool:
    """Return whether most lines have four words or more, all but the first of them numbers."""
    lines = [line for _, line in content_lines(text)]
    return 2 * sum(re.fullmatch(r"\S+(\s+[0-9]+){3,}", line) is not None for line in lines) > len(lines)


def parse(text: str, source: str) -> NodeCoordinates:
    """Return name -> coordinate; all lines have as many numbers as the first."""
    nodes = Reading(source)
    extents: list[Coordinate] = []
    dimensions: list[int] = []

    def read(line: str) -> None:
        name, *words = line.split()
        if len(words) < 3 or len(words) != (dimensions or [len(words)])[0]:
            first = (dimensions or [0])[0]
            as_before = f", with {first} numbers as the lines before" if first > 3 else ""
            raise nodes.odd_line(line, f"HOST X Y Z{as_before}")
        at = tuple(nodes.whole_number(word, "HOST X Y Z") for word in words)
        dimensions.append(len(words))
        if name == "torus":
            extents.append(at)
        else:
            nodes.put(name, at)

    nodes.each(content_lines(text), read)
    return nodes.located(extents=extents[-1] if extents else None)


SOURCE = CoordinateSource(name="coordinates", does="lines HOST X Y Z", precedence=70, matches=matches, parse=parse)
