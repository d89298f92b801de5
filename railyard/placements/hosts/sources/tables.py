"""Tables: railyard's own coordinates file, and a table with a header.

railyard's own (docs/formats.md): `HOST X Y Z` per line, `torus X Y Z` before the first. A topology with more dimensions
has more numbers per line; all lines of a file have as many.

With a header one column names the node, up to three others are its coordinate. Columns are found by name, whatever
their case and order: `node`, `host`, `hostname`, `name` or `nodename`; then `x`, `y`, `z`, or `group`, `switch`,
`port`, or `pod`, `leaf`, or `leaf` (or `switch`) alone. Separated by commas, semicolons or tabs, with or without
quotes; a spreadsheet's line `sep=;` is read. A row without numbers is a node whose place is not known, and is left out.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterator

from railyard.base.errors import InputError
from railyard.placements.hosts.sources.located import CoordinateSource, NodeCoordinates, Reading
from railyard.placements.hosts.text import content_lines
from railyard.placements.topology.base import Coordinate

NAMES = ("node", "host", "hostname", "name", "nodename")
DIMENSIONS = (
    ("x", "y", "z"),
    ("group", "switch", "port"),
    ("group", "switch", ""),
    ("pod", "leaf", ""),
    ("leaf", "", ""),
    ("switch", "", ""),
    ("x", "y", ""),
)
SEPARATORS = ",;\t"
#: A spreadsheet may write whole numbers with a fraction of zeros.
WHOLE = re.compile(r"([0-9]{1,9})[.,]0+")


def matches_csv(text: str) -> bool:
    """Return whether the first line is a header with a node's name and coordinates."""
    _, header, _ = _table(text)
    return _first(NAMES, header) is not None and _dimensions(header) is not None


def parse_csv(text: str, source: str) -> NodeCoordinates:
    """Return name -> coordinate; InputError names the header."""
    line, header, rows = _table(text)
    name, dimensions = _first(NAMES, header), _dimensions(header)
    if name is None or dimensions is None:
        valid = f"a column of {', '.join(NAMES)}, and x,y,z or group,switch,port or pod,leaf or leaf"
        raise InputError(source, f"line {line}", ",".join(header), valid)
    columns = [header.index(d) for d in dimensions if d]
    nodes = Reading(source)

    def read(row: list[str]) -> None:
        if len(row) < len(header):
            raise nodes.odd_line(",".join(row), f"{len(header)} columns")
        words = [WHOLE.sub(r"\1", row[column].strip()) for column in columns]
        if any(words):
            at = [nodes.whole_number(word, "a coordinate") for word in words]
            nodes.put(row[header.index(name)].strip(), (*at, 0, 0)[:3])

    try:
        nodes.each(rows, read)
    except csv.Error as error:
        raise InputError(source, "", problem=str(error), valid="a table of short cells") from error
    return nodes.located(dimensions=dimensions)


def _table(text: str) -> tuple[int, list[str], Iterator[tuple[int, list[str]]]]:
    """Return the header's line and its words, and the rows after it with their lines, without empty rows."""
    lines = text.split("\n")
    first = next((k for k, line in enumerate(lines) if line.strip() and not line.startswith(("#", "sep="))), 0)
    for index, line in enumerate(lines[:first]):
        words = [word.strip() for word in re.split(f"[{SEPARATORS}]", line.lstrip("# ").lower())]
        if _first(NAMES, words) and _dimensions(words):
            first, lines[index] = index, line.lstrip("# ")  # a header that is a comment, as numpy writes it
            break
    marked = next((line[4:5] for line in lines[:first] if line.startswith("sep=")), "")
    separator = marked or max(SEPARATORS, key=lines[first].count)
    reader = csv.reader(lines[first:], delimiter=separator, skipinitialspace=True)
    try:
        header = [word.strip().lower() for word in next(reader, [])]
    except csv.Error:
        header = []
    rows = ((first + reader.line_num, row) for row in reader)
    full = ((number, row) for number, row in rows if any(cell.strip() for cell in row))
    without_comments = itertools.filterfalse(lambda item: item[1][0].startswith("#"), full)
    return first + 1, header, without_comments


def _first(names: tuple[str, ...], header: list[str]) -> str | None:
    return next((name for name in names if name in header), None)


def _dimensions(header: list[str]) -> tuple[str, str, str] | None:
    return next((columns for columns in DIMENSIONS if all(d in header for d in columns if d)), None)


def matches_coordinates(text: str) -> bool:
    """Return whether most lines have four words or more, all but the first of them numbers."""
    lines = [line for _, line in content_lines(text)]
    return 2 * sum(re.fullmatch(r"\S+(\s+[0-9]+){3,}", line) is not None for line in lines) > len(lines)


def parse_coordinates(text: str, source: str) -> NodeCoordinates:
    """Return name -> coordinate; all lines have as many numbers as the first."""
    nodes = Reading(source)
    extents: list[Coordinate] = []
    dimensions: list[int] = []

    def read(line: str) -> None:
        name, *words = line.split()
        if len(words) < 3 or len(words) != (dimensions or [len(words)])[0]:
            first = (dimensions or [0])[0]
            as_before = f", with {first} numbers as the lines before" if first > 3 else ""
            raise nodes.odd_line(line, f"HOST X Y Z{as_before}")
        at = tuple(nodes.whole_number(word, "HOST X Y Z") for word in words)
        dimensions.append(len(words))
        if name == "torus":
            extents.append(at)
        else:
            nodes.put(name, at)

    nodes.each(content_lines(text), read)
    return nodes.located(extents=extents[-1] if extents else None)


SOURCES = (
    CoordinateSource("csv", "a table with a header", 60, matches_csv, parse_csv),
    CoordinateSource("coordinates", "lines HOST X Y Z", 70, matches_coordinates, parse_coordinates),
)
