"""A table with a header: one column names the node, up to three others are its coordinate.

Columns are found by name, whatever their case and order: `node`, `host`, `hostname`, `name` or `nodename`; then `x`,
`y`, `z`, or `group`, `switch`, `port`, or `pod`, `leaf`, or `leaf` (or `switch`) alone. Separated by commas, semicolons
or tabs, with or without quotes; a spreadsheet's line `sep=;` is read. A row without numbers is a node whose place is
not known, and is left out.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterator

from railyard.base.errors import InputError
from railyard.placements.hosts.sources.located import CoordinateSource, NodeCoordinates, Reading

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


def matches(text: str) -> bool:
    """Return whether the first line is a header with a node's name and coordinates."""
    _, header, _ = _table(text)
    return _first(NAMES, header) is not None and _dimensions(header) is not None


def parse(text: str, source: str) -> NodeCoordinates:
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


SOURCE = CoordinateSource(name="csv", does="a table with a header", precedence=60, matches=matches, parse=parse)
