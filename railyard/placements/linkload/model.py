"""Model link loads: traffic x placement -> bytes and seconds on every directed link. No program runs.

A message of b bytes from rank s to rank t travels the usual route from s's router to t's, and loads
every link on it with `forward` x b bytes. Its acknowledgements travel t's own route back (in general over other
links) and load them with `backward` x b (`Protocol`). Ranks of one node share memory and load no link. Ranks of two
nodes of one router load only their host links. A link's seconds are its bytes divided by its own rate. The exchange of
a bulk-synchronous program cannot take less than the seconds of the slowest link.

Each kind of topology sums the loads in its own way (`Topology.carry`). On a network with faults, links with lost lanes
keep their bytes and have a lower rate, and messages avoid dead cables by the detours of `railyard torus fault` and
`railyard sim`.

Leaves out: latency, the order of messages, queues, and throttled injection, because the links between nodes and routers
have one rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from railyard.base.errors import InputError
from railyard.placements.arrays import Floats, Ints, np
from railyard.placements.linkload.traffic import Traffic
from railyard.placements.topology.base import Link, Topology
from railyard.placements.topology.faults import Faults

HEALTHY = Faults()


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """Bytes on the wire for each byte of payload: with the data, and against it."""

    name: str
    forward: float
    backward: float


# Pedretti et al., CUG'13, section V-B: 64 bytes of payload are a request of 32 phits (96 bytes) and a response of 3
# (9 bytes) when put, 8 phits against the data and 27 with it when got; 105 bytes either way.
PROTOCOLS = {
    "payload": Protocol(name="payload", forward=1.0, backward=0.0),
    "gemini-put": Protocol(name="gemini-put", forward=96 / 64, backward=9 / 64),
    "gemini-get": Protocol(name="gemini-get", forward=81 / 64, backward=24 / 64),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkLoads:
    """The link loads of a placement on one rail.

    `link_bytes` and `rate_gbyte_s` have the shape of `Topology.link_rates`; on a torus that is (X, Y, Z, 3, 2): the
    router that the link leaves, its dimension, its direction (0 plus, 1 minus). The rate is 0 where there is no link.
    `host_out_bytes` and `host_in_bytes` have shape (nodes,), `injected_bytes` that of the routers' box (`extents`):
    what the nodes of each router send to other routers (Pedretti et al., Figure 6). `hop_bytes` is payload x links
    travelled, `hops_bytes[h]` the payload that travels h links.
    """

    topology: Topology
    protocol: Protocol
    link_bytes: Floats
    rate_gbyte_s: Floats
    host_out_bytes: Floats
    host_in_bytes: Floats
    injected_bytes: Floats
    hops_bytes: Floats

    @cached_property
    def link_s(self) -> Floats:
        """Return the seconds of each link, 0 where there is none; shape as `link_bytes`."""
        there = self.rate_gbyte_s > 0
        return np.divide(
            self.link_bytes, self.rate_gbyte_s * 1e9, out=np.zeros_like(self.link_bytes), where=there
        )

    @property
    def slowest_s(self) -> float:
        """Return the seconds of the slowest link between routers."""
        return float(self.link_s.max(initial=0.0))

    @property
    def mean_s(self) -> float:
        """Return the mean seconds over all links between routers; 0 where there is none."""
        links = int((self.rate_gbyte_s > 0).sum())
        return float(self.link_s.sum() / links) if links else 0.0

    @property
    def slowest_host_s(self) -> float:
        """Return the seconds of the slowest link between a node and its router, either way."""
        most = max(self.host_out_bytes.max(initial=0.0), self.host_in_bytes.max(initial=0.0))
        return float(most / (self.topology.host_rate_gbyte_s * 1e9))

    @property
    def hop_bytes(self) -> float:
        return float(self.hops_bytes @ np.arange(len(self.hops_bytes)))

    @property
    def mean_dilation(self) -> float:
        """Return the links that a byte travels, the mean over all bytes that leave a rank."""
        total = self.hops_bytes.sum()
        return float(self.hop_bytes / total) if total else 0.0

    @property
    def max_dilation(self) -> int:
        """Return the number of links on the longest route in use."""
        used = np.flatnonzero(self.hops_bytes)
        return int(used[-1]) if len(used) else 0

    def slowest(self, count: int) -> list[tuple[Link, float, float]]:
        """Return the slowest links with their bytes and seconds, slowest first; ties in the topology's order."""
        order = np.argsort(-self.link_s, axis=None, kind="stable")[:count]
        slowest = []
        for flat in order.tolist():
            if self.rate_gbyte_s.flat[flat] > 0:
                link = self.topology.link_at(flat)
                slowest.append((link, float(self.link_bytes.flat[flat]), float(self.link_s.flat[flat])))
        return slowest


def load(
    topology: Topology, nodes: Ints, traffic: Traffic, protocol: Protocol, *, faults: Faults = HEALTHY
) -> LinkLoads:
    """Return the loads of `traffic` with rank k on node `nodes[k]` (index into `topology.nodes`; shape (ranks,)).

    All bytes travel one rail. Raises InputError when there are more or fewer ranks than the traffic has, and RunError
    where dead links leave no way.
    """
    if len(nodes) != traffic.ranks:
        raise InputError("traffic", "ranks", traffic.ranks, f"{len(nodes)}, as many as are placed")
    source, target, sizes = _between_nodes(nodes, traffic)
    count = len(topology.nodes)
    forward, backward = protocol.forward * sizes, protocol.backward * sizes
    sent, answered = np.bincount(source, sizes, count), np.bincount(target, sizes, count)
    router = topology.router_of_node
    leaves = router[source] != router[target]
    injected = np.bincount(router[source[leaves]], forward[leaves], len(topology.coordinates))
    injected += np.bincount(router[target[leaves]], backward[leaves], len(topology.coordinates))
    there = topology.carry(router[source], target, sizes, faults.down)
    loads, hops_bytes = protocol.forward * there.link_bytes, there.hops_bytes.copy()
    hops_bytes[0] += traffic.total_bytes - float(sizes.sum())
    if protocol.backward:
        back = topology.carry(router[target], source, sizes, faults.down)
        loads += protocol.backward * back.link_bytes
    return LinkLoads(
        topology=topology,
        protocol=protocol,
        link_bytes=loads,
        rate_gbyte_s=_rates(topology, faults),
        host_out_bytes=protocol.forward * sent + protocol.backward * answered,
        host_in_bytes=protocol.forward * answered + protocol.backward * sent,
        injected_bytes=injected.astype(np.float64).reshape(topology.extents),
        hops_bytes=hops_bytes,
    )


def check_faults(faults: Faults) -> None:
    """Raise InputError for faults that the model does not know."""
    if faults.injection_percent:
        given = faults.summary[-1]
        raise InputError("--faults", "", given, "lost lanes or cables down: the model throttles no node")
    faults.check_steady()


def _rates(topology: Topology, faults: Faults) -> Floats:
    """Return GB/s of the links of the first rail in the shape of `Topology.link_rates`; those of dead links stay."""
    rates = topology.link_rates.copy()
    for name in faults.lost:
        place = topology.link_places[name]
        rates.flat[place] = faults.rate_gbyte_s(topology, topology.link_at(place))
    return rates


def _between_nodes(nodes: Ints, traffic: Traffic) -> tuple[Ints, Ints, Floats]:
    """Return source node, target node and bytes of the messages that leave a node."""
    source, target = nodes[traffic.source], nodes[traffic.target]
    leaves = source != target
    return source[leaves], target[leaves], traffic.size_bytes[leaves]
