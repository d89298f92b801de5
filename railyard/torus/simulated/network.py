"""Render the network of a simulation as a list of links, hosts and routes, which the SimGrid plug-in reads.

Everything that decides a result is computed here, from the same topology, routes, faults and detours as in the virtual
torus and the link-load model. The plug-in (`simulated/simgrid/`) only follows the list. `railyard sim --keep` saves it:
one thing per line, numbered from 0; names end a line, and -1 means none.

    railyard-network/1
    planes 1                                 rail r is on network r modulo 1; absent where each rail is a network
    reach 3                                  links that a message passes in its own time; absent where distance is free
    link 5948280000 1e-07 X+ 0,0,0>1,0,0     payload bytes per second, seconds, name
    sizes 64 64                              routers with hosts, addresses
    node 12 13 -1                            memory; per rail the link into it, what its router's nodes share
    host 0 0 0 0 14 -1 n0-0-0                node, rail, router, address, the link out of it, what is shared, name
    r 0 1 3 7                                from router 0 to address 1 over links 3 and 7

A way of more links takes each of them for twice its time, and beyond twice as many links for three times; `reach 3 2`
limits that to twice. An address is a router and, in a fat tree, the spine that serves the node.

A host of the simulation is a NIC of a node (`n0-0-0`, on rail 1 `n0-0-0.nic1`), so the sending NIC decides the rail.
Where rails are joined (`planes`), the NIC that a message is for decides on which it arrives. A message between hosts of
one node passes the node's memory. A message between nodes passes the sender's host link, the capacity that the nodes of
its router share, the links between routers, and the same capacities at the receiver. On a route of more links than the
calibration's reach, a message occupies each link for longer. Only what the ranks can reach is listed, so a block of a
large machine costs no more than the block.

Leaves out the nodes of ranks (they are in a host file), and time.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from railyard.placements.topology.base import Coordinate, Destination, Detours, Link, Node, Router, Topology
from railyard.placements.topology.faults import Faults
from railyard.torus.simulated.calibration import Calibration

FORMAT = "railyard-network/1"
NONE = -1


@dataclass(kw_only=True)
class _Links:
    """The links in use, numbered in the order of their first use; each method returns the number of a link."""

    topology: Topology
    faults: Faults
    calibration: Calibration
    lines: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, name: str, rate_gbyte_s: float, latency_us: float) -> int:
        """Return the number of the link with a name; add the link if it is new."""
        if name not in self.numbers:
            self.numbers[name] = len(self.lines)
            self.lines.append(f"link {rate_gbyte_s * 1e9:.10g} {latency_us * 1e-6:.10g} {name}")
        return self.numbers[name]

    def between(self, link: Link) -> int:
        """Return the number of a link between routers."""
        rate = self.faults.rate_gbyte_s(self.topology, link) * self.calibration.payload_share
        return self.number(link.name, rate, self.calibration.hop_us(self.topology))

    def out(self, node: Node, rail: int) -> int:
        """Return the number of a node's link to its router; its latency includes the sender's and the router's."""
        rate = self.faults.injection_gbyte_s(self.topology, node) * self.calibration.payload_share
        hop_us = self.calibration.hop_us(self.topology)
        return self.number(f"out {nic_name(node, rail)}", rate, self._end_us() + hop_us)

    def into(self, node: Node, rail: int) -> int:
        """Return the number of the link from a router to a node; its latency is the receiver's."""
        rate = self.topology.host_rate_gbyte_s * self.calibration.payload_share
        return self.number(f"in {nic_name(node, rail)}", rate, self._end_us())

    def shared(self, node: Node, rail: int, direction: str) -> int:
        """Return the number of the capacity that the nodes of a router share; NONE without a limit.

        `direction` is `out` for messages to other routers and `in` for messages from them.
        """
        rate = self.calibration.router_gbyte_s
        if rate is None or self.topology.nodes_per_router == 1:
            return NONE
        router = self.topology.router_name(Router(coordinate=node.coordinate, rail=rail))
        return self.number(f"router-{direction} {router}", rate, 0.0)

    def memory(self, node: Node) -> int:
        """Return the number of a node's memory, at half its bandwidth because a copy reads and writes."""
        return self.number(f"memory {node.name}", self.calibration.memory_gbyte_s / 2, 0.0)

    def _end_us(self) -> float:
        """Return the latency of a message's sender or receiver, without that of its first router."""
        return max(0.0, (self.calibration.endpoint_latency_us - self.calibration.hop_us(self.topology)) / 2)


