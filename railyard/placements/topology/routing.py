"""Routes: every router decides alone, by the destination and its table of detours (`Topology.next_link`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from railyard.placements.topology.parts import Coordinate, Destination, Detours, Link, Router

if TYPE_CHECKING:
    from railyard.placements.topology.base import Topology


def walk(
    topology: Topology, start: Router, end: Destination, exceptions: Detours | None = None
) -> Iterator[Link]:
    """Yield the links from a router to a destination; `exceptions` replace the routers' usual routes."""
    here = start
    while here.level or here.coordinate != end.coordinate:
        link = (exceptions or {}).get((here, end)) or topology.next_link(here, end)
        yield link
        here = link.target


def route(
    topology: Topology, source: Coordinate, destination: Coordinate, *, rail: int = 0, slot: int = 0
) -> list[Link]:
    """Return the links from a router to the router of the destination, in order; empty for a router and itself.

    `slot` is the destination node's, which decides the spine in a fat tree.
    """
    start = Router(coordinate=source, rail=rail)
    return list(walk(topology, start, topology.destination(destination, slot)))
