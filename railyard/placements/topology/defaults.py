"""Provide the defaults of every kind of topology: shortest routes, detours, hops, addresses.

Routes: each router takes, of the links that shorten the way, the one that the destination's number selects, so that
destinations are dealt over equal ways. Detours: a router whose usual route crosses a dead link takes a shortest route
over live links instead. Addresses: each router has an aligned block with room for its nodes and for itself, and
neighbouring blocks that leave by the same link are joined into one prefix.

A kind overrides what its hardware does otherwise (`torus`, `fattree`).
"""

from __future__ import annotations

import ipaddress
from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from railyard.base.errors import InputError, RunError
from railyard.placements.arrays import NDArray, np
from railyard.placements.topology.parts import SPACE_BITS, Block, Destination, Detours, Link, Node, Router
from railyard.placements.topology.routing import walk

if TYPE_CHECKING:
    from railyard.placements.topology.base import Topology


def next_links(topology: Topology, destination: Destination, rail: int) -> Mapping[Router, Link]:
    """Return the usual link of every router of a rail towards a destination."""
    away = _distances(topology, destination, rail, frozenset())
    number = topology.router_numbers[destination.coordinate]
    table = {}
    for router, hops in away.items():
        shorter = [link for link in topology.links_from(router) if away.get(link.target) == hops - 1]
        if shorter:
            table[router] = shorter[number % len(shorter)]
    return table


def detours(
    topology: Topology, gone: frozenset[str], rail: int, concerned: Sequence[Destination] | None = None
) -> Detours:
    """Return the exceptions to the usual routes of a rail without the links `gone`.

    `concerned` are the destinations with a usual route over one of them, where the kind knows. Raises RunError that
    names the first pair of routers without a route.
    """
    exceptions: dict[tuple[Router, Destination], Link] = {}
    for destination in topology.destinations if concerned is None else concerned:
        away = _distances(topology, destination, rail, gone)
        for router in (r for r in topology.routers if r.rail == rail and not r.level):
            if router not in away and topology.nodes_at(router.coordinate):
                end = Router(coordinate=destination.coordinate, rail=rail)
                raise no_route(f"{topology.router_name(router)} to {topology.router_name(end)}")
        for router, hops in away.items():
            if hops and _crosses(topology, router, destination, gone):
                exceptions[router, destination] = next(
                    link
                    for link in topology.links_from(router)
                    if link.name not in gone and away.get(link.target) == hops - 1
                )
    return exceptions


def no_route(pair: str) -> RunError:
    """Return the error for a pair of routers that dead links separate."""
    return RunError(f"no route from {pair}: every way that the routers know meets a dead link")


def _crosses(topology: Topology, router: Router, destination: Destination, gone: frozenset[str]) -> bool:
    """Return whether the usual route uses a dead link."""
    return any(link.name in gone for link in walk(topology, router, destination))


def _distances(
    topology: Topology, destination: Destination, rail: int, gone: frozenset[str]
) -> dict[Router, int]:
    """Return the hops from each router of a rail to a destination over live links; a dead cable is dead both ways."""
    end = Router(coordinate=destination.coordinate, rail=rail)
    away = {end: 0}
    queue = deque([end])
    while queue:
        here = queue.popleft()
        for link in topology.links_from(here):
            if link.target not in away and topology.reverse(link).name not in gone:
                away[link.target] = away[here] + 1
                queue.append(link.target)
    return away


def hops_matrix(topology: Topology) -> NDArray[np.int64]:
    """Return the links on a shortest way between all routers with nodes; shape (coordinates, coordinates)."""
    from scipy.sparse import (
        csr_array,  # imported here: takes half of a command's start, and most need no graph
    )
    from scipy.sparse.csgraph import shortest_path

    routers = {router: k for k, router in enumerate(r for r in topology.routers if r.rail == 0)}
    pairs = [
        (routers[link.source], routers[link.target]) for link in topology.links() if link.source in routers
    ]
    rows, columns = zip(*pairs, strict=True) if pairs else ((), ())
    graph = csr_array((np.ones(len(pairs)), (rows, columns)), shape=(len(routers), len(routers)))
    ends = [routers[Router(coordinate=c)] for c in topology.coordinates]
    lengths = shortest_path(graph, unweighted=True, indices=ends)[:, ends]
    return lengths.astype(np.int64)


def check_addresses(topology: Topology) -> None:
    """Raise InputError for a topology that does not fit the address space of a rail."""
    limit = (1 << SPACE_BITS >> _block_bits(topology)) - 1
    if len(topology.coordinates) > limit:
        raise InputError(
            topology.name, "routers", len(topology.coordinates), f"at most {limit} in a virtual torus"
        )


def node_offset(topology: Topology, node: Node) -> int:
    """Return a node's address in its rail."""
    own = block(topology, Destination(coordinate=node.coordinate))
    return own.offset + node.slot


def router_offset(topology: Topology, router: Router) -> int:
    """Return a router's own address: the last of its block, or from the end of the space where it has no nodes."""
    if router.level == 0:
        own = block(topology, Destination(coordinate=router.coordinate))
        return own.offset + (1 << own.bits) - 1
    first = topology.router_indices[next(r for r in topology.routers if r.rail == router.rail)]
    return (1 << SPACE_BITS) - 2 - (topology.router_indices[router] - first)


def block(topology: Topology, destination: Destination) -> Block:
    """Return the addresses of a router's nodes."""
    bits = _block_bits(topology)
    return Block(offset=topology.router_numbers[destination.coordinate] << bits, bits=bits)


def prefixes(topology: Topology, router: Router) -> Mapping[Block, Link]:
    """Return a router's usual routes: blocks of addresses in its rail, and the link that each leaves by."""
    by_link: dict[str, tuple[Link, list[ipaddress.IPv4Network]]] = {}
    for destination in topology.destinations:
        if router.level or destination.coordinate != router.coordinate:
            link = topology.next_link(router, destination)
            own = topology.block(destination)
            network = ipaddress.IPv4Network((own.offset, 32 - own.bits))
            by_link.setdefault(link.port, (link, []))[1].append(network)
    return {
        Block(offset=int(network.network_address), bits=32 - network.prefixlen): link
        for link, networks in by_link.values()
        for network in ipaddress.collapse_addresses(networks)
    }


def _block_bits(topology: Topology) -> int:
    """Return the bits of the numbers of a router's nodes and of the router itself."""
    return topology.nodes_per_router.bit_length()
