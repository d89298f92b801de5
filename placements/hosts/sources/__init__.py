"""Sources of coordinates, one module each: `SOURCE` is a `CoordinateSource` of `located`.

They read what machines write of themselves into name -> coordinate; docs/cluster.md lists them. A node that a source
does not name has no coordinate; nothing is made up. Leaves out links and rates: they are the topology's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from placements.hosts.sources.located import CoordinateSource, NodeCoordinates, readable
from railyard.base.errors import InputError
from railyard.base.members import members


@cache
def sources() -> Mapping[str, CoordinateSource]:
    """Return the sources by name, in the order in which they are tried."""
    ordered = sorted(members(__name__, "SOURCE"), key=lambda source: source.precedence)
    return {source.name: source for source in ordered}


def read(path: Path, kind: str | None = None) -> NodeCoordinates:
    """Return the coordinates of the nodes of a file; `kind` is a source's name, by default what the text looks like.

    Raises InputError, in one line, for a file that cannot be read, is of no known kind, or breaks its format.
    """
    text = readable(path)
    if kind is None:
        kind = next((name for name, source in sources().items() if source.matches(text)), None)
    if kind is None or kind not in sources():
        raise InputError(str(path), "", kind or "no known format", ", ".join(sources()))
    located = sources()[kind].parse(text, str(path))
    if not located.coordinates:
        raise InputError(str(path), "", problem="no node", valid=f"at least one node, as {kind} has them")
    return dataclasses.replace(located, kind=kind)
