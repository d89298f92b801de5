"""Render a plan as the description that railyard-router reads: hosts, links and routes, as plain text. Pure.

The format is documented in native/router/description.h. Routes are the prefixes that routers of the kernel get, so
detours, fat trees and rails need no rules of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from railyard.placements.topology.base import Router, Topology
from railyard.placements.topology.chosen.rules import FIXED, RESTORED
from railyard.placements.topology.faults import Faults
from railyard.torus.plan import addresses
from railyard.torus.plan.plan import ETHERNET_BYTES, Shape

FORMAT = 1
HOST_RING = -1
NIC_BYTES = 1 << 21
LINKS_PER_LINE = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterLink:
    """A directed link of the user-space router, from a host's port to another host's `far_port`.

    The rate is that of the real machine. `ring` numbers the ring of a torus dimension and direction, HOST_RING for the
    link of a node. A link that closes its ring is a `dateline`: cells change the virtual channel there.
    """

    source: str
    port: str
    target: str
    far_port: str
    rate_gbyte_s: float
    latency_us: float
    ring: int = HOST_RING
    dateline: bool = False
    down: bool = False


def lines(
    topology: Topology,
    shape: Shape,
    faults: Faults,
    *,
    path: str,
    generation: int = 1,
    machine_of: Mapping[str, int] = MappingProxyType({}),
) -> Iterator[str]:
    """Yield the lines of the description of a torus; the namespace of a node is at `path` + its name.

    `generation` numbers the descriptions of one router process, which reports the one that it works by. `machine_of`
    has the number of the machine of each node and router, where there are several.
    """
    cell = shape.mtu_bytes + ETHERNET_BYTES
    yield f"railyard-router {FORMAT} {generation}"
    yield f"cell {cell}"
    yield f"buffer {shape.buffer_cells * cell} {shape.buffer_cells * cell}"
    yield f"nic {NIC_BYTES}"
    hosts: dict[str, int] = {}
    for node in topology.nodes:
        hosts[node.name] = len(hosts)
        yield f"node {node.name} {path}{node.name}"
    for router in topology.routers:
        hosts[topology.router_name(router)] = len(hosts)
        yield f"router {topology.router_name(router)} {addresses.router_address(topology, router)}"
    for name, machine in machine_of.items():
        yield f"in {hosts[name]} {machine}"
    for node in topology.nodes:
        for rail in range(topology.rails):
            yield f"address {hosts[node.name]} {addresses.node_address(topology, node, rail)}"
    links = list(ports(topology, faults))
    for port in links:
        rate = shape.rate_bit_s(port.rate_gbyte_s) // 8
        latency_ns = port.latency_us * 1e3 / shape.rate_scale
        yield (
            f"link {hosts[port.source]} {port.port} {hosts[port.target]} {port.far_port} {rate} "
            f"{latency_ns:.0f} {port.ring} {port.dateline:d} {port.down:d}"
        )
    numbers = {(port.source, port.port): number for number, port in enumerate(links)}
    for name, trouble in faults.troubled.items():
        link = topology.links_by_name[name]
        spell_ns = (f"{seconds * 1e9:.0f}" for seconds in (trouble.at_s, trouble.for_s, trouble.every_s))
        jitter_ns = trouble.jitter_us * 1e3 / shape.rate_scale
        yield (
            f"trouble {numbers[topology.router_name(link.source), link.port]} {' '.join(spell_ns)} "
            f"{trouble.silent:d} {trouble.errors_percent / 100:g} {jitter_ns:.0f}"
        )
    if topology.rings and topology.fair and topology.routes.order != RESTORED:
        yield "fair"
    routes = topology.routes
    if routes.choose != FIXED:
        parts = len({topology.part(router) for router in topology.routers}) if routes.rule.by_part else 0
        gap_ns = routes.gap_us * 1e3 / shape.rate_scale
        yield f"choose {routes.choose} {routes.seed} {parts} {routes.order == RESTORED:d} {gap_ns:.0f} 1"
    for name, prefix, port_name in _routes(topology, faults):
        yield f"route {hosts[name]} {prefix} {numbers[name, port_name]}"
    if routes.choose != FIXED:
        yield from _ways(topology, faults, hosts, numbers)


def _ways(
    topology: Topology, faults: Faults, hosts: Mapping[str, int], numbers: Mapping[tuple[str, str], int]
) -> Iterator[str]:
    """Yield the lines with the ways between the routers of each rail, and to the parts of the network."""
    for rail in range(topology.rails):
        chosen = topology.ways(faults.down, rail)
        router = [hosts[topology.router_name(end)] for end in chosen.routers]
        link = [numbers[topology.router_name(link.source), link.port] for link in chosen.links]
        for here, end, members in chosen.sets(chosen.distance):
            yield from _sets(f"way {router[here]} {router[end]}", [link[member] for member in members])
        if topology.routes.rule.by_part:
            for here, part, members in chosen.sets(chosen.part_distance):
                yield from _sets(f"via {router[here]} {part}", [link[member] for member in members])


def _sets(words: str, links: Sequence[int]) -> Iterator[str]:
    """Yield lines that begin with `words` and have some of the links each."""
    for first in range(0, len(links), LINKS_PER_LINE):
        yield " ".join([words, *map(str, links[first : first + LINKS_PER_LINE])])


def ports(topology: Topology, faults: Faults) -> Iterator[RouterLink]:
    """Yield every directed link, those between nodes and routers first."""
    hop = topology.hop_latency_us
    for node in topology.nodes:
        for rail in range(topology.rails):
            router = topology.router_name(Router(coordinate=node.coordinate, rail=rail))
            nic, host = f"nic{rail}", f"h{node.slot}"
            rate = faults.injection_gbyte_s(topology, node)
            yield RouterLink(source=node.name, port=nic, target=router, far_port=host, rate_gbyte_s=rate, latency_us=0)
            rate = topology.host_rate_gbyte_s
            yield RouterLink(
                source=router, port=host, target=node.name, far_port=nic, rate_gbyte_s=rate, latency_us=hop
            )
    for link in topology.links():
        yield RouterLink(
            source=topology.router_name(link.source),
            port=link.port,
            target=topology.router_name(link.target),
            far_port=topology.reverse(link).port,
            rate_gbyte_s=faults.rate_gbyte_s(topology, link),
            latency_us=hop,
            ring=2 * link.dimension + (link.step < 0),
            dateline=topology.closes_ring(link),
            down=link.name in faults.down,
        )


def _routes(topology: Topology, faults: Faults) -> Iterator[tuple[str, str, str]]:
    """Yield (router, prefix, port) of every route, also of those to a router's own nodes."""
    dead = [topology.links_by_name[name] for name in faults.down]
    detours_by_rail = [topology.detours(dead, rail) for rail in range(topology.rails)]
    for router in topology.routers:
        name = topology.router_name(router)
        for prefix, link in addresses.table(topology, router, detours_by_rail[router.rail]).items():
            yield name, prefix, link.port
    for node in topology.nodes:
        for rail in range(topology.rails):
            name = topology.router_name(Router(coordinate=node.coordinate, rail=rail))
            for other in topology.reached(rail):
                yield name, f"{addresses.node_address(topology, node, other)}/32", f"h{node.slot}"