def nic_name(node: Node, rail: int) -> str:
    """Return the name of a NIC as a host of the simulation."""
    return f"{node.name}.nic{rail}" if rail else node.name


def render(topology: Topology, nodes: Sequence[Node], faults: Faults, calibration: Calibration) -> str:
    """Return the description of the network between `nodes`, which are distinct.

    Raises RunError if faults leave a pair of routers without a route.
    """
    topology.check_static("sim")
    links = _Links(topology=topology, faults=faults, calibration=calibration)
    rails = range(topology.rails)
    points = list(dict.fromkeys(Router(coordinate=n.coordinate, rail=r) for r in rails for n in nodes))
    addresses = list(dict.fromkeys(topology.destination(n.coordinate, n.slot, r) for r in rails for n in nodes))
    routes = list(_routes(links, points, addresses))
    point_of = {router: number for number, router in enumerate(points)}
    address_of = {address: number for number, address in enumerate(addresses)}
    node_lines = []
    for node in nodes:
        doors = (f"{links.into(node, rail)} {links.shared(node, rail, 'in')}" for rail in rails)
        node_lines.append(f"node {links.memory(node)} {' '.join(doors)}")
    hosts = [
        f"host {number} {rail} {point_of[Router(coordinate=node.coordinate, rail=rail)]} "
        f"{address_of[topology.destination(node.coordinate, node.slot, rail)]} "
        f"{links.out(node, rail)} {links.shared(node, rail, 'out')} {nic_name(node, rail)}"
        for number, node in enumerate(nodes)
        for rail in rails
    ]
    most_times = f" {calibration.reach_most_times}" if calibration.reach_most_times else ""
    reach = [f"reach {calibration.reach_hops}{most_times}"] if calibration.reach_hops else []
    planes = [f"planes {topology.planes}"] if topology.planes < topology.rails else []
    lines = [FORMAT, *planes, *reach, *links.lines, f"sizes {len(points)} {len(addresses)}"]
    return "\n".join([*lines, *node_lines, *hosts, *routes]) + "\n"


def _routes(links: _Links, points: Sequence[Router], addresses: Sequence[Destination]) -> Iterator[str]:
    """Yield a line for each router and destination at different coordinates: their numbers, then the links in order."""
    dead = [links.topology.links_by_name[name] for name in sorted(links.faults.down)]
    for rail in range(links.topology.rails):
        starts = [(number, point) for number, point in enumerate(points) if point.rail == rail]
        way = _ways(links, links.topology.detours(dead, rail), rail)
        for (start, point), (end, address) in itertools.product(starts, enumerate(addresses)):
            if point != links.topology.last_router(address, rail):
                yield f"r {start} {end}{way(point, address)}"


def _ways(links: _Links, detours: Detours, rail: int) -> Callable[[Router, Destination], str]:
    """Return a function from router and destination to the numbers of the links between them, each after a space.

    Without detours a way is made of legs, which are kept for other ways.
    """
    topology = links.topology

    def text(way: Iterator[Link]) -> str:
        return "".join(f" {links.between(link)}" for link in way)

    @functools.cache
    def leg(first: Coordinate, second: Coordinate) -> str:
        return text(topology.walk(Router(coordinate=first, rail=rail), Destination(coordinate=second)))

    def way(start: Router, end: Destination) -> str:
        corners = topology.waypoints(start.coordinate, end.coordinate)
        if detours or len(corners) == 1:
            return text(topology.walk(start, end, detours))
        return "".join(itertools.starmap(leg, itertools.pairwise((start.coordinate, *corners))))

    return way
