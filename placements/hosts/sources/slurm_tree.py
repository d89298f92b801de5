"""topology.conf of Slurm's topology/tree (topology.conf(5)).

    SwitchName=leaf0 Nodes=n[0-3]
    SwitchName=spine Switches=leaf[0-1]

What `scontrol show topology` prints is read, too: there a switch of switches lists all nodes below it, and is no leaf.
A node's coordinate is (leaf switch, 0, 0), leaves numbered as the file lists them: what a fat tree's topology needs.
"""

from __future__ import annotations

import re

from placements.hosts.sources.located import CoordinateSource, NodeCoordinates, content_lines, expand, put
from placements.topology.base import Coordinate
from railyard.base.errors import InputError

SWITCH = re.compile(r"^\s*SwitchName=", re.M | re.I)


def parse(text: str, source: str) -> NodeCoordinates:
    """Return name -> (leaf, 0, 0); InputError names the line."""
    coordinates: dict[str, Coordinate] = {}
    leaf = 0
    for number, line in content_lines(text.replace("\\\n", " ")):
        fields = {key.lower(): value for key, value in re.findall(r"(\w+)=(\S+)", line)}
        if "switchname" not in fields:
            raise InputError(source, f"line {number}", line, "SwitchName=NAME with Nodes= or Switches=")
        if "nodes" in fields and "switches" not in fields:
            for name in expand(fields["nodes"]):
                put(coordinates, name, (leaf, 0, 0), source=source, number=number)
            leaf += 1
    return NodeCoordinates(coordinates=coordinates, extents=(leaf, 1, 1), dimensions=("leaf", "", ""))


SOURCE = CoordinateSource(
    name="slurm", does="topology.conf of topology/tree", precedence=30, matches=SWITCH.search, parse=parse
)
