"""Sources of coordinates: `SOURCE` of a module, or each of `SOURCES`, is a `CoordinateSource` of `located`.

They read what machines write of themselves into name -> coordinate; docs/cluster.md lists them. A node that a source
does not name has no coordinate; nothing is made up. Leaves out links and rates: they are the topology's.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from railyard.base.errors import InputError, quoted
from railyard.base.members import members
from railyard.placements.hosts import hostlist
from railyard.placements.hosts.sources.located import CoordinateSource, NodeCoordinates
from railyard.placements.hosts.text import readable

#: Texts that people give because they come from the same tools, and what to give instead.
NEAR = (
    (r"^[ \t]*NodeName=", "topology.conf, or the output of `scontrol show topology`"),
    (r"<Report\b|<LinkFrom>|;NodeDesc|^NodeGUID +Port", "the output of `opareport -o links`"),
    (r"^(PARTITION|NODELIST)\b", "topology.conf, or the output of `scontrol show topology`"),
    (r"^CA '", "the dump of ibnetdiscover"),
)


@cache
def sources() -> Mapping[str, CoordinateSource]:
    """Return the sources by name, in the order in which they are tried."""
    ordered = sorted(members(__name__, "SOURCE", "SOURCES"), key=lambda source: source.precedence)
    return {source.name: source for source in ordered}


def read(path: Path, kind: str | None = None) -> NodeCoordinates:
    """Return the coordinates of the nodes of a file; `kind` is a source's name, by default what the text looks like.

    Raises InputError, in one line, for a file that cannot be read, is of no known kind, or has no line of its format.
    """
    text = readable(path)
    hostlist.check(text, str(path))
    if kind is None:
        kind = next((name for name, source in sources().items() if source.matches(text)), None)
    if kind is None:
        lines = ((number, line.strip()) for number, line in enumerate(text.split("\n"), start=1) if line.strip())
        number, first = next(lines, (1, ""))
        near = [instead for pattern, instead in NEAR if re.search(pattern, text, re.MULTILINE)]
        problem = f"begins with {quoted(first)}, which no source of coordinates does" if first else "it is empty"
        valid = near[0] if near else "; ".join(f"{name}, {source.does}" for name, source in sources().items())
        raise InputError(str(path), f"line {number}", problem=problem, valid=valid)
    if kind not in sources():
        raise InputError(str(path), "source", kind, ", ".join(sources()))
    located = sources()[kind].parse(text, str(path))
    if not located.coordinates:
        raise InputError(str(path), "", problem="no node", valid=f"at least one node, as {kind} has them")
    return dataclasses.replace(located, kind=kind)
