"""Define the base class of topologies: how packets travel over a network, its addresses, and link loads.

A kind (`torus`, `fattree`) is a subclass of `Topology` in a module of its own, with a function `parse`; `catalog.KINDS`
names the module. Code for several kinds uses this class. What a kind must define is in `network`. Everything here has a
default, which a kind overrides if its hardware does otherwise:

- Routes: each router takes, of the links that shorten the way, the one that the destination's number selects, so that
  destinations are dealt over equal ways. Every router decides alone, by the destination and its table of detours.
- Detours: a router whose usual route crosses a dead link takes a shortest route over live links instead. Forwarding is
  by destination alone, so the tables of all routers must agree. Dead links that separate a pair of routers are refused,
  which is Gemini's "unrouteable" state.
- Addresses: each router has an aligned block with room for its nodes and for itself, and neighbouring blocks that leave
  by the same link are joined into one prefix.
- Link loads: summed route by route, or by the rule that chooses routes.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from railyard.base.errors import InputError, RunError
from railyard.placements.arrays import Floats, Ints, Ints32, np
from railyard.placements.topology.carried import Carried, added, summed
from railyard.placements.topology.chosen.rules import FIXED, RULES, USUAL, Routes
from railyard.placements.topology.chosen.ways import Ways, ways
from railyard.placements.topology.network import Network
from railyard.placements.topology.parts import Block, Coordinate, Destination, Detours, Link, LinkClass, Node, Router

__all__ = ["Coordinate", "Destination", "Detours", "Link", "LinkClass", "Node", "Router", "Topology"]

#: The most routers with chosen routes: tables of all pairs take 0.6 GB for 2,368 of them, and 2 GB for so many.
MOST_CHOOSING = 4096
TURNS = "turns"


@dataclass(frozen=True, kw_only=True)
class Topology(Network):
    """Base of every kind. `hop_latency_us` is the latency that one router adds to a message; 0 if it is not known."""

    #: The rules by which routes can be chosen on this kind (`railyard.placements.topology.chosen.rules`).
    choices: ClassVar[tuple[str, ...]] = tuple(RULES)

    hop_latency_us: float = 0.0
    routes: Routes = USUAL
    #: Whether sources take turns on a link (docs/routes.md); with `arbitration: turns` the inputs of a router do.
    fair: bool = True

    # Routes.

    def destination(self, coordinate: Coordinate, slot: int = 0, rail: int = 0) -> Destination:
        """Return what a route to a node leads to; `rail` is that of the NIC, where that decides the route."""
        return Destination(coordinate=coordinate)

    @cached_property
    def ends(self) -> tuple[Destination, ...]:
        """Return the destination of every node; where all NICs are on one network those of each rail in turn."""
        rails = range(self.rails if self.is_fabric else 1)
        return tuple(self.destination(node.coordinate, node.slot, rail) for rail in rails for node in self.nodes)

    @cached_property
    def destinations(self) -> tuple[Destination, ...]:
        """Return every destination, in the order of `ends`."""
        return tuple(dict.fromkeys(self.ends))

    def last_router(self, destination: Destination, rail: int) -> Router:
        """Return the router that passes packets from a rail on to the nodes of a destination."""
        return Router(coordinate=destination.coordinate, rail=self.arrives(destination.rail, rail))

    @property
    def routes_text(self) -> str:
        """Return how routes are chosen, for a list; empty if they are fixed."""
        routes = self.routes
        return "" if routes.choose == FIXED else f", routes {routes.choose} ({routes.order})"

    @property
    def is_static(self) -> bool:
        """Return whether every packet takes its usual route (`route_places`)."""
        return self.routes.choose == FIXED

    def check_wired(self, what: str) -> None:  # most kinds have nothing to refuse
        """Raise InputError for `what` where routers cannot decide: the links or how they choose are not known."""

    def check_static(self, what: str) -> None:
        """Raise InputError for `what` where the links or the routes of this topology are not fixed."""
        self.check_wired(what)
        if self.routes.choose != FIXED:
            raise InputError(what, "routes.choose", self.routes.choose, FIXED)

    def next_link(self, router: Router, destination: Destination) -> Link:
        """Return the link that a router usually takes to a destination; the router must not be there already."""
        tables = self._next_links
        key = destination, router.rail
        if key not in tables:
            away = self._distances(destination, router.rail, frozenset())
            number = self.router_numbers[destination.coordinate]
            shorter = {
                here: [link for link in self.links_from(here) if away.get(link.target) == hops - 1]
                for here, hops in away.items()
            }
            tables[key] = {here: links[number % len(links)] for here, links in shorter.items() if links}
        return tables[key][router]

    def walk(self, start: Router, end: Destination, exceptions: Detours | None = None) -> Iterator[Link]:
        """Yield the links from a router to a destination; `exceptions` replace the routers' usual routes."""
        here, last = start, self.last_router(end, start.rail)
        while here != last:
            link = (exceptions or {}).get((here, end)) or self.next_link(here, end)
            yield link
            here = link.target

    def route(self, source: Coordinate, destination: Coordinate, *, rail: int = 0, slot: int = 0) -> list[Link]:
        """Return the links from a router to the router of the destination, in order; empty for a router and itself.

        `slot` is the destination node's, which decides the spine in a fat tree.
        """
        return list(self.walk(Router(coordinate=source, rail=rail), self.destination(destination, slot, rail)))

    def closes_ring(self, link: Link) -> bool:
        """Return whether packets that never turn can come back to the link: buffers need a dateline there."""
        return False

    def waypoints(self, source: Coordinate, destination: Coordinate) -> Sequence[Coordinate]:
        """Return where the usual route can be cut into legs that other routes share; the last is the destination."""
        return (destination,)

    @property
    def rings(self) -> Coordinate | None:
        """Return the extents of the rings along which all routes are dimension order; None without rings."""
        return None

    @property
    def cut_weights(self) -> tuple[tuple[float, ...], ...]:
        """Return how long a step along each axis of `cells` is where nodes are halved, in one way or more."""
        return ((1.0,) * len(self.extents),)

    def hops(self, sources: Ints, destinations: Ints) -> Ints:
        """Return the links between routers on the route from one router coordinate to another.

        Both have shape (..., dimensions) and broadcast; the result has the shape without the last axis.
        """
        return np.asarray(self._hops_matrix[self.indices_of(sources), self.indices_of(destinations)])

    def mean_hops(self) -> float:
        """Return the mean hops over all ordered pairs of routers with nodes, a router with itself included."""
        at = np.array(self.coordinates, dtype=np.int64)
        return float(np.mean([self.hops(one[None, :], at).mean() for one in at]))

    # Detours.

    def detours(self, dead: Collection[Link], rail: int) -> Detours:
        """Return the exceptions to the usual routes of the network of a rail; empty when nothing is dead.

        Raises RunError that names the first pair of routers without a route.
        """
        plane = self.plane_of(Router(coordinate=(), rail=rail))
        gone = frozenset(link.name for link in dead if self.plane_of(link.source) == plane)
        return self.detours_around(gone, rail) if gone else {}

    def detours_around(self, gone: frozenset[str], rail: int) -> Detours:
        """Return the exceptions to the usual routes of a rail where the links named `gone` are dead; as `detours`."""
        exceptions: dict[tuple[Router, Destination], Link] = {}
        for destination in self.concerned(gone):
            away, end = self._distances(destination, rail, gone), self.last_router(destination, rail)
            for router in (r for r in self.routers if r.rail == rail and not r.level):
                if router not in away and self.nodes_at(router.coordinate):
                    raise no_route(f"{self.router_name(router)} to {self.router_name(end)}")
            for router, hops in away.items():
                if hops and any(link.name in gone for link in self.walk(router, destination)):
                    exceptions[router, destination] = next(
                        link
                        for link in self.links_from(router)
                        if link.name not in gone and away.get(link.target) == hops - 1
                    )
        return exceptions

    def concerned(self, gone: frozenset[str]) -> Sequence[Destination]:
        """Return the destinations that may have a usual route over one of the links named `gone`."""
        return self.destinations

    # Ways among which routes are chosen.

    def link_length(self, link: Link) -> float:
        """Return how long a link is where shortest ways are chosen; less is better."""
        return 1.0

    def part(self, router: Router) -> int:
        """Return the number of a router's part of the network; Valiant's routes pass a third part."""
        return self.router_indices[replace(router, rail=0)]

    def ways(self, gone: frozenset[str] = frozenset(), rail: int = 0) -> Ways:
        """Return the ways among which the routers of a rail choose where the links named `gone` are dead."""
        if gone or rail:
            return self._ways(gone, rail)
        return self._all_ways

    # Addresses, as numbers in the space of one rail.

    @property
    def address_limits(self) -> Mapping[str, tuple[int, int]]:
        """Return value and limit, by field, of what the address space of a rail must hold."""
        return {"routers": (len(self.coordinates), (1 << self.space_bits >> self._block_bits) - 1)}

    def check_addresses(self) -> None:
        """Raise InputError for a topology that does not fit the address space of a rail."""
        for field, (value, limit) in self.address_limits.items():
            if value > limit:
                raise InputError(self.name, field, value, f"at most {limit} in a virtual torus")

    def node_offset(self, node: Node) -> int:
        """Return a node's address in its rail."""
        return self._router_block(node.coordinate).offset + node.slot

    def router_offset(self, router: Router) -> int:
        """Return a router's own address: the last of its block, or from the end of the space if it has no nodes."""
        if router.level == 0:
            own = self._router_block(router.coordinate)
            return own.offset + (1 << own.bits) - 1
        first = self.router_indices[next(r for r in self.routers if r.rail == router.rail)]
        return (1 << self.space_bits) - 2 - (self.router_indices[router] - first)

    def block(self, destination: Destination) -> Block:
        """Return the addresses of all nodes of a destination."""
        return self._router_block(destination.coordinate)

    def prefixes(self, router: Router) -> Mapping[Block, Link]:
        """Return a router's usual routes: blocks of addresses in its rail, and the link that each leaves by."""
        by_link: dict[tuple[str, int | None], tuple[Link, list[ipaddress.IPv4Network]]] = {}
        for destination in self.destinations:
            if router != self.last_router(destination, router.rail):
                link, own = self.next_link(router, destination), self.block(destination)
                network = ipaddress.IPv4Network((own.offset, 32 - own.bits))
                by_link.setdefault((link.port, own.rail), (link, []))[1].append(network)
        return {
            Block(offset=int(network.network_address), bits=32 - network.prefixlen, rail=rail): link
            for (_, rail), (link, networks) in by_link.items()
            for network in ipaddress.collapse_addresses(networks)
        }

    # Link loads of the first rail.

    def carry(self, source: Ints, node: Ints, sizes: Floats, gone: frozenset[str] = frozenset()) -> Carried:
        """Return the link loads of messages; those that are expected where routes are chosen.

        Message i has `sizes[i]` bytes and goes from the router with the index `source[i]` in `coordinates` to the node
        with the index `node[i]` in `nodes`. Where all NICs are on one network, both count the rails in turn: `source`
        is rail x routers + router, `node` an index in `ends`. The links named `gone` are dead; RunError where they
        leave no route.
        """
        if self.routes.choose != FIXED:
            return self._carry_chosen(source, node, sizes, gone)
        if not gone:
            return self.carry_usual(source, node, sizes)
        source, node, sizes = summed(source, node, sizes, len(self.ends))
        exceptions = self.detours([self.links_by_name[name] for name in gone], 0)
        return self._carry_along(self._routes(source, node, exceptions), sizes)

    def carry_usual(self, source: Ints, node: Ints, sizes: Floats) -> Carried:
        """Return the link loads of messages that take their usual routes, as `carry` does."""
        source, node, sizes = summed(source, node, sizes, len(self.ends))
        return self._carry_along(self.route_places(source, node), sizes)

    def route_places(self, source: Ints, node: Ints) -> Ints32:
        """Return the links of usual routes as indices into `link_rates`, -1 after the last; shape (pairs, longest).

        Pair i goes from the router with the index `source[i]` in `coordinates` to the node `node[i]`. Where packets are
        spread over third groups these are the minimal routes.
        """
        return self._routes(source, node, {})

    def _routes(self, source: Ints, node: Ints, exceptions: Detours) -> Ints32:
        """Return the links of routes with `exceptions`, walked router by router, as `route_places` does."""
        ends, routers = self.ends, len(self.coordinates)
        routes = dict[tuple[int, Destination], list[int]]()
        rows = list[list[int]]()
        for at, to in zip(source.tolist(), node.tolist(), strict=True):
            row = routes.get((at, ends[to]))
            if row is None:
                start = Router(coordinate=self.coordinates[at % routers], rail=at // routers)
                links = self.walk(start, ends[to], exceptions)
                row = routes[at, ends[to]] = [self.link_places[link.name] for link in links]
            rows.append(row)
        places = np.full((len(rows), max(map(len, rows), default=0)), -1, dtype=np.int32)
        for line, row in zip(places, rows, strict=True):
            line[: len(row)] = row
        return places

    def _carry_along(self, places: Ints32, sizes: Floats) -> Carried:
        """Return the loads of messages along routes, in the form of `route_places`."""
        loads = np.zeros(self.link_rates.size)
        for column in places.T:
            on = column >= 0
            loads += added(column[on].astype(np.int64), sizes[on], len(loads))
        longest = int((places[sizes > 0] >= 0).sum(axis=1).max(initial=0))
        return Carried(link_bytes=loads.reshape(self.link_rates.shape), longest=longest)

    def _carry_chosen(self, source: Ints, node: Ints, sizes: Floats, gone: frozenset[str]) -> Carried:
        """Return the expected loads by the rule; InputError for more than `MOST_CHOOSING` routers."""
        expected_loads = self.routes.rule.loads
        assert expected_loads is not None
        count = sum(router.rail == 0 for router in self.routers)
        if count > MOST_CHOOSING:
            raise InputError(self.name, "routers", count, f"at most {MOST_CHOOSING} with chosen routes")
        chosen = self.ways(gone)
        at = np.array([i for i, router in enumerate(chosen.routers) if router.level == 0], dtype=np.int64)
        pair = at[source] * count + at[self.router_of_node[node]]
        sent = added(pair, sizes, count * count).reshape(count, count)
        expected = expected_loads(chosen, sent)
        loads = np.zeros(self.link_rates.shape)
        loads.flat[[self.link_places[link.name] for link in chosen.links]] = expected.link_bytes
        return Carried(link_bytes=loads, longest=expected.longest)

    # The document, and what is kept.

    @cached_property
    def sha256(self) -> str:
        """Return the digest of the topology's document, which does not depend on the layout of its file.

        A torus with turns keeps the digest that it had in records before there was a choice.
        """
        document = self.to_dict()
        if self.rings:
            document.pop("arbitration", None)
            document |= {"arbitration": "sources"} if self.fair else {}
        return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()

    def _common(self) -> dict[str, Any]:
        """Return the part of `to_dict` that all kinds share; values that are a Gemini's are left out."""
        document: dict[str, Any] = {"name": self.name, "nodes_per_router": self.nodes_per_router, "rails": self.rails}
        if self.sockets_per_node != 1:
            document["sockets_per_node"] = self.sockets_per_node
        if self.lanes_per_tile != 3:
            document["lanes_per_tile"] = self.lanes_per_tile
        if self.hop_latency_us:
            document["hop_latency_us"] = self.hop_latency_us
        rates = {str(name): rate for name, rate in self.tile_rates_gbyte_s.items()}
        document |= self.routes.to_dict() | ({} if self.fair else {"arbitration": TURNS})
        return {**document, "tile_rates_gbyte_s": rates, "host": {"tiles": self.host_tiles}}

    def _distances(self, destination: Destination, rail: int, gone: frozenset[str]) -> dict[Router, int]:
        """Return the hops from each router of a rail to a destination over live links.

        A dead cable is dead both ways.
        """
        end = self.last_router(destination, rail)
        away = {end: 0}
        queue = deque([end])
        while queue:
            here = queue.popleft()
            for link in self.links_from(here):
                if link.target not in away and self.reverse(link).name not in gone:
                    away[link.target] = away[here] + 1
                    queue.append(link.target)
        return away

    def _ways(self, gone: frozenset[str], rail: int) -> Ways:
        routers = [router for router in self.routers if router.rail == rail]
        links = [link for link in self.links() if link.source.rail == rail and link.name not in gone]
        return ways(routers, links, list(map(self.link_length, links)), list(map(self.part, routers)))

    @cached_property
    def _all_ways(self) -> Ways:
        """Return the ways of the first rail while no link is dead, which every evaluation of a placement needs."""
        return self._ways(frozenset(), 0)

    @cached_property
    def _next_links(self) -> dict[tuple[Destination, int], Mapping[Router, Link]]:
        """Return the memory of `next_link`."""
        return {}

    @cached_property
    def _hops_matrix(self) -> Ints:
        """Return the links on a shortest way between all routers with nodes; shape (coordinates, coordinates)."""
        from scipy.sparse import csr_array  # imported here: takes half of a command's start
        from scipy.sparse.csgraph import shortest_path

        routers = {router: k for k, router in enumerate(r for r in self.routers if r.rail == 0)}
        pairs = [(routers[link.source], routers[link.target]) for link in self.first_rail]
        rows, columns = zip(*pairs, strict=True) if pairs else ((), ())
        graph = csr_array((np.ones(len(pairs)), (rows, columns)), shape=(len(routers), len(routers)))
        ends = [routers[Router(coordinate=c)] for c in self.coordinates]
        return shortest_path(graph, unweighted=True, indices=ends)[:, ends].astype(np.int64)

    def _router_block(self, coordinate: Coordinate) -> Block:
        bits = self._block_bits
        return Block(offset=self.router_numbers[coordinate] << bits, bits=bits)

    @property
    def _block_bits(self) -> int:
        """Return the bits of the numbers of a router's nodes and of the router itself."""
        return self.nodes_per_router.bit_length()


def no_route(pair: str) -> RunError:
    """Return the error for a pair of routers that dead links separate."""
    return RunError(f"no route from {pair}: every way that the routers know meets a dead link")
