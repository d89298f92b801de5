"""The table of Cray's xtprocadmin: a line for each node, under a header.

      NID    (HEX)    NODENAME     TYPE    STATUS        MODE
        1      0x1  c0-0c0s0n1  compute        up       batch

A node's host is `nid` and its number in five digits. With columns for the torus coordinate (x, y, z or x_coord,
y_coord, z_coord, as the service database has them) the table is a source by itself; without, it gives the physical
names of interconnect.txt their hosts (`placements.hosts.sources.names`). Service nodes are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from placements.hosts.sources.located import (
    CoordinateSource,
    NodeCoordinates,
    content_lines,
    put,
    whole_number,
)
from placements.topology.base import Coordinate
from railyard.base.errors import InputError

COORDINATES = (("x", "y", "z"), ("x_coord", "y_coord", "z_coord"))


def matches(text: str) -> bool:
    """Return whether the first line is the table's header."""
    return {"nid", "nodename"} <= set(_header(text))


def parse(text: str, source: str) -> NodeCoordinates:
    """Return host -> coordinate; InputError where the table has none, or names the line."""
    header = _header(text)
    columns = next((names for names in COORDINATES if set(names) <= set(header)), None)
    if columns is None:
        valid = "columns x, y, z; or interconnect.txt as the source and this table as --names"
        raise InputError(source, "line 1", " ".join(header), valid)
    coordinates: dict[str, Coordinate] = {}
    for number, row in _rows(text, source):
        x, y, z = (whole_number(row[column], source, number, "a coordinate") for column in columns)
        put(coordinates, host(row, source, number), (x, y, z), source=source, number=number)
    return NodeCoordinates(coordinates=coordinates)


def hosts(text: str, source: str) -> dict[str, str]:
    """Return physical name -> host of the compute nodes."""
    return {row["nodename"]: host(row, source, number) for number, row in _rows(text, source)}


def host(row: dict[str, str], source: str, number: int) -> str:
    """Return the host of a row: `nid00017` for node 17."""
    return f"nid{whole_number(row['nid'], source, number, 'a node number'):05d}"


def _rows(text: str, source: str) -> Iterator[tuple[int, dict[str, str]]]:
    header = _header(text)
    for number, line in list(content_lines(text))[1:]:
        words = line.split()
        if len(words) < len(header):
            raise InputError(source, f"line {number}", line, f"{len(header)} columns: {' '.join(header)}")
        row = dict(zip(header, words, strict=False))
        if row.get("type", "compute") == "compute":
            yield number, row


def _header(text: str) -> list[str]:
    first = next((line for _, line in content_lines(text)), "")
    return [re.sub(r"[()]", "", word).lower() for word in first.split()]


SOURCE = CoordinateSource(
    name="xtprocadmin", does="its table with coordinates", precedence=40, matches=matches, parse=parse
)
