"""Define the base class of topologies: routers, nodes attached to them, directed links with class and rate, rails.

A kind (`torus`, `fattree`) is a subclass of `Topology` in a module of its own, with a function `parse`; `catalog.KINDS`
names the module. Code for several kinds uses this class. A kind must define its routers, its links and their names.
Routes, detours, hops, addresses and more have defaults (`defaults`), which a kind overrides if its hardware differs.
Nodes are attached to a box of routers (`extents`): every router of a torus, the leaves of a fat tree.

Rates are per direction: tiles x the class's rate per tile. A tile is the unit that links are made of: on Gemini one
of the router's 48 ports with three lanes (Ezell, CUG'13, section II.D), on InfiniBand a port with four lanes.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

from railyard.base.errors import InputError
from railyard.placements.arrays import NDArray, np
from railyard.placements.topology import carried, defaults
from railyard.placements.topology.chosen import loads
from railyard.placements.topology.chosen.routes import CHOICES, FIXED, USUAL, Routes
from railyard.placements.topology.chosen.ways import Ways, ways
from railyard.placements.topology.parts import (
    Block,
    Coordinate,
    Destination,
    Detours,
    LatticeLink,
    Link,
    LinkClass,
    Node,
    Router,
    Switch,
    rail_suffix,
)

__all__ = [
    "Block",
    "Coordinate",
    "Destination",
    "Detours",
    "LatticeLink",
    "Link",
    "LinkClass",
    "Node",
    "Router",
    "Switch",
    "Topology",
    "rail_suffix",
]


@dataclass(frozen=True, kw_only=True)
class Topology(ABC):
    """Base of every kind. Rates in GB/s (1e9 bytes per second) per direction.

    `hop_latency_us` is the latency that one router adds to a message; 0 if it is not known. `names` are the names of
    the nodes that do not have the topology's own, by coordinate and slot; they are not part of the topology's document.
    `nodes_per_router` is the most nodes of a router; a kind with unequal numbers overrides `nodes_at`.
    """

    #: The calibration of a simulation on this kind (`railyard.torus.simulated.calibration`) when none is named.
    calibration: ClassVar[str] = "plain"
    #: The axis of a coordinate along which the nodes of one router get separate lattice positions (`cells`).
    slot_axis: ClassVar[int] = 1
    #: The rules by which routes can be chosen on this kind (`railyard.placements.topology.chosen`).
    choices: ClassVar[tuple[str, ...]] = CHOICES
    #: What the numbers of a node's coordinate are, without those that are always 0; empty if the kind does not name it.
    coordinate_names: ClassVar[tuple[str, ...]] = ()

    name: str
    tile_rates_gbyte_s: Mapping[str, float]
    host_tiles: int
    nodes_per_router: int = 1
    rails: int = 1
    sockets_per_node: int = 1
    lanes_per_tile: int = 3
    hop_latency_us: float = 0.0
    names: Mapping[tuple[Coordinate, int], str] = field(default_factory=dict)
    routes: Routes = USUAL

    # What a kind must define.

    @property
    @abstractmethod
    def extents(self) -> Coordinate:
        """Return the extents of the box of routers to which nodes are attached."""

    @property
    @abstractmethod
    def layout(self) -> str:
        """Describe the routers in a few words, for people."""

    @property
    @abstractmethod
    def routers(self) -> tuple[Router, ...]:
        """Return every router, rail by rail."""

    @abstractmethod
    def links_from(self, router: Router) -> Iterator[Link]:
        """Yield the directed links that leave a router, in the order of its ports."""

    @abstractmethod
    def reverse(self, link: Link) -> Link:
        """Return the link of the same cable in the other direction."""

    @abstractmethod
    def router_name(self, router: Router) -> str:
        """Return the router's name as a host; on rail r > 0 it ends in `.r`."""

    @abstractmethod
    def node_name(self, coordinate: Coordinate, slot: int = 0) -> str:
        """Return the name of the node in a slot of a router."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the document that `catalog.parse` reads back to an equal topology."""

    # What a kind may define otherwise: routes.

    def destination(self, coordinate: Coordinate, slot: int = 0) -> Destination:
        """Return what a route to a node leads to."""
        return Destination(coordinate=coordinate)

    @property
    def routes_text(self) -> str:
        """Return how routes are chosen, for a list; empty if they are fixed."""
        routes = self.routes
        return "" if routes.choose == FIXED else f", routes {routes.choose} ({routes.order})"

    @cached_property
    def destinations(self) -> tuple[Destination, ...]:
        """Return every destination, in the order of the nodes."""
        return tuple(dict.fromkeys(self.destination(node.coordinate, node.slot) for node in self.nodes))

    def next_link(self, router: Router, destination: Destination) -> Link:
        """Return the link that a router usually takes to a destination; the router must not be there already."""
        tables = self._next_links
        key = destination, router.rail
        if key not in tables:
            tables[key] = defaults.next_links(self, destination, router.rail)
        return tables[key][router]

    def closes_ring(self, link: Link) -> bool:
        """Return whether packets that never turn can come back to the link: buffers need a dateline there."""
        return False

    def waypoints(self, source: Coordinate, destination: Coordinate) -> Sequence[Coordinate]:
        """Return where the usual route can be cut into legs that other routes share; the last is the destination."""
        return (destination,)

    def detours(self, gone: frozenset[str], rail: int) -> Detours:
        """Return the exceptions to the usual routes of a rail where the links named `gone` are dead.

        Raises RunError that names the first pair of routers without a route.
        """
        return defaults.detours(self, gone, rail)

    def hops(self, sources: NDArray[np.int64], destinations: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the links between routers on the route from one router coordinate to another.

        Both have shape (..., dimensions) and broadcast; the result has the shape without the last axis.
        """
        ends = (
            np.ravel_multi_index(tuple(np.moveaxis(at, -1, 0)), self.extents)
            for at in (sources, destinations)
        )
        lengths: NDArray[np.int64] = self._hops_matrix[tuple(ends)]
        return lengths

    def mean_hops(self) -> float:
        """Return the mean hops over all ordered pairs of routers with nodes, a router with itself included."""
        at = np.array(self.coordinates, dtype=np.int64)
        return float(np.mean([self.hops(one[None, :], at).mean() for one in at]))

    def check_wired(self, what: str) -> None:  # noqa: B027  # most kinds have nothing to refuse
        """Raise InputError for `what` where routers cannot decide: the links or how they choose are not known."""

    def check_static(self, what: str) -> None:
        """Raise InputError for `what` where the links or the routes of this topology are not fixed."""
        self.check_wired(what)
        if self.routes.choose != FIXED:
            raise InputError(what, "routes.choose", self.routes.choose, FIXED)

    def link_length(self, link: Link) -> float:
        """Return how long a link is where shortest ways are chosen; less is better."""
        return 1.0

    def part(self, router: Router) -> int:
        """Return the number of a router's part of the network, of which Valiant's ways go by a third one."""
        return self.router_indices[replace(router, rail=0)]

    # What a kind may define otherwise: addresses, as numbers in the space of one rail.

    def check_addresses(self) -> None:
        """Raise InputError for a topology that does not fit the address space of a rail."""
        defaults.check_addresses(self)

    def node_offset(self, node: Node) -> int:
        """Return a node's address in its rail."""
        return defaults.node_offset(self, node)

    def router_offset(self, router: Router) -> int:
        """Return a router's own address in its rail."""
        return defaults.router_offset(self, router)

    def block(self, destination: Destination) -> Block:
        """Return the addresses of all nodes of a destination."""
        return defaults.block(self, destination)

    def prefixes(self, router: Router) -> Mapping[Block, Link]:
        """Return a router's usual routes: blocks of addresses, and the link that each leaves by."""
        return defaults.prefixes(self, router)

    # What a kind may define otherwise: views for people, schedulers and benchmarks.

    def direction(self, link: Link) -> str:
        """Return the link's dimension and direction as two characters, as counters show them: `X+`."""
        return "L+" if link.step > 0 else "L-"

    def joins(self, link: Link) -> str:
        """Return what the link joins, in words for a table: a dimension, or two kinds of switch."""
        return "routers"

    def switch_tree(self) -> Iterator[Switch]:
        """Yield the network as a tree of switches, each after those below it: the routers, and one above them all."""
        yield from self.router_switches()
        names = tuple(self.router_name(Router(coordinate=c)) for c in self.coordinates)
        yield Switch(name="network", switches=names)

    def lattice_links(self) -> Iterator[LatticeLink]:
        """Yield the links that `topobw` measures as a lattice; none where `link_tests` lists its tests instead."""
        return iter(())

    # What a kind may override: groups of routers, and link loads.

    #: Whether the first number of a coordinate is the number of a group.
    has_groups: ClassVar[bool] = False

    @property
    def group_blocks(self) -> tuple[int, ...]:
        """Return how many groups a block of groups has, how many such blocks one of the next level has, and so on."""
        return ()

    @property
    def groups(self) -> NDArray[np.int64]:
        """Return the group of every router with nodes, in the order of `coordinates`; InputError without groups."""
        raise InputError(
            "groups", "topology", self.name, "a dragonfly, a fat tree, or another kind with groups"
        )

    @cached_property
    def link_rates(self) -> NDArray[np.float64]:
        """Return GB/s of the links of the first rail, 0 where there is none; the shape is the kind's."""
        return np.array([link.rate_gbyte_s for link in self.first_rail], dtype=np.float64)

    def link_at(self, flat: int) -> Link:
        """Return the link at an index into `link_rates` in row-major order."""
        return self.first_rail[flat]

    def carry(
        self, source: NDArray[np.int64], node: NDArray[np.int64], sizes: NDArray[np.float64]
    ) -> carried.Carried:
        """Return the link loads of messages on the first rail; those that are expected where routes are chosen.

        Message i has `sizes[i]` bytes and goes from the router with the index `source[i]` in `coordinates` to the node
        with the index `node[i]` in `nodes`.
        """
        if self.routes.choose != FIXED:
            return loads.carry(self, source, node, sizes)
        return self.carry_usual(source, node, sizes)

    def carry_usual(
        self, source: NDArray[np.int64], node: NDArray[np.int64], sizes: NDArray[np.float64]
    ) -> carried.Carried:
        """Return the link loads of messages that take their usual routes, as `carry` does."""
        return carried.by_routes(self, source, node, sizes)

    @cached_property
    def shortest_ways(self) -> Ways:
        """Return the ways among which the routers of the first rail choose while no link is dead."""
        return ways(self)

    @cached_property
    def link_places(self) -> tuple[tuple[Link, int], ...]:
        """Return every link of the first rail with its index into `link_rates` in row-major order."""
        indices = np.flatnonzero(self.link_rates).tolist()
        return tuple((self.link_at(index), index) for index in indices)

    def route_places(self, source: NDArray[np.int64], node: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the links of usual routes as indices into `link_rates`, -1 after the last; shape (pairs, longest).

        Pair i goes from the router with the index `source[i]` in `coordinates` to the node `node[i]`. Where packets are
        spread over third groups these are the minimal routes.
        """
        return carried.route_places(self, source, node)

    @property
    def rings(self) -> Coordinate | None:
        """Return the extents of the rings along which all routes are dimension order; None without rings."""
        return None

    @property
    def cut_weights(self) -> tuple[tuple[float, ...], ...]:
        """Return how long a step along each axis of `cells` is where nodes are halved, in one way or more."""
        return ((1.0,) * len(self.extents),)

    @property
    def is_static(self) -> bool:
        """Return whether every packet takes its usual route (`route_places`)."""
        return self.routes.choose == FIXED

    # What follows from the above.

    @cached_property
    def first_rail(self) -> tuple[Link, ...]:
        """Return the links of the first rail, in the order of `links`."""
        return tuple(link for link in self.links() if link.source.rail == 0)

    @property
    def host_rate_gbyte_s(self) -> float:
        """Return the rate of a node's link to its router, per direction, per rail."""
        return self.host_tiles * self.tile_rates_gbyte_s[LinkClass.HOST]

    @cached_property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """Return the coordinate of every router with nodes, in row-major order."""
        return tuple(itertools.product(*map(range, self.extents)))

    @cached_property
    def router_numbers(self) -> Mapping[Coordinate, int]:
        """Return coordinate -> index in `coordinates`."""
        return {coordinate: number for number, coordinate in enumerate(self.coordinates)}

    @cached_property
    def router_indices(self) -> Mapping[Router, int]:
        """Return router -> index in `routers`."""
        return {router: index for index, router in enumerate(self.routers)}

    def nodes_at(self, coordinate: Coordinate) -> int:
        """Return the number of nodes of a router."""
        return self.nodes_per_router

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Return every node, in the topology's order: the first number of its coordinate slowest, its slot fastest."""
        return tuple(
            Node(coordinate=c, slot=slot, name=self.names.get((c, slot)) or self.node_name(c, slot))
            for c in self.coordinates
            for slot in range(self.nodes_at(c))
        )

    @cached_property
    def router_of_node(self) -> NDArray[np.int64]:
        """Return the index in `coordinates` of every node's router; shape (nodes,)."""
        counts = [self.nodes_at(c) for c in self.coordinates]
        return np.repeat(np.arange(len(counts), dtype=np.int64), counts)

    @cached_property
    def first_node(self) -> NDArray[np.int64]:
        """Return the index of the first node of every router; shape (coordinates,)."""
        return np.searchsorted(self.router_of_node, np.arange(len(self.coordinates))).astype(np.int64)

    @cached_property
    def slots(self) -> NDArray[np.int64]:
        """Return every node's slot; shape (nodes,)."""
        slots: NDArray[np.int64] = (
            np.arange(len(self.router_of_node), dtype=np.int64) - self.first_node[self.router_of_node]
        )
        return slots

    @cached_property
    def node_coordinates(self) -> NDArray[np.int64]:
        """Return the router coordinate of every node; shape (nodes, dimensions), in the order of `nodes`."""
        at = np.array(self.coordinates, dtype=np.int64).reshape(-1, len(self.extents))
        return at[self.router_of_node]

    def cells(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the lattice positions of nodes, where those of one router are consecutive along `slot_axis` (Y).

        `indices` are indices into `nodes`; the result has shape (indices, dimensions).
        """
        at = self.node_coordinates[indices].copy()
        axis = min(self.slot_axis, at.shape[1] - 1)
        at[:, axis] = at[:, axis] * self.nodes_per_router + self.slots[indices]
        return at

    def nodes_in(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the nodes at lattice positions, as indices into `nodes`: the inverse of `cells`; shape (cells,)."""
        at = cells.copy()
        axis = min(self.slot_axis, at.shape[1] - 1)
        slots = at[:, axis] % self.nodes_per_router
        at[:, axis] //= self.nodes_per_router
        router = np.ravel_multi_index(tuple(at.T), self.extents)
        return np.asarray(self.first_node[router] + slots, dtype=np.int64)

    def box_of_cells(self, block: Sequence[int]) -> tuple[int, ...]:
        """Return the extents in lattice positions of a block of routers."""
        box = list(block)
        box[min(self.slot_axis, len(box) - 1)] *= self.nodes_per_router
        return tuple(box)

    def links(self) -> Iterator[Link]:
        """Yield every directed link, sorted by router, then by port."""
        for router in self.routers:
            yield from self.links_from(router)

    @cached_property
    def links_by_name(self) -> Mapping[str, Link]:
        """Return name -> directed link."""
        return {link.name: link for link in self.links()}

    def router_switches(self) -> Iterator[Switch]:
        """Yield the routers of the first rail that have nodes, as switches."""
        names: dict[Coordinate, list[str]] = {coordinate: [] for coordinate in self.coordinates}
        for node in self.nodes:
            names[node.coordinate].append(node.name)
        for coordinate, below in names.items():
            yield Switch(name=self.router_name(Router(coordinate=coordinate)), nodes=tuple(below))

    def nearest_rail(self, local_rank: int, ranks_per_node: int) -> int:
        """Return the rail whose NIC is nearest to a rank, by the rank's slot on its node.

        Ranks fill the sockets in blocks, and rails are dealt to the sockets in blocks. A socket without a NIC of its
        own uses that of the socket before it.
        """
        socket = local_rank * self.sockets_per_node // ranks_per_node
        return socket * self.rails // self.sockets_per_node

    @cached_property
    def sha256(self) -> str:
        """Return the digest of the topology's document, which does not depend on the layout of its file."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()

    def _common(self) -> dict[str, Any]:
        """Return the part of `to_dict` that all kinds share; values that are a Gemini's are left out."""
        document: dict[str, Any] = {
            "name": self.name,
            "nodes_per_router": self.nodes_per_router,
            "rails": self.rails,
        }
        if self.sockets_per_node != 1:
            document["sockets_per_node"] = self.sockets_per_node
        if self.lanes_per_tile != 3:
            document["lanes_per_tile"] = self.lanes_per_tile
        if self.hop_latency_us:
            document["hop_latency_us"] = self.hop_latency_us
        rates = {str(name): rate for name, rate in self.tile_rates_gbyte_s.items()}
        document |= self.routes.to_dict()
        return {**document, "tile_rates_gbyte_s": rates, "host": {"tiles": self.host_tiles}}

    @cached_property
    def _next_links(self) -> dict[tuple[Destination, int], Mapping[Router, Link]]:
        """Return the memory of `next_link`."""
        return {}

    @cached_property
    def _hops_matrix(self) -> NDArray[np.int64]:
        return defaults.hops_matrix(self)
