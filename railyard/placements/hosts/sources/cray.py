"""What Crays write of their nodes: `rtr --interconnect`, xtdb2proc and the table of xtprocadmin.

`rtr --interconnect` writes a line for each connection of two tiles of Gemini (XE, XK) or Aries (XC).

    c0-0c0s0g0l00[(0,0,0)] Z+ -> c0-0c0s1g0l32[(0,0,1)]  LinkType: backplane
    c0-0c0s0a0l00(0:0:0) green -> c0-0c0s6a0l10(0:0:6)

Pedretti et al., CUG'13, section III and Fig. 2: a blade (slot) has two Geminis and four nodes, n0 and n1 on g0, n2 and
n3 on g1. A blade of an XC has one Aries with four nodes. It is numbered by group, chassis in the group and slot; its
coordinate is (group, 16 x chassis + slot, 0). So every router that is named places its nodes, under their physical
names (`c0-0c0s0n0`); which of them are compute nodes and the names of their hosts are in the table of xtprocadmin.

xtdb2proc writes the service database: a line of NAME=VALUE pairs for each node.

    cpu=2,slot=7,...,x_coord=0,y_coord=2,z_coord=7,...,processor_type='compute',...,processor_id=30,...

xtprocadmin prints a table: a line for each node, under a header.

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
from railyard.placements.hosts.sources.located import CoordinateSource, Line, NodeCoordinates, Reading, described, note
from railyard.placements.hosts.text import content_lines, readable
from railyard.placements.topology.base import Coordinate

COORDINATES = (("x", "y", "z"), ("x_coord", "y_coord", "z_coord"))


def matches_xtprocadmin(text: str) -> bool:
    """Return whether the first line is the table's header."""
    return {"nid", "nodename"} <= set(_header(text))


def parse_xtprocadmin(text: str, source: str) -> NodeCoordinates:
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


def read_hosts(path: Path) -> tuple[dict[str, str], str]:
    """Return physical name -> host, and one line about what was passed over; InputError if no line can be read."""
    text = readable(path)
    lines, host_of_name = Reading(str(path)), dict[str, str]()
    header = _header(text) if matches_xtprocadmin(text) else []

    def read(line: str) -> None:
        if header:
            if row := _row(line, header, lines):
                host_of_name[row["nodename"]] = host(row, lines)
        elif len(words := line.split()) == 2:
            host_of_name[words[1]] = words[0]
        else:
            raise lines.odd_line(line, "HOST NAME, or a table of xtprocadmin")

    lines.each(_lines(text) if header else content_lines(text), read)
    if lines.odd and not host_of_name:
        raise lines.odd[0]
    return host_of_name, note([described(error) for error in lines.odd], str(path))


def renamed(located: NodeCoordinates, hosts: dict[str, str], source: str) -> NodeCoordinates:
    """Return the same nodes under their hosts, without those that have none; InputError if none has one."""
    coordinates = {hosts[name]: at for name, at in located.coordinates.items() if name in hosts}
    if not coordinates:
        example = next(iter(located.coordinates))
        raise InputError(source, "", next(iter(hosts), "no name"), f"names of the source, such as {example}")
    return dataclasses.replace(located, coordinates=coordinates)


NODES_PER_GEMINI = 2
NODES_PER_ARIES = 4
SLOTS = 16
GEMINI = re.compile(r"(c\d+-\d+c\d+s\d+)g([01])l\d+\[\((\d{1,6}),(\d{1,6}),(\d{1,6})\)\]")
ARIES = re.compile(r"(c\d+-\d+c\d+s\d+)a0l\d+\((\d{1,6}):(\d{1,6}):(\d{1,6})\)")
LINE = re.compile(rf"{GEMINI.pattern}\s+[XYZ][+-]\s+->\s+(?:{GEMINI.pattern}\s+LinkType:\s*\w+|\w+)")
XC_LINE = re.compile(rf"{ARIES.pattern}\s+\w+\s+->\s+(?:{ARIES.pattern}|\w+)(?:\s+LinkType:\s*\w+)?")


def matches_interconnect(text: str) -> bool:
    """Return whether any line joins two tiles."""
    return "->" in text and (GEMINI.search(text) or ARIES.search(text)) is not None


def parse_interconnect(text: str, source: str) -> NodeCoordinates:
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


FIELDS = ("x_coord", "y_coord", "z_coord", "processor_id")
DATABASE_LINE = re.compile(r"^[^#\n]*\bx_coord=\d+,", re.M)


def parse_xtdb2proc(text: str, source: str) -> NodeCoordinates:
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


SOURCES = (
    CoordinateSource("xtprocadmin", "its table with coordinates", 40, matches_xtprocadmin, parse_xtprocadmin),
    CoordinateSource("interconnect", "what `rtr --interconnect` prints", 10, matches_interconnect, parse_interconnect),
    CoordinateSource("xtdb2proc", "what that command writes", 42, DATABASE_LINE.search, parse_xtdb2proc),
)
