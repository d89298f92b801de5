"""What a virtual torus consists of, as data: namespaces, cables, addresses, routes, shapers. Pure; `netns` applies it.

Every router and node is a network namespace, every cable a veth pair, shaped where packets leave it. Packets are
forwarded by the kernel along prefix routes that implement `placements.routing`.

Addresses are f(rail, x, y, z, slot), so that one route serves a whole plane: 10.(64 rail + x).y.(8 z + slot), slot 7
being the router itself. A router needs X - 1 routes of /16, Y - 1 of /24, Z - 1 of /29. Next hops are link-local
addresses with permanent neighbour entries: no ARP in a measurement.

The management network (one unshaped bridge in the namespace `head`) carries what a launcher says to its daemons, as the
service network of a cluster does, so that only MPI's own traffic crosses the torus.

Leaves out latency: this model has the kernel's own (about 15 us per round trip and hop), not scaled.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass, field

from placements.routing import step
from placements.topology import Coordinate, Link, Node, Router, Topology
from railyard.errors import InputError

ROUTER_SLOT = 7
LIMITS = {"X": 64, "Y": 256, "Z": 32}
PORTS = ("x+", "x-", "y+", "y-", "z+", "z-")
HEAD = "head"
MANAGEMENT = ipaddress.ip_network("172.16.0.0/16")
QUEUE_BYTES = (
    32 << 20
)  # longer than all TCP windows that can meet at one port: a lossless network drops nothing
ETHERNET_BYTES = 14
TICK_SLACK_BYTES = 64  # the kernel rounds a bucket down to its clock; a full packet must still fit


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How link rates become shapers. The defaults are the measured trade of docs/torus.md."""

    rate_scale: float = 1.25e-4
    mtu_bytes: int = 2500
    burst_packets: float = 1.1

    @property
    def burst_bytes(self) -> int:
        return round(self.burst_packets * (self.mtu_bytes + ETHERNET_BYTES)) + TICK_SLACK_BYTES

    def rate_bit_s(self, rate_gbyte_s: float) -> int:
        """The shaper's rate for a link of the real machine; 1 GB/s becomes 1 Mbit/s at the default scale."""
        return round(rate_gbyte_s * 8e9 * self.rate_scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    """One host of the virtual machine: commands for `ip -batch` and `tc -batch` inside it, and its sysctls."""

    name: str
    ip: tuple[str, ...]
    tc: tuple[str, ...] = ()
    sysctls: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """One end of a cable: an interface in a namespace."""

    namespace: str
    interface: str
    mac: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cable:
    """One veth pair."""

    ends: tuple[Port, Port]
    mtu_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that `up` makes, in the order in which it makes it."""

    topology: Topology
    shape: Shape
    namespaces: tuple[Namespace, ...]
    cables: tuple[Cable, ...]
    hosts: tuple[tuple[str, str], ...] = field(repr=False)


def make(topology: Topology, shape: Shape) -> Plan:
    """The plan of a topology's virtual torus; InputError when it does not fit the address space or the kernel."""
    _check_extents(topology)
    _check_rates(topology, shape)
    return Plan(
        topology=topology,
        shape=shape,
        namespaces=(
            _head(topology),
            *(_router(topology, shape, router) for router in topology.routers),
            *(_node(topology, shape, index, node) for index, node in enumerate(topology.nodes)),
        ),
        cables=tuple(_cables(topology, shape)),
        hosts=tuple(_hosts(topology)),
    )


def address(topology_slot: int, coordinate: Coordinate, rail: int) -> str:
    """The address of a node's NIC, or of a router for slot 7."""
    x, y, z = coordinate
    return f"10.{64 * rail + x}.{y}.{8 * z + topology_slot}"


def management_address(index: int) -> str:
    """Of the index-th node in the topology's order; the head itself is .0.1."""
    return str(MANAGEMENT[index + 2])


def router_name(router: Router) -> str:
    """`r0-1-2`, on rail r > 0 `r0-1-2.r`."""
    rail = f".{router.rail}" if router.rail else ""
    return "r" + "-".join(map(str, router.coordinate)) + rail


def port_name(dimension: int, direction: int) -> str:
    """`x+`, `z-`: the interface of a router towards that neighbour."""
    return PORTS[2 * dimension + (direction < 0)]


def _check_extents(topology: Topology) -> None:
    for (name, limit), extent in zip(LIMITS.items(), topology.extents, strict=True):
        if extent > limit:
            raise InputError(
                topology.name, f"dimensions.{name}.extent", extent, f"at most {limit} in a virtual torus"
            )


def _check_rates(topology: Topology, shape: Shape) -> None:
    """TBF keeps a bucket as time in a 32-bit count of 64 ns ticks, and a rate in whole bytes per second."""
    rates = [link.rate_gbyte_s for link in topology.links()] + [topology.host_rate_gbyte_s]
    lowest = 8 * max(shape.burst_bytes, QUEUE_BYTES) / (2**32 * 64e-9)
    scales = lowest / (min(rates) * 8e9), 100e9 / (max(rates) * 8e9)
    if not scales[0] <= shape.rate_scale <= scales[1]:
        valid = f"a number from {scales[0]:.2g} to {scales[1]:.2g}, so that the kernel can shape every link"
        raise InputError("--rate-scale", "", shape.rate_scale, valid)


def _mac(router: Router, port: int, *, far: bool = False) -> str:
    """Locally administered: 02, then rail and end, x, y, z, port. `far` is the node's end of a host link."""
    x, y, z = router.coordinate
    return f"02:{router.rail * 16 + far:02x}:{x:02x}:{y:02x}:{z:02x}:{port:02x}"


def _gateway(port: int) -> str:
    return f"169.254.0.{port + 1}"


def _cables(topology: Topology, shape: Shape) -> Iterator[Cable]:
    for link in topology.links():
        if link.step > 0:
            yield Cable(ends=(_near(link), _near(_back(topology, link))), mtu_bytes=shape.mtu_bytes)
    for index, node in enumerate(topology.nodes):
        yield _management_cable(index, node)
        for rail in range(topology.rails):
            router = Router(coordinate=node.coordinate, rail=rail)
            yield Cable(
                ends=(
                    Port(
                        namespace=router_name(router),
                        interface=f"h{node.slot}",
                        mac=_mac(router, 6 + node.slot),
                    ),
                    Port(
                        namespace=node.name, interface=f"nic{rail}", mac=_mac(router, 6 + node.slot, far=True)
                    ),
                ),
                mtu_bytes=shape.mtu_bytes,
            )


def _management_cable(index: int, node: Node) -> Cable:
    mac = f"02:fe:{{}}:00:{index >> 8:02x}:{index & 255:02x}"
    return Cable(
        ends=(
            Port(namespace=HEAD, interface=f"m{index}", mac=mac.format("00")),
            Port(namespace=node.name, interface="mgmt0", mac=mac.format("01")),
        ),
        mtu_bytes=1500,
    )


def _back(topology: Topology, link: Link) -> Link:
    return topology.link(link.target, link.dimension, -link.step)


def _near(link: Link) -> Port:
    """The interface through which a directed link leaves its source."""
    interface = port_name(link.dimension, link.step)
    return Port(
        namespace=router_name(link.source),
        interface=interface,
        mac=_mac(link.source, PORTS.index(interface)),
    )


def _shaper(interface: str, rate_gbyte_s: float, shape: Shape) -> str:
    rate = shape.rate_bit_s(rate_gbyte_s)
    return (
        f"qdisc replace dev {interface} root tbf rate {rate}bit burst {shape.burst_bytes} limit {QUEUE_BYTES}"
    )


def _router(topology: Topology, shape: Shape, router: Router) -> Namespace:
    ip = ["link set lo up", f"addr add {address(ROUTER_SLOT, router.coordinate, router.rail)}/32 dev lo"]
    tc = []
    for link in topology.links_from(router):
        port = _near(link)
        index = PORTS.index(port.interface)
        peer = _near(_back(topology, link)).mac
        ip += [
            f"link set {port.interface} up",
            f"neigh replace {_gateway(index)} lladdr {peer} dev {port.interface} nud permanent",
        ]
        tc.append(_shaper(port.interface, link.rate_gbyte_s, shape))
    for slot in range(topology.nodes_per_router):
        node = address(slot, router.coordinate, router.rail)
        mac = _mac(router, 6 + slot, far=True)
        ip += [
            f"link set h{slot} up",
            f"route add {node}/32 dev h{slot}",
            f"neigh replace {node} lladdr {mac} dev h{slot} nud permanent",
        ]
        tc.append(_shaper(f"h{slot}", topology.host_rate_gbyte_s, shape))
    ip += _routes(topology, router)
    return Namespace(name=router_name(router), ip=tuple(ip), tc=tuple(tc), sysctls=ROUTER_SYSCTLS)


def _routes(topology: Topology, router: Router) -> list[str]:
    """Prefix routes: one for each other X, each other Y at this X, each other Z at this X and Y."""
    lines = []
    source = address(ROUTER_SLOT, router.coordinate, router.rail)
    x, y, _ = router.coordinate
    for dimension, extent in enumerate(topology.extents):
        for target in range(extent):
            if direction := step(router.coordinate[dimension], target, extent):
                link = topology.link(router, dimension, direction)
                interface = port_name(dimension, link.step)
                prefix = (
                    f"10.{64 * router.rail + target}.0.0/16",
                    f"10.{64 * router.rail + x}.{target}.0/24",
                    f"10.{64 * router.rail + x}.{y}.{8 * target}/29",
                )[dimension]
                gateway = _gateway(PORTS.index(interface))
                lines.append(f"route add {prefix} via {gateway} dev {interface} onlink src {source}")
    return lines


def _node(topology: Topology, shape: Shape, index: int, node: Node) -> Namespace:
    ip = ["link set lo up", f"addr add {management_address(index)}/16 dev mgmt0", "link set mgmt0 up"]
    tc = []
    for rail in range(topology.rails):
        router = Router(coordinate=node.coordinate, rail=rail)
        own = address(node.slot, node.coordinate, rail)
        mac = _mac(router, 6 + node.slot)
        ip += [
            f"link set nic{rail} gso_max_segs 1 up",
            f"addr add {own}/10 dev nic{rail} noprefixroute",
            f"neigh replace {_gateway(0)} lladdr {mac} dev nic{rail} nud permanent",
            f"route add 10.{64 * rail}.0.0/10 via {_gateway(0)} dev nic{rail} onlink src {own} {TCP_ROUTE}",
        ]
        tc.append(_shaper(f"nic{rail}", topology.host_rate_gbyte_s, shape))
    return Namespace(
        name=node.name, ip=tuple(ip), tc=tuple(tc), sysctls=(*NODE_SYSCTLS, _send_queue(topology, shape))
    )


def _send_queue(topology: Topology, shape: Shape) -> tuple[str, str]:
    """What one socket may queue at its NIC: four packets, or a millisecond of the host link where that is more.

    More would stand before the messages of the node's other sockets.
    """
    millisecond = shape.rate_bit_s(topology.host_rate_gbyte_s) // 8000
    return "net/ipv4/tcp_limit_output_bytes", str(max(4 * shape.mtu_bytes, millisecond))


def _head(topology: Topology) -> Namespace:
    """The bridge that is the management network, with the head's own address on it."""
    ip = ["link add mgmt0 type bridge forward_delay 0 mcast_snooping 0", "link set lo up"]
    ip += [f"link set m{index} master mgmt0 up" for index in range(len(topology.nodes))]
    ip += [f"addr add {MANAGEMENT[1]}/16 dev mgmt0", "link set mgmt0 up"]
    return Namespace(name=HEAD, ip=tuple(ip), sysctls=COMMON_SYSCTLS)


def _hosts(topology: Topology) -> Iterator[tuple[str, str]]:
    """Name -> address, as in /etc/hosts. A node's name is its NIC on rail 0; NAME.mgmt its management address."""
    yield HEAD, str(MANAGEMENT[1])
    for index, node in enumerate(topology.nodes):
        yield node.name, address(node.slot, node.coordinate, 0)
        yield f"{node.name}.mgmt", management_address(index)
    for router in topology.routers:
        yield router_name(router), address(ROUTER_SLOT, router.coordinate, router.rail)


# IPv6 off: its neighbour discovery would be background traffic on every link.
COMMON_SYSCTLS = (
    ("net/ipv6/conf/all/disable_ipv6", "1"),
    ("net/ipv6/conf/default/disable_ipv6", "1"),
)
# A response takes the destination's own X-Y-Z route back, in general another one: no reverse-path filter.
ROUTER_SYSCTLS = (
    *COMMON_SYSCTLS,
    ("net/ipv4/conf/all/rp_filter", "0"),
    ("net/ipv4/conf/default/rp_filter", "0"),
    ("net/ipv4/ip_forward", "1"),
)
# The real networks are lossless, with credits from link to link; the nearest that TCP comes to it: no slow start
# (TCP_ROUTE), no loss detection by timing, windows that hold whole messages, nothing remembered between launches.
# With Linux's defaults 64 nodes that exchange 1 MiB reach 75 % of their links, because acknowledgements wait behind
# data and Cubic takes the wait for congestion.
TCP_ROUTE = "initcwnd 1000 initrwnd 1000 congctl reno"
NODE_SYSCTLS = (
    *COMMON_SYSCTLS,
    ("net/ipv4/conf/all/rp_filter", "0"),
    ("net/ipv4/conf/default/rp_filter", "0"),
    ("net/ipv4/tcp_rmem", "4096 4194304 8388608"),
    ("net/ipv4/tcp_wmem", "4096 4194304 8388608"),
    ("net/ipv4/tcp_early_retrans", "0"),
    ("net/ipv4/tcp_no_metrics_save", "1"),
    ("net/ipv4/tcp_slow_start_after_idle", "0"),
)
