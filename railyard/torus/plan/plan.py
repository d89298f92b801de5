"""Plan a virtual torus as data: namespaces, cables, addresses, routes, shapers. Pure; `engines.netns` applies the plan.

Every router and node is a network namespace. Every cable is a veth pair, with a shaper at each sending end. The kernel
forwards packets along prefix routes (`addresses.table`). Next hops are link-local addresses with permanent neighbour
entries, so that no ARP disturbs a measurement.

Each node has one NIC on each rail. A node with several NICs has a rule for each of its addresses: a packet from a NIC's
address leaves by that NIC. Where rails are separate planes of routers it stays on its rail, and is delivered to any of
the destination's addresses, so the sender decides the rail. Where all rails are one network it goes to the NIC that has
the address.

The management network (one unshaped bridge in the namespace `head`) transports messages between a launcher and its
daemons, as the service network of a cluster does. Only MPI's own traffic crosses the torus.

Latency: if the kernel has netem and the topology gives the latency of a hop, each router port delays packets by that
latency over the rate scale. Otherwise a hop takes the time that the kernel needs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from railyard.base.errors import InputError
from railyard.placements.topology.base import Detours, Link, Node, Router, Topology
from railyard.placements.topology.faults import Faults
from railyard.torus.plan import addresses

HEAD = "head"
HEAD_MAC = "02:fe:02:00:00:00"
#: More than the sum of the TCP windows that can queue at one port, because a lossless network drops nothing.
QUEUE_BYTES = 32 << 20
ETHERNET_BYTES = 14
TICK_SLACK_BYTES = 64  # the kernel rounds a bucket down to its clock ticks, and a full packet must still fit
NIC_PORT = 128  # port number in a MAC address: ports from this number on lead to nodes
NIC_GATEWAY = "169.254.0.1"
FIRST_RAIL_TABLE = 100
SECOND_CHOICE = 100  # first metric, one per rail, of routes that no packet takes, because the usual routes have 0
BRIDGE_PORTS = 1023  # ports of a Linux bridge (BR_MAX_PORTS without port 0), such as the management network
HEALTHY = Faults()
LOWEST_ROUTER_RATE_BIT_S = 1e3
ROUTER_SEND_QUEUE_BYTES = 1 << 20
#: The MAC address that all NICs share on the network `router`: without ARP the kernel writes the sender's own address
#: as a frame's destination, and the receiving NIC must have the same.
ROUTER_MAC = "02:00:00:00:00:01"
TUN_QUEUE_CHUNKS = 10000  # more than the TCP windows allow, because a TAP device drops what does not fit


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The parameters that turn real links into those of a virtual torus. docs/torus.md derives the defaults.

    `rate_scale` is virtual over real rate. `mtu_bytes` is the largest packet without its Ethernet header. With
    `latency_scaled` routers delay packets by the latency of a hop over the rate scale. `network` names what forwards
    packets: the kernel's routing in one namespace per router, or one user-space router (engines/router.py). The size of
    the token bucket (`burst_packets`) applies to `kernel`, the size of buffers (`buffer_cells`, cells per link and
    virtual channel) to `router`. `slowed_from` is the first rate scale of a torus that was slowed down because of load.
    """

    rate_scale: float = 1.25e-4
    mtu_bytes: int = 2500
    burst_packets: float = 1.1
    latency_scaled: bool = False
    network: Literal["kernel", "router"] = "kernel"
    buffer_cells: int = 8
    slowed_from: float | None = None

    @property
    def burst_bytes(self) -> int:
        """Return the size of a token bucket: `burst_packets` full packets with their Ethernet headers."""
        return round(self.burst_packets * (self.mtu_bytes + ETHERNET_BYTES)) + TICK_SLACK_BYTES

    def rate_bit_s(self, rate_gbyte_s: float) -> int:
        """Return the virtual rate of a link of the real machine; 1 GB/s becomes 1 Mbit/s at the default scale."""
        return round(rate_gbyte_s * 8e9 * self.rate_scale)

    @property
    def lowest_rate_bit_s(self) -> float:
        """Return the lowest rate that a link can have.

        The kernel's token bucket stores its size as time, in a 32-bit count of 64 ns ticks. The user-space router
        has no such limit.
        """
        if self.network == "router":
            return LOWEST_ROUTER_RATE_BIT_S
        return 8 * max(self.burst_bytes, QUEUE_BYTES) / (2**32 * 64e-9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A route of a host: a prefix of destinations, and the interface through which packets to them leave.

    `gateway` is the address of the next hop, empty if the destination is on the interface. `source` is the source
    address of the host's own packets. `tcp` are attributes of TCP connections, as words of `ip route`. `table` is the
    number of the routing table, empty for the main one. A table has one route per prefix.
    """

    prefix: str
    interface: str
    gateway: str = ""
    source: str = ""
    tcp: str = ""
    table: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shaper:
    """The queueing of an interface that limits its rate: a token bucket, and a delay unless `delay_us` is None.

    The bucket holds `burst_bytes`. At most `queue_bytes` wait for it, and at most `delay_packets` are delayed at once.
    """

    interface: str
    rate_bit_s: int
    burst_bytes: int
    queue_bytes: int
    delay_us: float | None = None
    delay_packets: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    """A host of the virtual torus: its routes, shapers and kernel settings, and lines for `ip -batch` inside it.

    The lines `ip` run first. `ports` maps an interface to the lines that bring it up.
    """

    name: str
    ip: tuple[str, ...]
    ports: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    routes: tuple[Route, ...] = ()
    shapers: tuple[Shaper, ...] = ()
    sysctls: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CableEnd:
    """An end of a cable: an interface in a namespace."""

    namespace: str
    interface: str
    mac: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cable:
    """A veth pair, whose two ends are in different namespaces."""

    ends: tuple[CableEnd, CableEnd]
    mtu_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TorusPlan:
    """Everything that `railyard torus up` makes, in the order in which it is made.

    `hosts` are pairs of name and address, as in /etc/hosts.
    """

    topology: Topology
    shape: Shape
    faults: Faults
    namespaces: tuple[Namespace, ...]
    cables: tuple[Cable, ...]
    hosts: tuple[tuple[str, str], ...] = field(repr=False)


def make(topology: Topology, shape: Shape, faults: Faults = HEALTHY) -> TorusPlan:
    """Return the plan of a topology's virtual torus, with its faults.

    Raises InputError if it does not fit the address space or the kernel, RunError if a pair of routers has no route.
    """
    check_size(topology)
    if shape.network == "kernel":
        topology.check_static("--network kernel")
    scales = rate_scales(topology, shape)
    if not scales[0] <= shape.rate_scale <= scales[1]:
        valid = f"a number from {scales[0]:.2g} to {scales[1]:.2g}, so that every link can be shaped"
        raise InputError("--rate-scale", "", shape.rate_scale, valid)
    dead = [topology.links_by_name[name] for name in faults.down]
    detours_by_rail = [topology.detours(dead, rail) for rail in range(topology.rails)]
    return TorusPlan(
        topology=topology,
        shape=shape,
        faults=faults,
        namespaces=(
            _head(topology),
            *(
                _router(topology, shape, faults, dead_link_detours=detours_by_rail[router.rail], router=router)
                for router in (() if shape.network == "router" else topology.routers)
            ),
            *(_node(topology, shape, faults, index=index, node=node) for index, node in enumerate(topology.nodes)),
        ),
        cables=tuple(_cables(topology, shape)),
        hosts=tuple(_hosts(topology)),
    )


def check_size(topology: Topology) -> None:
    """Raise InputError for a topology too large for a virtual torus. Cheap: nodes and links are not enumerated."""
    topology.check_wired("torus")
    topology.check_addresses()
    nodes = math.prod(topology.extents) * topology.nodes_per_router
    if nodes > BRIDGE_PORTS:
        valid = (
            f"at most {BRIDGE_PORTS} in a virtual torus, as many as one bridge of Linux joins; take a smaller "
            "topology, or `railyard sim` or `railyard model` for this one"
        )
        raise InputError(topology.name, "nodes", nodes, valid)


def rate_scales(topology: Topology, shape: Shape) -> tuple[float, float]:
    """Return the smallest and the largest rate scale at which the kernel or the router can shape every link."""
    rates = [link.rate_gbyte_s for link in topology.links()] + [topology.host_rate_gbyte_s]
    return shape.lowest_rate_bit_s / (min(rates) * 8e9), 100e9 / (max(rates) * 8e9)


def _mac(topology: Topology, router: Router, port: int, *, far: bool = False) -> str:
    """Return the MAC address of a port: 02, end, the router's number in 3 bytes, port.

    The end is 1 (`far`) for a node's NIC and 0 for a router. The first byte marks addresses that no vendor assigned.
    """
    number = topology.router_indices[router].to_bytes(3).hex(":")
    return f"02:{far:02x}:{number}:{port:02x}"


def _cables(topology: Topology, shape: Shape) -> Iterator[Cable]:
    """Yield all veth pairs; with the user-space router only those of the management network."""
    wired = shape.network == "kernel"
    for link in topology.links():
        if wired and link.step > 0:
            ends = _near(topology, link), _near(topology, topology.reverse(link))
            yield Cable(ends=ends, mtu_bytes=shape.mtu_bytes)
    for index, node in enumerate(topology.nodes):
        yield Cable(  # to the bridge of the management network
            ends=(
                CableEnd(namespace=HEAD, interface=f"m{index}", mac=_management_mac(index, 0)),
                CableEnd(namespace=node.name, interface="mgmt0", mac=_management_mac(index, 1)),
            ),
            mtu_bytes=1500,
        )
        for rail in range(topology.rails if wired else 0):
            router = Router(coordinate=node.coordinate, rail=rail)
            macs = [_mac(topology, router, NIC_PORT + node.slot, far=far) for far in (False, True)]
            nic = CableEnd(namespace=node.name, interface=f"nic{rail}", mac=macs[1])
            port = CableEnd(namespace=topology.router_name(router), interface=f"h{node.slot}", mac=macs[0])
            yield Cable(ends=(port, nic), mtu_bytes=shape.mtu_bytes)


def _management_mac(index: int, end: int) -> str:
    """Return the MAC address of an end of the index-th node's management cable: 0 at the bridge, 1 at the node."""
    return f"02:fe:{end:02x}:00:{index >> 8:02x}:{index & 255:02x}"


def _near(topology: Topology, link: Link) -> CableEnd:
    """Return the interface through which packets on a directed link leave its source."""
    ports = [other.port for other in topology.links_from(link.source)]
    mac = _mac(topology, link.source, ports.index(link.port))
    return CableEnd(namespace=topology.router_name(link.source), interface=link.port, mac=mac)


def _shaper(interface: str, rate_gbyte_s: float, shape: Shape, hop_latency_us: float | None = None) -> Shaper:
    """Return an interface's shaper. With `hop_latency_us` it delays packets by that over the rate scale.

    There is no delay if the latency of the torus is not scaled.
    """
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
    topology: Topology, shape: Shape, faults: Faults, *, dead_link_detours: Detours, router: Router
) -> Namespace:
    """Return the namespace of a router: routes, neighbours and shapers of all its ports."""
    links = list(topology.links_from(router))
    gateways = {link.port: f"169.254.0.{index}" for index, link in enumerate(links, start=1)}
    router_address = addresses.router_address(topology, router)
    ports: dict[str, tuple[str, ...]] = {}
    for link in links:
        neighbour = f"{gateways[link.port]} lladdr {_near(topology, topology.reverse(link)).mac}"
        ports[link.port] = f"link set {link.port} up", f"neigh replace {neighbour} dev {link.port} nud permanent"
    table: list[Route] = []
    shapers = []
    hop_us = topology.hop_latency_us
    for slot in range(0 if router.level else topology.nodes_at(router.coordinate)):
        node = Node(coordinate=router.coordinate, slot=slot, name="")
        node_addresses = [addresses.node_address(topology, node, rail) for rail in topology.reached(router.rail)]
        mac = _mac(topology, router, NIC_PORT + slot, far=True)
        ports[f"h{slot}"] = (
            f"link set h{slot} up",
            *(f"neigh replace {address} lladdr {mac} dev h{slot} nud permanent" for address in node_addresses),
        )
        table += [Route(prefix=f"{address}/32", interface=f"h{slot}") for address in node_addresses]
        shapers.append(_shaper(f"h{slot}", topology.host_rate_gbyte_s, shape, hop_us))
    for link in links:
        shapers.append(_shaper(link.port, faults.rate_gbyte_s(topology, link), shape, hop_us))
    table += [
        Route(prefix=prefix, interface=link.port, gateway=gateways[link.port], source=router_address)
        for prefix, link in addresses.table(topology, router, dead_link_detours).items()
    ]
    return Namespace(
        name=topology.router_name(router),
        ip=("link set lo up", f"addr add {router_address}/32 dev lo"),
        ports=ports,
        routes=tuple(table),
        shapers=tuple(shapers),
        sysctls=ROUTER_SYSCTLS,
    )


