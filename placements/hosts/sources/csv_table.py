"""A table with a header: one column names the node, up to three others are its coordinate.

Columns are found by name, whatever their case and order: `node`, `host`, `hostname`, `name` or `nodename`; then `x`,
`y`, `z`, or `group`, `switch`, `port`, or `leaf` (or `switch`) alone. Separated by commas, semicolons or tabs. A row
without numbers is a node whose place is not known, and is left out.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator

from placements.hosts.sources.located import CoordinateSource, NodeCoordinates, put, whole_number
from placements.topology.base import Coordinate
from railyard.base.errors import InputError

NAMES = ("node", "host", "hostname", "name", "nodename")
DIMENSIONS = (("x", "y", "z"), ("group", "switch", "port"), ("leaf", "", ""), ("switch", "", ""))


def matches(text: str) -> bool:
    """Return whether the first line is a header with a node's name and coordinates."""
    header = _header(text)
    return _first(NAMES, header) is not None and _dimensions(header) is not None


def parse(text: str, source: str) -> NodeCoordinates:
    """Return name -> coordinate; InputError names the header or the line."""
    header = _header(text)
    name, dimensions = _first(NAMES, header), _dimensions(header)
    if name is None or dimensions is None:
        valid = f"a column of {', '.join(NAMES)}, and x,y,z or group,switch,port or leaf"
        raise InputError(source, "line 1", ",".join(header), valid)
    columns = [header.index(d) for d in dimensions if d]
    coordinates: dict[str, Coordinate] = {}
    for number, row in enumerate(_rows(text, source), start=1):
        if number == 1 or not any(cell.strip() for cell in row):
            continue
        if len(row) < len(header):
            raise InputError(source, f"line {number}", ",".join(row), f"{len(header)} columns")
        words = [row[column].strip() for column in columns]
        if any(words):
            at = [whole_number(word, source, number, "a coordinate") for word in words]
            x, y, z = (*at, 0, 0)[:3]
            put(coordinates, row[header.index(name)].strip(), (x, y, z), source=source, number=number)
    return NodeCoordinates(coordinates=coordinates, dimensions=dimensions)


def _rows(text: str, source: str) -> Iterator[list[str]]:
    try:
        yield from csv.reader(text.splitlines(), delimiter=_separator(text))
    except csv.Error as error:
        raise InputError(source, "", str(error), "a table") from error


def _separator(text: str) -> str:
    first = text.partition("\n")[0]
    return max(",;\t", key=first.count)


def _header(text: str) -> list[str]:
    return [word.strip().lower() for word in text.partition("\n")[0].split(_separator(text))]


def _first(names: tuple[str, ...], header: list[str]) -> str | None:
    return next((name for name in names if name in header), None)


def _dimensions(header: list[str]) -> tuple[str, str, str] | None:
    return next((columns for columns in DIMENSIONS if all(d in header for d in columns if d)), None)


SOURCE = CoordinateSource(
    name="csv", does="a table with a header", precedence=60, matches=matches, parse=parse
)
