"""What every topology has: routers, nodes behind them, directed links with a class and a rate, rails, sockets.

A torus (`placements.torus`) and a fat tree (`placements.fattree`) are both a `Topology`; what serves both is written
against this class. Nodes hang on a box of routers (`extents`): every router of a torus, the leaves of a fat tree.

Rates are per direction: tiles x the class's rate per tile. A tile is the unit that links are made of: on Gemini one
of the router's 48 ports with three lanes (Ezell, CUG'13, section II.D), on InfiniBand a port with four lanes.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Coordinate = tuple[int, int, int]


class LinkClass(StrEnum):
    """What a link is made of."""

    MEZZANINE = "mezzanine"
    BACKPLANE = "backplane"
    CABLE = "cable"
    HOST = "host"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Router:
    """One router of one rail. In a fat tree `level` is 0 for a leaf switch and 1 for a spine."""

    coordinate: Coordinate
    rail: int = 0
    level: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Node:
    """One node: the router coordinate it hangs on (on every rail) and its slot there."""

    coordinate: Coordinate
    slot: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One directed link between neighbouring routers.

    `dimension` is 0, 1 or 2 on a torus and 0 in a fat tree. `step` is +1 or -1 as seen from `source` (an extent of 2
    has +1 from coordinate 0 and -1 from coordinate 1), in a fat tree +1 upwards. `port` is where the link leaves its
    source; `name` is for people.
    """

    source: Router
    target: Router
    dimension: int
    step: int
    link_class: LinkClass
    tiles: int
    rate_gbyte_s: float
    port: str
    name: str


@dataclass(frozen=True, kw_only=True)
class Topology(ABC):
    """Base of `Torus` and `FatTree`. Rates in GB/s (1e9 bytes per second) per direction.

    `hop_latency_us` is what one router adds to a message's way; 0 says that it is not known. `names` are those of the
    nodes that do not bear the topology's own, by coordinate and slot; they are no part of what the topology says.
    """

    name: str
    tile_rates_gbyte_s: Mapping[LinkClass, float]
    host_tiles: int
    nodes_per_router: int = 1
    rails: int = 1
    sockets_per_node: int = 1
    lanes_per_tile: int = 3
    hop_latency_us: float = 0.0
    names: Mapping[tuple[Coordinate, int], str] = field(default_factory=dict)

    @property
    @abstractmethod
    def extents(self) -> Coordinate:
        """Of the box of routers that nodes hang on."""

    @property
    @abstractmethod
    def layout(self) -> str:
        """Its routers in a few words, for people."""

    @property
    @abstractmethod
    def routers(self) -> tuple[Router, ...]:
        """Every router, rail by rail."""

    @abstractmethod
    def links_from(self, router: Router) -> Iterator[Link]:
        """The directed links that leave one router, in the order of its ports."""

    @abstractmethod
    def reverse(self, link: Link) -> Link:
        """The link of the same cable in the other direction."""

    @abstractmethod
    def router_name(self, router: Router) -> str:
        """Its name as a host; on rail r > 0 followed by `.r`."""

    @abstractmethod
    def node_name(self, coordinate: Coordinate, slot: int = 0) -> str:
        """The name of the node in a slot of a router."""

    @abstractmethod
    def hops(self, sources: NDArray[np.int64], destinations: NDArray[np.int64]) -> NDArray[np.int64]:
        """Links between routers on the way from one router coordinate to another.

        Both have shape (..., 3) and broadcast; the result has the shape without the last axis.
        """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The document that `topology.parse` reads back to an equal topology."""

    @property
    def host_rate_gbyte_s(self) -> float:
        """Rate of a node's link to its router, per direction, per rail."""
        return self.host_tiles * self.tile_rates_gbyte_s[LinkClass.HOST]

    @cached_property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """Of every router that nodes hang on, X slowest."""
        ex, ey, ez = self.extents
        return tuple((x, y, z) for x in range(ex) for y in range(ey) for z in range(ez))

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Every node, in the topology's order: X slowest, then Y, Z, slot."""
        return tuple(
            Node(coordinate=c, slot=slot, name=self.names.get((c, slot)) or self.node_name(c, slot))
            for c in self.coordinates
            for slot in range(self.nodes_per_router)
        )

    @cached_property
    def node_coordinates(self) -> NDArray[np.int64]:
        """The router coordinate of every node; shape (nodes, 3), in the order of `nodes`."""
        return np.repeat(np.array(self.coordinates, dtype=np.int64), self.nodes_per_router, axis=0)

    def links(self) -> Iterator[Link]:
        """Every directed link, by router in order, then by port."""
        for router in self.routers:
            yield from self.links_from(router)

    @cached_property
    def links_by_name(self) -> Mapping[str, Link]:
        """Every directed link under its name."""
        return {link.name: link for link in self.links()}

    def nearest_rail(self, local_rank: int, ranks_per_node: int) -> int:
        """The rail whose NIC is nearest to a rank, by the rank's slot on its node.

        Ranks fill the sockets in blocks, and rails are dealt to the sockets in blocks. A socket without a NIC of its
        own uses that of the socket before it.
        """
        socket = local_rank * self.sockets_per_node // ranks_per_node
        return socket * self.rails // self.sockets_per_node

    @cached_property
    def sha256(self) -> str:
        """Of what the topology says, not of how its file is laid out."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()

    def _common(self) -> dict[str, Any]:
        """What `to_dict` says of every topology; the values that a Gemini has go without saying."""
        said: dict[str, Any] = {
            "name": self.name,
            "nodes_per_router": self.nodes_per_router,
            "rails": self.rails,
        }
        if self.sockets_per_node != 1:
            said["sockets_per_node"] = self.sockets_per_node
        if self.lanes_per_tile != 3:
            said["lanes_per_tile"] = self.lanes_per_tile
        if self.hop_latency_us:
            said["hop_latency_us"] = self.hop_latency_us
        rates = {str(name): rate for name, rate in self.tile_rates_gbyte_s.items()}
        return {**said, "tile_rates_gbyte_s": rates, "host": {"tiles": self.host_tiles}}


def rail_suffix(rail: int) -> str:
    """What a name on a rail ends in: nothing on rail 0."""
    return f".{rail}" if rail else ""