def _routes_to_other_rails(topology: Topology, node: Node, rail: int, route: Route) -> list[str]:
    """Return lines that add routes from a NIC to addresses of other rails. UCX reads them; no packet takes them.

    UCX since 1.17 reads routes but no rules by source address. It connects a NIC only to addresses to which no other
    NIC has a longer prefix; for the node's own addresses that is the whole address.
    """
    via = f"via {route.gateway} dev {route.interface} onlink" if route.gateway else f"dev {route.interface}"
    other_rails = [other_rail for other_rail in range(topology.rails) if other_rail != rail]
    own_prefixes = [f"{addresses.node_address(topology, node, other_rail)}/32" for other_rail in other_rails]
    prefixes = [*(addresses.rail_prefix(topology, other) for other in other_rails), *own_prefixes]
    return [
        f"route add {prefix} {via} src {route.source} {route.tcp} metric {SECOND_CHOICE + rail}" for prefix in prefixes
    ]


def _node(topology: Topology, shape: Shape, faults: Faults, *, index: int, node: Node) -> Namespace:
    """Return the namespace of the index-th node: management interface, NICs, their routes, rules and shapers."""
    ip = [
        "link set lo up",
        f"addr add {addresses.management_address(index)}/16 dev mgmt0",
        "link set mgmt0 up",
        _management_neighbour(addresses.HEAD_ADDRESS, HEAD_MAC),
    ]
    table, tables_of_rails, rules, shapers = list[Route](), list[Route](), list[str](), list[Shaper]()
    for rail in range(topology.rails):
        router = Router(coordinate=node.coordinate, rail=rail)
        address = addresses.node_address(topology, node, rail)
        mac = _mac(topology, router, NIC_PORT + node.slot)
        ip.append(f"addr add {address}/{32 - topology.space_bits} dev nic{rail} noprefixroute")
        if shape.network == "router":
            queue = f"mtu {shape.mtu_bytes} txqueuelen {TUN_QUEUE_CHUNKS}"
            ip.append(f"link set nic{rail} address {ROUTER_MAC} arp off {queue} up")
            gateway = ""
        else:
            ip.append(f"link set nic{rail} gso_max_segs 1 up")
            ip.append(f"neigh replace {NIC_GATEWAY} lladdr {mac} dev nic{rail} nud permanent")
            gateway = NIC_GATEWAY
            shapers.append(_shaper(f"nic{rail}", faults.injection_gbyte_s(topology, node), shape))
        route = Route(
            prefix=addresses.rail_prefix(topology, rail),
            interface=f"nic{rail}",
            gateway=gateway,
            source=address,
            tcp=f"{TCP_ROUTE} rto_min {max(200, round(RESEND_MS / shape.rate_scale))}ms",
        )
        table.append(route)
        number = str(FIRST_RAIL_TABLE + rail)
        tables_of_rails.append(replace(route, prefix=addresses.EVERY_RAIL, table=number))
        # Packets from a NIC's own address leave by that NIC, whatever their destination is.
        rules += [
            f"route add unreachable default table {number}",
            f"rule add from {address}/32 lookup {number} pref {number}",
        ]
        rules += _routes_to_other_rails(topology, node, rail, route)
    # The bytes of one socket in the queue of its NIC: more would delay the messages of the node's other sockets.
    millisecond_bytes = shape.rate_bit_s(topology.host_rate_gbyte_s) // 8000
    send_queue_bytes = max(4 * shape.mtu_bytes, millisecond_bytes)
    if shape.network == "router":  # it reads ahead and serves destinations in turn, so a socket may queue messages
        send_queue_bytes = ROUTER_SEND_QUEUE_BYTES
    return Namespace(
        name=node.name,
        ip=(*ip, *(rules if topology.rails > 1 else ())),
        routes=(*table, *(tables_of_rails if topology.rails > 1 else ())),
        shapers=tuple(shapers),
        sysctls=(*NODE_SYSCTLS, ("net/ipv4/tcp_limit_output_bytes", str(send_queue_bytes))),
    )


