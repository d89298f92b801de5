"""What xtdb2proc writes of a Cray's service database: a line of NAME=VALUE pairs for each node.

    cpu=2,slot=7,...,x_coord=0,y_coord=2,z_coord=7,...,processor_type='compute',...,processor_id=30,...

A node's host is `nid` and its number in five digits. Service nodes are left out.
"""

from __future__ import annotations

import re

from railyard.placements.hosts.sources.located import CoordinateSource, NodeCoordinates, Reading
from railyard.placements.hosts.text import content_lines

FIELDS = ("x_coord", "y_coord", "z_coord", "processor_id")


def parse(text: str, source: str) -> NodeCoordinates:
    """Return host -> (x, y, z) of the compute nodes."""
    nodes = Reading(source)

    def read(line: str) -> None:
        fields = {name.strip(): value.strip(" '\"") for name, value in re.findall(r"\b(\w++)=([^,]*+)", line)}
        if fields.get("processor_type", "compute") != "compute":
            return
        if missing := [name for name in FIELDS if name not in fields]:
            raise nodes.odd_line(line, f"{', '.join(missing)}")
        x, y, z, nid = (nodes.whole_number(fields[name], name) for name in FIELDS)
        nodes.put(f"nid{nid:05d}", (x, y, z))

    nodes.each(content_lines(text), read)
    return nodes.located()


SOURCE = CoordinateSource(
    name="xtdb2proc",
    does="what that command writes",
    precedence=42,
    matches=re.compile(r"^[^#\n]*\bx_coord=\d+,", re.M).search,
    parse=parse,
)
