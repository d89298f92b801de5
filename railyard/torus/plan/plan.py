"""What a virtual torus consists of, as data: namespaces, cables, addresses, routes, shapers. Pure; `netns` applies it.

Every router and node is a network namespace, every cable a veth pair, shaped where packets leave it. Packets are
forwarded by the kernel along prefix routes (`routes`). Next hops are link-local addresses with permanent neighbour
entries: no ARP in a measurement.

Rails are separate planes of routers, with one NIC of each node on each. A node with several NICs has a rule for each of
its addresses: what is sent from a NIC leaves by that NIC, stays on its rail, and is delivered whichever of the
destination's addresses it bears. So ranks with different NICs reach each other, and the sender decides the rail.

The management network (one unshaped bridge in the namespace `head`) carries what a launcher says to its daemons, as the
service network of a cluster does, so that only MPI's own traffic crosses the torus.

Latency: where the kernel has netem and the topology says what a hop costs, each router's ports delay packets by that
cost over the rate scale; elsewhere a hop costs what the kernel takes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from placements.topology.base import Detours, Link, Node, Router, Topology
from placements.topology.detours import detours
from placements.topology.faults import Faults
from railyard.base.errors import InputError
from railyard.torus.plan import addresses, routes
from railyard.torus.plan.values import Route, Shaper

HEAD = "head"
HEAD_MAC = "02:fe:02:00:00:00"
# Longer than all TCP windows that can meet at one port: a lossless network drops nothing.
QUEUE_BYTES = 32 << 20
ETHERNET_BYTES = 14
TICK_SLACK_BYTES = 64  # the kernel rounds a bucket down to its clock; a full packet must still fit
NIC_PORT = 128  # of a MAC address: ports from here on lead to nodes
NIC_GATEWAY = "169.254.0.1"
FIRST_RAIL_TABLE = 100
SECOND_CHOICE = 100  # metric of routes that no packet takes
BRIDGE_PORTS = 1023  # of a bridge of Linux, which the management network is: BR_MAX_PORTS without port 0
HEALTHY = Faults()
LOWEST_ROUTER_RATE_BIT_S = 1e3
ROUTER_SEND_QUEUE_BYTES = 1 << 20
ROUTER_MAC = "02:00:00:00:00:01"  # of every NIC: without ARP the kernel addresses frames to the sender's own
TUN_QUEUE_CHUNKS = 10000  # longer than all that TCP's windows allow: a TUN device drops what does not fit


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How link rates become shapers. The defaults are the measured trade of docs/torus.md.

    `network` is who carries the packets: the kernel's own routing in a namespace per router, or one user-space router
    (engines/router.py). The bucket (`burst_packets`) is the kernel's alone, the buffer (`buffer_cells`: cells per link
    and virtual channel) the router's.
    """

    rate_scale: float = 1.25e-4
    mtu_bytes: int = 2500
    burst_packets: float = 1.1
    latency_scaled: bool = False
    network: Literal["kernel", "router"] = "kernel"
    buffer_cells: int = 8

    @property
    def burst_bytes(self) -> int:
        return round(self.burst_packets * (self.mtu_bytes + ETHERNET_BYTES)) + TICK_SLACK_BYTES

    def rate_bit_s(self, rate_gbyte_s: float) -> int:
        """The shaper's rate for a link of the real machine; 1 GB/s becomes 1 Mbit/s at the default scale."""
        return round(rate_gbyte_s * 8e9 * self.rate_scale)

    @property
    def lowest_rate_bit_s(self) -> float:
        """TBF keeps a bucket as time, in a 32-bit count of 64 ns ticks; the router has no such limit."""
        if self.network == "router":
            return LOWEST_ROUTER_RATE_BIT_S
        return 8 * max(self.burst_bytes, QUEUE_BYTES) / (2**32 * 64e-9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    """One host of the virtual machine: its routes, its shapers, its sysctls, and lines for `ip -batch` inside it.

    `ip` come first; `ports` maps an interface to the lines that bring it up.
    """

    name: str
    ip: tuple[str, ...]
    ports: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    routes: tuple[Route, ...] = ()
    shapers: tuple[Shaper, ...] = ()
    sysctls: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CableEnd:
    """One end of a cable: an interface in a namespace."""

    namespace: str
    interface: str
    mac: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cable:
    """One veth pair."""

    ends: tuple[CableEnd, CableEnd]
    mtu_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TorusPlan:
    """Everything that `up` makes, in the order in which it makes it."""

    topology: Topology
    shape: Shape
    faults: Faults
    namespaces: tuple[Namespace, ...]
    cables: tuple[Cable, ...]
    hosts: tuple[tuple[str, str], ...] = field(repr=False)


def make(topology: Topology, shape: Shape, faults: Faults = HEALTHY) -> TorusPlan:
    """The plan of a topology's virtual torus, with its faults.

    Raises InputError when it does not fit the address space or the kernel, RunError when a pair has no route left.
    """
    check_size(topology)
    _check_rates(topology, shape)
    dead = [topology.links_by_name[name] for name in faults.down]
    around = [detours(topology, dead, rail) for rail in range(topology.rails)]
    return TorusPlan(
        topology=topology,
        shape=shape,
        faults=faults,
        namespaces=(
            _head(topology),
            *(
                _router(topology, shape, faults, around=around[r.rail], router=r)
                for r in _forwarders(topology, shape)
            ),
            *(
                _node(topology, shape, faults, index=index, node=node)
                for index, node in enumerate(topology.nodes)
            ),
        ),
        cables=tuple(_cables(topology, shape)),
        hosts=tuple(_hosts(topology)),
    )


def _forwarders(topology: Topology, shape: Shape) -> Sequence[Router]:
    """Return the routers that are namespaces of their own."""
    return () if shape.network == "router" else topology.routers


def check_size(topology: Topology) -> None:
    """Raise InputError for a topology too large for a virtual torus, before its nodes and links are made."""
    topology.check_static("torus")
    topology.check_addresses()
    nodes = math.prod(topology.extents) * topology.nodes_per_router
    if nodes > BRIDGE_PORTS:
        valid = (
            f"at most {BRIDGE_PORTS} in a virtual torus, as many as one bridge of Linux joins; take a smaller "
            "topology, or `railyard sim` or `railyard model` for this one"
        )
        raise InputError(topology.name, "nodes", nodes, valid)


def rate_scales(topology: Topology, shape: Shape) -> tuple[float, float]:
    """Return the least and the largest rate scale at which every link can be shaped."""
    rates = [link.rate_gbyte_s for link in topology.links()] + [topology.host_rate_gbyte_s]
    return shape.lowest_rate_bit_s / (min(rates) * 8e9), 100e9 / (max(rates) * 8e9)


def _check_rates(topology: Topology, shape: Shape) -> None:
    scales = rate_scales(topology, shape)
    if not scales[0] <= shape.rate_scale <= scales[1]:
        valid = f"a number from {scales[0]:.2g} to {scales[1]:.2g}, so that every link can be shaped"
        raise InputError("--rate-scale", "", shape.rate_scale, valid)


def _mac(topology: Topology, router: Router, port: int, *, far: bool = False) -> str:
    """Return a locally administered address: 02, end, the router's number in 3 bytes, port.

    `far` is the node's end of a host link.
    """
    number = topology.router_indices[router].to_bytes(3).hex(":")
    return f"02:{far:02x}:{number}:{port:02x}"


def _cables(topology: Topology, shape: Shape) -> Iterator[Cable]:
    wired = shape.network == "kernel"
    for link in topology.links():
        if wired and link.step > 0:
            ends = _near(topology, link), _near(topology, topology.reverse(link))
            yield Cable(ends=ends, mtu_bytes=shape.mtu_bytes)
    for index, node in enumerate(topology.nodes):
        yield _management_cable(index, node)
        for rail in range(topology.rails if wired else 0):
            yield _host_cable(topology, shape, node, rail)


def _host_cable(topology: Topology, shape: Shape, node: Node, rail: int) -> Cable:
    router, port = Router(coordinate=node.coordinate, rail=rail), NIC_PORT + node.slot
    return Cable(
        ends=(
            CableEnd(
                namespace=topology.router_name(router),
                interface=f"h{node.slot}",
                mac=_mac(topology, router, port),
            ),
            CableEnd(namespace=node.name, interface=f"nic{rail}", mac=_mac(topology, router, port, far=True)),
        ),
        mtu_bytes=shape.mtu_bytes,
    )


def _management_mac(index: int, end: int) -> str:
    """Return the address of a node's management cable: its end at the bridge (0) or at the node (1)."""
    return f"02:fe:{end:02x}:00:{index >> 8:02x}:{index & 255:02x}"


def _management_cable(index: int, node: Node) -> Cable:
    return Cable(
        ends=(
            CableEnd(namespace=HEAD, interface=f"m{index}", mac=_management_mac(index, 0)),
            CableEnd(namespace=node.name, interface="mgmt0", mac=_management_mac(index, 1)),
        ),
        mtu_bytes=1500,
    )


def _near(topology: Topology, link: Link) -> CableEnd:
    """The interface through which a directed link leaves its source."""
    return CableEnd(
        namespace=topology.router_name(link.source),
        interface=link.port,
        mac=_mac(topology, link.source, _index(topology, link)),
    )


def _index(topology: Topology, link: Link) -> int:
    """Of a link's port among the ports of its router."""
    ports = [other.port for other in topology.links_from(link.source)]
    return ports.index(link.port)


def _gateway(port_index: int) -> str:
    return f"169.254.0.{port_index + 1}"


def _shaper(interface: str, rate_gbyte_s: float, shape: Shape, hop_latency_us: float | None = None) -> Shaper:
    """Return an interface's shaper; a router's port adds one hop's latency over the rate scale, if it is scaled."""
    delayed = shape.latency_scaled and hop_latency_us is not None
    return Shaper(
        interface=interface,
        rate_bit_s=shape.rate_bit_s(rate_gbyte_s),
        burst_bytes=shape.burst_bytes,
        queue_bytes=QUEUE_BYTES,
        delay_us=(hop_latency_us or 0.0) / shape.rate_scale if delayed else None,
        delay_packets=QUEUE_BYTES // shape.mtu_bytes if delayed else 0,
    )


def _router(
    topology: Topology, shape: Shape, faults: Faults, *, around: Detours, router: Router
) -> Namespace:
    links = list(topology.links_from(router))
    own = addresses.router_address(topology, router)
    ports = {k.port: _port_lines(topology, index, k) for index, k in enumerate(links)}
    table: list[Route] = []
    shapers = []
    hop_us = topology.hop_latency_us
    for slot in range(0 if router.level else topology.nodes_at(router.coordinate)):
        node = Node(coordinate=router.coordinate, slot=slot, name="")
        own_addresses = [addresses.node_address(topology, node, rail) for rail in range(topology.rails)]
        mac = _mac(topology, router, NIC_PORT + slot, far=True)
        ports[f"h{slot}"] = (
            f"link set h{slot} up",
            *(f"neigh replace {address} lladdr {mac} dev h{slot} nud permanent" for address in own_addresses),
        )
        table += [Route(prefix=f"{address}/32", interface=f"h{slot}") for address in own_addresses]
        shapers.append(_shaper(f"h{slot}", topology.host_rate_gbyte_s, shape, hop_us))
    for link in links:
        shapers.append(_shaper(link.port, faults.rate_gbyte_s(topology, link), shape, hop_us))
    gateways = {link.port: _gateway(index) for index, link in enumerate(links)}
    table += [
        Route(prefix=prefix, interface=link.port, gateway=gateways[link.port], source=own)
        for prefix, link in routes.table(topology, router, around).items()
    ]
    return Namespace(
        name=topology.router_name(router),
        ip=("link set lo up", f"addr add {own}/32 dev lo"),
        ports=ports,
        routes=tuple(table),
        shapers=tuple(shapers),
        sysctls=ROUTER_SYSCTLS,
    )


def _ways_to_other_rails(topology: Topology, node: Node, rail: int, way: Route) -> list[str]:
    """Return routes from a NIC to the addresses of the other rails and NICs, behind those by which packets leave.

    UCX since 1.17 reads routes but no rules by source address. It connects a NIC only to addresses to which no other
    NIC has a longer prefix; for the node's own addresses that is the whole address.
    """
    via = f"via {way.gateway} dev {way.interface} onlink" if way.gateway else f"dev {way.interface}"
    others = [other for other in range(topology.rails) if other != rail]
    own = [f"{addresses.node_address(topology, node, other)}/32" for other in others]
    prefixes = [*map(addresses.rail_prefix, others), *own]
    return [
        f"route add {prefix} {via} src {way.source} {way.tcp} metric {SECOND_CHOICE}" for prefix in prefixes
    ]


def _port_lines(topology: Topology, index: int, link: Link) -> tuple[str, ...]:
    peer = _near(topology, topology.reverse(link)).mac
    neighbour = f"neigh replace {_gateway(index)} lladdr {peer} dev {link.port} nud permanent"
    return f"link set {link.port} up", neighbour


def _node(topology: Topology, shape: Shape, faults: Faults, *, index: int, node: Node) -> Namespace:
    ip = [
        "link set lo up",
        f"addr add {addresses.management_address(index)}/16 dev mgmt0",
        "link set mgmt0 up",
        _management_neighbour(addresses.head_address(), HEAD_MAC),
    ]
    table, tables_of_rails, rules, shapers = list[Route](), list[Route](), list[str](), list[Shaper]()
    for rail in range(topology.rails):
        router = Router(coordinate=node.coordinate, rail=rail)
        own = addresses.node_address(topology, node, rail)
        mac = _mac(topology, router, NIC_PORT + node.slot)
        ip.append(f"addr add {own}/10 dev nic{rail} noprefixroute")
        if shape.network == "router":
            queue = f"mtu {shape.mtu_bytes} txqueuelen {TUN_QUEUE_CHUNKS}"
            ip.append(f"link set nic{rail} address {ROUTER_MAC} arp off {queue} up")
            gateway = ""
        else:
            ip.append(f"link set nic{rail} gso_max_segs 1 up")
            ip.append(f"neigh replace {NIC_GATEWAY} lladdr {mac} dev nic{rail} nud permanent")
            gateway = NIC_GATEWAY
            shapers.append(_shaper(f"nic{rail}", faults.injection_gbyte_s(topology, node), shape))
        way = Route(
            prefix=addresses.rail_prefix(rail),
            interface=f"nic{rail}",
            gateway=gateway,
            source=own,
            tcp=TCP_ROUTE,
        )
        table.append(way)
        number = str(FIRST_RAIL_TABLE + rail)
        tables_of_rails.append(replace(way, prefix=addresses.EVERY_RAIL, table=number))
        rules += _rail_rules(number, own)
        rules += _ways_to_other_rails(topology, node, rail, way)
    return Namespace(
        name=node.name,
        ip=(*ip, *(rules if topology.rails > 1 else ())),
        routes=(*table, *(tables_of_rails if topology.rails > 1 else ())),
        shapers=tuple(shapers),
        sysctls=(*NODE_SYSCTLS, _send_queue(topology, shape)),
    )


def _rail_rules(number: str, own: str) -> list[str]:
    """Return what makes packets from a NIC's address leave by that NIC, whichever address they go to."""
    return [
        f"route add unreachable default table {number}",
        f"rule add from {own}/32 lookup {number} pref {number}",
    ]


def _send_queue(topology: Topology, shape: Shape) -> tuple[str, str]:
    """Return what one socket may queue at its NIC: four packets, or a millisecond of the host link where that is more.

    More would wait before the messages of the node's other sockets. The router reads ahead and gives each destination
    its turn, so there a socket may queue whole messages.
    """
    if shape.network == "router":
        return "net/ipv4/tcp_limit_output_bytes", str(ROUTER_SEND_QUEUE_BYTES)
    millisecond = shape.rate_bit_s(topology.host_rate_gbyte_s) // 8000
    return "net/ipv4/tcp_limit_output_bytes", str(max(4 * shape.mtu_bytes, millisecond))


def _head(topology: Topology) -> Namespace:
    """The bridge that is the management network, with the head's own address on it."""
    numbers = range(len(topology.nodes))
    bridge = "type bridge forward_delay 0 mcast_snooping 0"
    ip = [f"link add mgmt0 address {HEAD_MAC} {bridge}", "link set lo up"]
    ip += [f"link set m{index} master mgmt0 up" for index in numbers]
    ip += [f"addr add {addresses.head_address()}/16 dev mgmt0", "link set mgmt0 up"]
    ip += [
        _management_neighbour(addresses.management_address(index), _management_mac(index, 1))
        for index in numbers
    ]
    return Namespace(name=HEAD, ip=tuple(ip), sysctls=COMMON_SYSCTLS)


def _management_neighbour(address: str, mac: str) -> str:
    """Return the line for a permanent neighbour on the management network.

    The kernel has one table of neighbours for all namespaces. Since Linux 5.0 permanent ones do not count against its
    size (gc_thresh3, 1024 entries), which a launch over some 500 nodes would exceed without them.
    """
    return f"neigh replace {address} lladdr {mac} dev mgmt0 nud permanent"


def _hosts(topology: Topology) -> Iterator[tuple[str, str]]:
    """Name -> address, as in /etc/hosts: NAME is a node's NIC on rail 0, NAME.nic1 on rail 1; NAME.mgmt manages it."""
    yield HEAD, addresses.head_address()
    for index, node in enumerate(topology.nodes):
        yield node.name, addresses.node_address(topology, node, 0)
        for rail in range(1, topology.rails):
            yield f"{node.name}.nic{rail}", addresses.node_address(topology, node, rail)
        yield f"{node.name}.mgmt", addresses.management_address(index)
    for router in topology.routers:
        yield topology.router_name(router), addresses.router_address(topology, router)


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
