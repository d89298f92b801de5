"""A Slingshot fabric's table of connections: rows in which a switch's port meets a node's NIC, both by xname.

    x1000c0r3j16p0,x1000c0s0b0n0h0,edge,0        port, NIC, kind of link, group

xnames are HPE Cray EX's physical names: x cabinet, c chassis, then r router, j jack, p port, or s slot, b board,
n node, h NIC. A row may hold more, separated by commas, blanks or tabs. A column `group` (or `src_group`, `group_id`)
numbers the group; without one each cabinet is a group, as liquid-cooled cabinets are cabled. Coordinates are (group,
switch in its group, 0), switches sorted by xname. A node with several NICs has the switch of the first. Rows
that join two switches contain no node.
"""

from __future__ import annotations

import itertools
import operator
import re

from railyard.base.host_names import natural
from railyard.placements.hosts.sources.located import CoordinateSource, NodeCoordinates, Reading
from railyard.placements.hosts.text import content_lines

PORT = re.compile(r"\b(x(\d+)c\d+r\d+)(?:j\d+)?(?:p\d+)?\b")
NIC = re.compile(r"\b(x\d+c\d+s\d+b\d+n\d+)(?:h(\d{1,9}))?\b")
GROUPS = ("group", "src_group", "group_id")


def matches(text: str) -> bool:
    """Return whether any line has both a switch's port and a node's NIC."""
    return any(PORT.search(line) and NIC.search(line) for _, line in content_lines(text))


def parse(text: str, source: str) -> NodeCoordinates:
    """Return node's xname -> (group, switch, 0); InputError for a group that is not a number."""
    nodes = Reading(source)
    group_column: list[int] = []
    cabinets: dict[str, int] = {}
    edges: list[tuple[str, int, int, str]] = []  # node, NIC, group and switch

    def read(line: str) -> None:
        words = [word.strip("\"'") for word in re.split(r"[,;\s]+", line)]
        port, nic = PORT.search(line), NIC.search(line)
        if not (port and nic):
            group_column.extend(words.index(name) for name in GROUPS if name in words)
            return
        if group_column and group_column[0] < len(words):
            group = nodes.whole_number(words[group_column[0]], "a group's number")
        else:
            group = cabinets.setdefault(port[2], len(cabinets))
        edges.append((nic[1], int(nic[2] or 0), group, port[1]))

    nodes.each(content_lines(text), read)
    switches = sorted({(group, natural(switch)) for _, _, group, switch in edges})
    by_group = itertools.groupby(switches, key=operator.itemgetter(0))
    number_of = {pair: number for _, pairs in by_group for number, pair in enumerate(pairs)}
    for node, _, group, switch in sorted(edges, key=lambda edge: (natural(edge[0]), edge[1])):
        nodes.coordinates.setdefault(node, (group, number_of[group, natural(switch)], 0))
    return nodes.located(dimensions=("group", "switch", ""))


SOURCE = CoordinateSource("slingshot", "a fabric's table of ports and NICs", 50, matches, parse)