def _head(topology: Topology) -> Namespace:
    """Return the namespace of the head: the bridge of the management network, with the head's own address."""
    numbers = range(len(topology.nodes))
    bridge = "type bridge forward_delay 0 mcast_snooping 0"
    ip = [f"link add mgmt0 address {HEAD_MAC} {bridge}", "link set lo up"]
    ip += [f"link set m{index} master mgmt0 up" for index in numbers]
    ip += [f"addr add {addresses.HEAD_ADDRESS}/16 dev mgmt0", "link set mgmt0 up"]
    ip += [_management_neighbour(addresses.management_address(index), _management_mac(index, 1)) for index in numbers]
    return Namespace(name=HEAD, ip=tuple(ip), sysctls=COMMON_SYSCTLS)


def _management_neighbour(address: str, mac: str) -> str:
    """Return the line that adds a permanent neighbour entry on the management network.

    The kernel has one table of neighbours for all namespaces. Since Linux 5.0 permanent ones do not count against its
    size (gc_thresh3, 1024 entries), which a launch over some 500 nodes would exceed without them.
    """
    return f"neigh replace {address} lladdr {mac} dev mgmt0 nud permanent"


def _hosts(topology: Topology) -> Iterator[tuple[str, str]]:
    """Yield pairs of name and address, as in /etc/hosts.

    NAME is a node's NIC on rail 0, NAME.nic1 that on rail 1, and NAME.mgmt its interface on the management network.
    """
    yield HEAD, addresses.HEAD_ADDRESS
    for index, node in enumerate(topology.nodes):
        yield node.name, addresses.node_address(topology, node, 0)
        for rail in range(1, topology.rails):
            yield f"{node.name}.nic{rail}", addresses.node_address(topology, node, rail)
        yield f"{node.name}.mgmt", addresses.management_address(index)
    for router in topology.routers:
        yield topology.router_name(router), addresses.router_address(topology, router)


