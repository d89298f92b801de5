"""The network of a simulation as a flat list of links, hosts and routes: what the SimGrid plug-in reads.

Everything that decides a result is worked out here, from the same topology, routes, faults and detours as the virtual
torus and the link-load model have; the plug-in (`simulated/simgrid/`) only does as the list says. Format:
docs/formats.md.

A host of the simulation is one NIC of one node (`n0-0-0`, on rail 1 `n0-0-0.nic1`): the sending NIC decides the rail.
Between hosts of one node lies its memory. Between nodes: the sender's host link, what the nodes of its router share,
the links between routers, and the same on the way in. A way of more links than the calibration's reach takes each of
them for longer. Only what the ranks can reach is listed: a block of a large machine costs no more than the block.

Leaves out: which ranks run where (a host file says it), and time.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from placements.topology.base import Coordinate, Destination, Detours, Link, Node, Router, Topology
from placements.topology.detours import detours
from placements.topology.faults import Faults
from placements.topology.routing import walk
from railyard.torus.simulated.calibration import Calibration

FORMAT = "railyard-network/1"
NONE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedLink:
    """One directed link as the simulation has it: payload bytes a second, seconds."""

    rate_byte_s: float
    latency_s: float
    name: str

    def __str__(self) -> str:
        return f"link {self.rate_byte_s:.10g} {self.latency_s:.10g} {self.name}"


@dataclass(kw_only=True)
class _Links:
    """The links in use, numbered as they come."""

    topology: Topology
    faults: Faults
    calibration: Calibration
    lines: list[SimulatedLink] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, name: str, rate_gbyte_s: float, latency_us: float) -> int:
        if name not in self.numbers:
            self.numbers[name] = len(self.lines)
            self.lines.append(
                SimulatedLink(rate_byte_s=rate_gbyte_s * 1e9, latency_s=latency_us * 1e-6, name=name)
            )
        return self.numbers[name]

    def between(self, link: Link) -> int:
        """A link between routers."""
        rate = self.faults.rate_gbyte_s(self.topology, link) * self.calibration.payload_share
        return self.number(link.name, rate, self.calibration.hop_us(self.topology))

    def out(self, node: Node, rail: int) -> int:
        """A node's link to its router: here begins a message, and its first router."""
        rate = self.faults.injection_gbyte_s(self.topology, node) * self.calibration.payload_share
        return self.number(f"out {nic_name(node, rail)}", rate, self._end_us() + self._hop_us())

    def into(self, node: Node, rail: int) -> int:
        rate = self.topology.host_rate_gbyte_s * self.calibration.payload_share
        return self.number(f"in {nic_name(node, rail)}", rate, self._end_us())

    def shared(self, node: Node, rail: int, way: str) -> int:
        """Return what the nodes of a router share to (`way` out) and from other routers; NONE without a limit."""
        rate = self.calibration.router_gbyte_s
        if rate is None or self.topology.nodes_per_router == 1:
            return NONE
        router = self.topology.router_name(Router(coordinate=node.coordinate, rail=rail))
        return self.number(f"router-{way} {router}", rate, 0.0)

    def memory(self, node: Node) -> int:
        """A copy reads and writes."""
        return self.number(f"memory {node.name}", self.calibration.memory_gbyte_s / 2, 0.0)

    def _hop_us(self) -> float:
        return self.calibration.hop_us(self.topology)

    def _end_us(self) -> float:
        return max(0.0, (self.calibration.endpoint_latency_us - self._hop_us()) / 2)


def nic_name(node: Node, rail: int) -> str:
    """A NIC as a host of the simulation."""
    return f"{node.name}.nic{rail}" if rail else node.name


def render(topology: Topology, nodes: Sequence[Node], faults: Faults, calibration: Calibration) -> str:
    """The description of all that `nodes` (each once) can reach of each other.

    Raises RunError when faults leave a pair of routers apart.
    """
    topology.check_static("sim")
    links = _Links(topology=topology, faults=faults, calibration=calibration)
    rails = range(topology.rails)
    points = list(dict.fromkeys(Router(coordinate=n.coordinate, rail=r) for r in rails for n in nodes))
    addresses = list(dict.fromkeys(destination(topology, node) for node in nodes))
    routes = list(_routes(links, points, addresses))
    point_of = {router: number for number, router in enumerate(points)}
    address_of = {address: number for number, address in enumerate(addresses)}
    node_lines = [_node(links, node) for node in nodes]
    hosts = [
        f"host {number} {rail} {point_of[Router(coordinate=node.coordinate, rail=rail)]} "
        f"{address_of[destination(topology, node)]} "
        f"{links.out(node, rail)} {links.shared(node, rail, 'out')} {nic_name(node, rail)}"
        for number, node in enumerate(nodes)
        for rail in rails
    ]
    most = f" {calibration.reach_most_times}" if calibration.reach_most_times else ""
    reach = [f"reach {calibration.reach_hops}{most}"] if calibration.reach_hops else []
    lines = [FORMAT, *reach, *map(str, links.lines), f"sizes {len(points)} {len(addresses)}"]
    return "\n".join([*lines, *node_lines, *hosts, *routes]) + "\n"


def destination(topology: Topology, node: Node) -> Destination:
    """Return what a route to a node leads to."""
    return topology.destination(node.coordinate, node.slot)


def _node(links: _Links, node: Node) -> str:
    doors = (
        f"{links.into(node, rail)} {links.shared(node, rail, 'in')}" for rail in range(links.topology.rails)
    )
    return f"node {links.memory(node)} {' '.join(doors)}"


def _routes(links: _Links, points: Sequence[Router], addresses: Sequence[Destination]) -> Iterator[str]:
    """One line for each pair that is apart: point, address, links in order."""
    dead = [links.topology.links_by_name[name] for name in sorted(links.faults.down)]
    for rail in range(links.topology.rails):
        around = detours(links.topology, dead, rail)
        starts = [(number, point) for number, point in enumerate(points) if point.rail == rail]
        ways = _Ways(links, around)
        for (start, point), (end, address) in itertools.product(starts, enumerate(addresses)):
            if point.coordinate != address.coordinate:
                yield f"r {start} {end}{ways.text(point, address)}"


class _Ways:
    """Routes as text, ` 12 13 40`. Without detours a route is made of legs that other routes share."""

    def __init__(self, links: _Links, around: Detours) -> None:
        self.links, self.around = links, around
        self.legs: dict[tuple[Router, Coordinate], str] = {}

    def text(self, start: Router, end: Destination) -> str:
        topology = self.links.topology
        corners = topology.waypoints(start.coordinate, end.coordinate)
        if self.around or len(corners) == 1:
            return self._text(walk(topology, start, end, self.around))
        starts = (start.coordinate, *corners)
        return "".join(
            self._leg(Router(coordinate=one, rail=start.rail), other)
            for one, other in itertools.pairwise(starts)
        )

    def _leg(self, start: Router, end: Coordinate) -> str:
        if (start, end) not in self.legs:
            links = walk(self.links.topology, start, Destination(coordinate=end))
            self.legs[start, end] = self._text(links)
        return self.legs[start, end]

    def _text(self, links: Iterator[Link]) -> str:
        return "".join(f" {self.links.between(link)}" for link in links)


def link_bytes(text: str) -> Mapping[str, int]:
    """Return what the plug-in counted, link name -> payload bytes; links without traffic are left out."""
    pairs = (line.split(" ", 1) for line in text.splitlines())
    return {name: int(size) for size, name in pairs}
