"""Define the parts of all kinds of networks: routers, nodes, directed links, destinations, blocks of addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

#: The coordinate of a router with nodes; each kind of topology has its own number of dimensions.
Coordinate = tuple[int, ...]
#: The base-2 logarithm of the number of addresses of all rails, and of the most that one rail has.
ALL_BITS, MOST_BITS = 24, 22


class LinkClass(StrEnum):
    """The link classes with a name of their own; a topology file may give rates to others."""

    MEZZANINE = "mezzanine"
    BACKPLANE = "backplane"
    CABLE = "cable"
    HOST = "host"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Router:
    """One router of one rail. Only routers of `level` 0 have nodes; in a fat tree these are the leaf switches."""

    coordinate: Coordinate
    rail: int = 0
    level: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Node:
    """One node: the coordinate of its router (the same on every rail) and its slot there."""

    coordinate: Coordinate
    slot: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One directed link between neighbouring routers.

    `dimension` is 0, 1 or 2 on a torus and 0 in a fat tree. `step` is +1 or -1 as seen from `source` (an extent of 2
    has +1 from coordinate 0 and -1 from coordinate 1), in a fat tree +1 upwards; the two links of a cable have
    opposite steps. `port` is where the link leaves its source; `name` is for people.
    """

    source: Router
    target: Router
    dimension: int
    step: int
    link_class: str
    tiles: int
    rate_gbyte_s: float
    port: str
    name: str

    @property
    def rail(self) -> int:
        """Return the rail of the link; a spine that several rails share has the number 0."""
        return max(self.source.rail, self.target.rail)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Destination:
    """What one route leads to: the nodes of a router, or of a group of its slots that shares routes (`group`).

    `rail` is that of the NIC where all NICs are on one network, else 0.
    """

    coordinate: Coordinate
    group: int = 0
    rail: int = 0


#: The link that a router takes to a destination instead of its usual one.
Detours = Mapping[tuple[Router, Destination], Link]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Block:
    """An aligned block of 2**`bits` addresses that begins at `offset` in those of a rail; None: of each rail."""

    offset: int
    bits: int
    rail: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """One switch of a tree as a scheduler sees it: either nodes or other switches are below it."""

    name: str
    nodes: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()


def rail_suffix(rail: int) -> str:
    """Return what a name on a rail ends in: nothing on rail 0."""
    return f".{rail}" if rail else ""
