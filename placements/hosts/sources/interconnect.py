"""interconnect.txt, written by `rtr --interconnect` on Cray XE and XK: a line for each connection of two Gemini tiles.

    c0-0c0s0g0l00[(0,0,0)] Z+ -> c0-0c0s1g0l32[(0,0,1)]  LinkType: backplane

Pedretti et al., CUG'13, section III and Fig. 2. A blade (slot) has two Geminis and four nodes: n0 and n1 on g0, n2 and
n3 on g1. So every Gemini that is named places two nodes, under their physical names (`c0-0c0s0n0`); which of them are
compute nodes and the names of their hosts are in the table of xtprocadmin (`placements.hosts.sources.names`).
"""

from __future__ import annotations

import re

from placements.hosts.sources.located import CoordinateSource, NodeCoordinates, content_lines, put
from placements.topology.base import Coordinate
from railyard.base.errors import InputError

NODES_PER_GEMINI = 2
END = re.compile(r"(c\d+-\d+c\d+s\d+)g([01])l\d+\[\((\d+),(\d+),(\d+)\)\]")
LINE = re.compile(rf"{END.pattern}\s+[XYZ][+-]\s+->\s+{END.pattern}\s+LinkType:\s*\w+")


def matches(text: str) -> bool:
    """Return whether any line has a link's type."""
    return "LinkType:" in text and END.search(text) is not None


def parse(text: str, source: str) -> NodeCoordinates:
    """Return physical node name -> coordinate of its Gemini; InputError names the line."""
    coordinates: dict[str, Coordinate] = {}
    for number, line in content_lines(text):
        if not LINE.fullmatch(line):
            valid = "TILE[(X,Y,Z)] DIRECTION -> TILE[(X,Y,Z)] LinkType: TYPE"
            raise InputError(source, f"line {number}", line, valid)
        for blade, gemini, *at in END.findall(line):
            for node in range(NODES_PER_GEMINI):
                name = f"{blade}n{NODES_PER_GEMINI * int(gemini) + node}"
                put(coordinates, name, tuple(map(int, at)), source=source, number=number)
    # The file has the whole machine, so its largest coordinates are the last.
    extents = tuple(max(numbers) + 1 for numbers in zip(*coordinates.values(), strict=True))
    return NodeCoordinates(coordinates=coordinates, extents=extents or None)


SOURCE = CoordinateSource(
    name="interconnect", does="what `rtr --interconnect` prints", precedence=10, matches=matches, parse=parse
)
