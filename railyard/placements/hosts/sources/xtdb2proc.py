"""What xtdb2proc writes of a Cray's service database: a line of NAME=VALUE pairs for each node.

    cpu=2,slot=7,...,x_coord=0,y_coord=2,z_coord=7,...,processor_type='compute',...,processor_id=30,...

A node's host is `nid` and its number in five digits. Service nodes are left out.
"""

from __future__ import annotations

import re

from railyard.placements.hosts.sources.located import (
    CoordinateSource,
    NodeCoordinates,
    OddLineError,
    located,
    put,
    read_lines,
    whole_number,
)
from railyard.placements.hosts.text import content_lines
from railyard.placements.topology.base import Coordinate

FIELDS = ("x_coord", "y_coord", "z_coord", "processor_id")


def parse(text: str, source: str) -> NodeCoordinates:
    """Return host -> (x, y, z) of the compute nodes."""
    coordinates: dict[str, Coordinate] = {}

    def read(number: int, line: str) -> None:
        fields = {name.strip(): value.strip(" '\"") for name, value in re.findall(r"\b(\w++)=([^,]*+)", line)}
        if fields.get("processor_type", "compute") != "compute":
            return
        if missing := [name for name in FIELDS if name not in fields]:
            raise OddLineError(source, f"line {number}", line, f"{', '.join(missing)}")
        x, y, z, nid = (whole_number(fields[name], source, number, name) for name in FIELDS)
        put(coordinates, f"nid{nid:05d}", (x, y, z), source=source, number=number)

    return located(coordinates, read_lines(content_lines(text), read))


SOURCE = CoordinateSource(
    name="xtdb2proc",
    does="what that command writes",
    precedence=42,
    matches=re.compile(r"^[^#\n]*\bx_coord=\d+,", re.M).search,
    parse=parse,
)
