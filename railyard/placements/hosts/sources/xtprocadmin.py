"""The table of Cray's xtprocadmin: a line for each node, under a header.

      NID    (HEX)    NODENAME     TYPE    STATUS        MODE
        1      0x1  c0-0c0s0n1  compute        up       batch

A node's host is `nid` and its number in five digits. With columns for the torus coordinate (x, y, z or x_coord,
y_coord, z_coord, as the service database has them) the table is a source by itself; without, it gives the physical
names of interconnect.txt and of Slingshot's tables, which are slots in a cabinet, their hosts (`read_hosts`). Service
nodes are left out.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from railyard.base.errors import InputError
from railyard.placements.hosts.sources import xtprocadmin
from railyard.placements.hosts.sources.located import CoordinateSource, Line, NodeCoordinates, Reading, described, note
from railyard.placements.hosts.text import content_lines, readable

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
    nodes = Reading(source)

    def read(line: str) -> None:
        if row := _row(line, header, nodes):
            x, y, z = (nodes.whole_number(row[column], "a coordinate") for column in columns)
            nodes.put(host(row, nodes), (x, y, z))

    nodes.each(_lines(text), read)
    return nodes.located()


def hosts(text: str, lines: Reading) -> dict[str, str]:
    """Return physical name -> host of the compute nodes; `lines` gets the errors of lines that are odd."""
    header = _header(text)
    by_name: dict[str, str] = {}

    def read(line: str) -> None:
        if row := _row(line, header, lines):
            by_name[row["nodename"]] = host(row, lines)

    lines.each(_lines(text), read)
    return by_name


def host(row: dict[str, str], lines: Reading) -> str:
    """Return the host of a row: `nid00017` for node 17."""
    return f"nid{lines.whole_number(row['nid'], 'a node number'):05d}"


def _lines(text: str) -> Iterator[Line]:
    return itertools.islice(content_lines(text), 1, None)


def _row(line: str, header: list[str], lines: Reading) -> dict[str, str] | None:
    """Return the fields of a line by the names of their columns; None for a service node."""
    words = line.split()
    if len(words) < len(header):
        raise lines.odd_line(line, f"{len(header)} columns: {' '.join(header)}")
    row = dict(zip(header, words, strict=False))
    return row if row.get("type", "compute") == "compute" else None


def _header(text: str) -> list[str]:
    first = next((line for _, line in content_lines(text)), "")
    return [re.sub(r"[()]", "", word).lower() for word in first.split()]


SOURCE = CoordinateSource(
    name="xtprocadmin", does="its table with coordinates", precedence=40, matches=matches, parse=parse
)


def read_hosts(path: Path) -> tuple[dict[str, str], str]:
    """Return physical name -> host, and one line about what was passed over; InputError if no line can be read."""
    text = readable(path)
    lines = Reading(str(path))
    hosts = xtprocadmin.hosts(text, lines) if xtprocadmin.matches(text) else _pairs(text, lines)
    if lines.odd and not hosts:
        raise lines.odd[0]
    return hosts, note([described(error) for error in lines.odd], str(path))


def _pairs(text: str, lines: Reading) -> dict[str, str]:
    hosts: dict[str, str] = {}

    def read_line(line: str) -> None:
        words = line.split()
        if len(words) != 2:
            raise lines.odd_line(line, "HOST NAME, or a table of xtprocadmin")
        hosts[words[1]] = words[0]

    lines.each(content_lines(text), read_line)
    return hosts


def renamed(located: NodeCoordinates, hosts: dict[str, str], source: str) -> NodeCoordinates:
    """Return the same nodes under their hosts, without those that have none; InputError if none has one."""
    coordinates = {hosts[name]: at for name, at in located.coordinates.items() if name in hosts}
    if not coordinates:
        example = next(iter(located.coordinates))
        raise InputError(source, "", next(iter(hosts), "no name"), f"names of the source, such as {example}")
    return dataclasses.replace(located, coordinates=coordinates)
