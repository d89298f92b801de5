"""What `rtr --interconnect` writes on Crays: a line for each connection of two tiles of Gemini (XE, XK) or Aries (XC).

    c0-0c0s0g0l00[(0,0,0)] Z+ -> c0-0c0s1g0l32[(0,0,1)]  LinkType: backplane
    c0-0c0s0a0l00(0:0:0) green -> c0-0c0s6a0l10(0:0:6)

Pedretti et al., CUG'13, section III and Fig. 2: a blade (slot) has two Geminis and four nodes, n0 and n1 on g0, n2 and
n3 on g1. A blade of an XC has one Aries with four nodes. It is numbered by group, chassis in the group and slot; its
coordinate is (group, 16 x chassis + slot, 0). So every router that is named places its nodes, under their physical
names (`c0-0c0s0n0`); which of them are compute nodes and the names of their hosts are in the table of xtprocadmin
(`railyard.placements.hosts.sources.xtprocadmin`).
"""

from __future__ import annotations

import re

from railyard.placements.hosts.sources.located import CoordinateSource, NodeCoordinates, Reading
from railyard.placements.hosts.text import content_lines
from railyard.placements.topology.base import Coordinate

NODES_PER_GEMINI = 2
NODES_PER_ARIES = 4
SLOTS = 16
GEMINI = re.compile(r"(c\d+-\d+c\d+s\d+)g([01])l\d+\[\((\d{1,6}),(\d{1,6}),(\d{1,6})\)\]")
ARIES = re.compile(r"(c\d+-\d+c\d+s\d+)a0l\d+\((\d{1,6}):(\d{1,6}):(\d{1,6})\)")
LINE = re.compile(rf"{GEMINI.pattern}\s+[XYZ][+-]\s+->\s+(?:{GEMINI.pattern}\s+LinkType:\s*\w+|\w+)")
XC_LINE = re.compile(rf"{ARIES.pattern}\s+\w+\s+->\s+(?:{ARIES.pattern}|\w+)(?:\s+LinkType:\s*\w+)?")


def matches(text: str) -> bool:
    """Return whether any line joins two tiles."""
    return "->" in text and (GEMINI.search(text) or ARIES.search(text)) is not None


def parse(text: str, source: str) -> NodeCoordinates:
    """Return physical node name -> coordinate of its router."""
    nodes = Reading(source)

    def read(line: str) -> None:
        if LINE.fullmatch(line):
            for blade, gemini, *at in GEMINI.findall(line):
                first = NODES_PER_GEMINI * int(gemini)
                add(blade, range(first, first + NODES_PER_GEMINI), tuple(map(int, at)))
        elif XC_LINE.fullmatch(line):
            for blade, group, chassis, slot in ARIES.findall(line):
                add(blade, range(NODES_PER_ARIES), (int(group), SLOTS * int(chassis) + int(slot), 0))
        else:
            valid = "TILE[(X,Y,Z)] DIRECTION -> TILE[(X,Y,Z)] LinkType: TYPE, or TILE(G:C:S) COLOUR -> TILE(G:C:S)"
            raise nodes.odd_line(line, valid)

    def add(blade: str, numbers: range, at: Coordinate) -> None:
        for number in numbers:
            nodes.put(f"{blade}n{number}", at)

    nodes.each(content_lines(text), read)
    if ARIES.search(text):
        return nodes.located(dimensions=("group", "switch", ""))
    # The file has the whole machine, so its largest coordinates are the last.
    extents = tuple(max(numbers) + 1 for numbers in zip(*nodes.coordinates.values(), strict=True))
    return nodes.located(extents=extents or None)


SOURCE = CoordinateSource(
    name="interconnect", does="what `rtr --interconnect` prints", precedence=10, matches=matches, parse=parse
)