# IPv6 is off because its neighbour discovery would be background traffic on every link.
COMMON_SYSCTLS = (("net/ipv6/conf/all/disable_ipv6", "1"), ("net/ipv6/conf/default/disable_ipv6", "1"))
# No reverse-path filter, because a response in general takes another route: the destination's own X-Y-Z route.
ROUTER_SYSCTLS = (
    *COMMON_SYSCTLS,
    ("net/ipv4/conf/all/rp_filter", "0"),
    ("net/ipv4/conf/default/rp_filter", "0"),
    ("net/ipv4/ip_forward", "1"),
    ("net/ipv4/icmp_ratemask", "0"),  # every router on a way answers every probe (topobw --routes)
)
# The real networks are lossless, with credits from link to link. TCP resembles that without slow start (TCP_ROUTE) and
# loss detection by timing, with windows that hold whole messages, and with nothing remembered between launches. With
# Linux's defaults 64 nodes that exchange 1 MiB reach 75 % of the rate of their links, because acknowledgements wait
# behind data and Cubic takes the wait for congestion.
TCP_ROUTE = "initcwnd 1000 initrwnd 1000 congctl reno"
#: The least time after which TCP sends again, times the rate scale: Linux's 200 ms at the default scale. On a slower
#: torus packets wait longer than that, and 27 ranks of MiniGhost sent 9 to 17 segments again that had arrived.
RESEND_MS = 200 * 1.25e-4
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
