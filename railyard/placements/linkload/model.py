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

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from railyard.base.errors import InputError
from railyard.placements.arrays import Floats, Ints, NDArray, np
from railyard.placements.linkload import rails
from railyard.placements.linkload.rails import RankNics
from railyard.placements.linkload.traffic import Traffic
from railyard.placements.topology.base import Link, Router, Topology
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """The bytes that a router with nodes sends to other routers (`up`), and gets from them."""

    name: str
    rail: int
    up_bytes: float
    down_bytes: float


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkLoads:
    """The link loads of a placement: on the first rail, or on all where `nics` are known.

    `link_bytes` and `rate_gbyte_s` have the shape of `Topology.link_rates`; on a torus that is (X, Y, Z, 3, 2): the
    router that the link leaves, its dimension, its direction (0 plus, 1 minus). The rate is 0 where there is no link.
    With `nics` on rails that are networks of their own, both begin with an axis of rails. `host_out_bytes` and
    `host_in_bytes` have shape (nodes,), with `nics` (rails, nodes); `injected_bytes` that of the routers' box
    (`extents`): what the nodes of each router send to other routers (Pedretti et al., Figure 6). `hop_bytes` is payload
    x links travelled, `payload_bytes` what leaves a rank, `max_dilation` the number of links on the longest way in use.
    """

    topology: Topology
    protocol: Protocol
    link_bytes: Floats
    rate_gbyte_s: Floats
    host_out_bytes: Floats
    host_in_bytes: Floats
    injected_bytes: Floats
    hop_bytes: float
    payload_bytes: float
    max_dilation: int
    nics: RankNics | None = None

    @cached_property
    def link_s(self) -> Floats:
        """Return the seconds of each link, 0 where there is none; shape as `link_bytes`."""
        there = self.rate_gbyte_s > 0
        return np.divide(self.link_bytes, self.rate_gbyte_s * 1e9, out=np.zeros_like(self.link_bytes), where=there)

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
    def mean_dilation(self) -> float:
        """Return the links that a byte travels, the mean over all bytes that leave a rank."""
        return self.hop_bytes / self.payload_bytes if self.payload_bytes else 0.0

    def leaves(self) -> list[Leaf]:
        """Return the routers with nodes, rail by rail, with what leaves and reaches them by links."""
        topology = self.topology
        up, down = defaultdict[Router, float](float), defaultdict[Router, float](float)
        for flat in np.flatnonzero(self.link_bytes).tolist():
            link, size = self.link(flat), float(self.link_bytes.flat[flat])
            up[link.source] += size
            down[link.target] += size
        places = itertools.product(range(topology.rails), topology.coordinates)
        routers = [Router(coordinate=coordinate, rail=rail) for rail, coordinate in places]
        return [Leaf(name=topology.router_name(r), rail=r.rail, up_bytes=up[r], down_bytes=down[r]) for r in routers]

    def busiest_rail(self) -> LinkLoads:
        """Return loads in the shape of `Topology.link_rates`: of each link those of its rail with most bytes."""
        if self.link_bytes.shape == self.topology.link_rates.shape:
            return self
        return replace(self, link_bytes=self.link_bytes.max(axis=0), rate_gbyte_s=self.rate_gbyte_s[0])

    def link(self, flat: int) -> Link:
        """Return the link at an index into `link_bytes` in row-major order."""
        rail, place = divmod(flat, self.topology.link_rates.size)
        link = self.topology.link_at(place)
        return self.topology.links_by_name[f"{link.name}@{rail}"] if rail else link

    def slowest(self, count: int) -> list[tuple[Link, float, float]]:
        """Return the slowest links with their bytes and seconds, slowest first; ties in the topology's order."""
        order = np.argsort(-self.link_s, axis=None, kind="stable")[:count].tolist()
        return [
            (self.link(flat), float(self.link_bytes.flat[flat]), float(self.link_s.flat[flat]))
            for flat in order
            if self.rate_gbyte_s.flat[flat] > 0
        ]


def load(
    topology: Topology,
    nodes: Ints,
    traffic: Traffic,
    protocol: Protocol,
    *,
    faults: Faults = HEALTHY,
    nics: RankNics | None = None,
) -> LinkLoads:
    """Return the loads of `traffic` with rank k on node `nodes[k]` (index into `topology.nodes`; shape (ranks,)).

    All bytes travel the first rail, or by the NICs of each rank. Raises InputError when there are more or fewer ranks
    than the traffic has, and RunError where dead links leave no way.
    """
    if len(nodes) != traffic.ranks:
        raise InputError("traffic", "ranks", traffic.ranks, f"{len(nodes)}, as many as are placed")
    sent = rails.messages(nodes, traffic, nics)
    count, planes, router = len(topology.nodes), topology.planes, topology.router_of_node
    is_one = nics is None or topology.is_fabric
    tables = range(1 if is_one else topology.rails)  # the rails whose links have a table of their own
    rates = np.stack([_rates(topology, faults, rail) for rail in tables])
    host_shape = (count,) if nics is None else (topology.rails, count)
    loads, hop_bytes, longest = np.zeros_like(rates), 0.0, 0
    into = sent.in_rail - sent.in_rail % planes + sent.out_rail % planes
    here, there, sizes = router[sent.source], router[sent.target], sent.size_bytes
    out_bytes = np.bincount(sent.out_rail * count + sent.source, sizes, math.prod(host_shape))
    in_bytes = np.bincount(into * count + sent.target, sizes, math.prod(host_shape))
    leaves, routers = (here != there) | (sent.out_rail != into), len(topology.coordinates)
    left, reached = (np.bincount(ends[leaves], sizes[leaves], routers) for ends in (here, there))
    ways = [(protocol.forward, here, sent.out_rail, sent.target, into)]
    if protocol.backward:
        ways.append((protocol.backward, there, into, sent.source, sent.out_rail))
    for share, first, out, end, arrival in ways:
        for table in tables:
            on: slice | NDArray[np.bool_] = slice(None) if is_one else out == table
            ends = first[on], end[on]
            if topology.is_fabric:
                ends = first + out * routers, end + arrival * count
            down = _on_table(topology, faults.down, table)
            carried = topology.carry(*ends, sizes[on], frozenset(down))
            loads[table] += share * carried.link_bytes
            if first is here:
                hop_bytes += float(carried.link_bytes.sum())
                longest = max(longest, carried.longest)
    return LinkLoads(
        topology=topology,
        protocol=protocol,
        link_bytes=loads[0] if is_one else loads,
        rate_gbyte_s=rates[0] if is_one else rates,
        host_out_bytes=(protocol.forward * out_bytes + protocol.backward * in_bytes).reshape(host_shape),
        host_in_bytes=(protocol.forward * in_bytes + protocol.backward * out_bytes).reshape(host_shape),
        injected_bytes=(protocol.forward * left + protocol.backward * reached).reshape(topology.extents),
        hop_bytes=hop_bytes,
        payload_bytes=traffic.total_bytes,
        max_dilation=longest,
        nics=nics,
    )


def _on_table(topology: Topology, names: Iterable[str], rail: int) -> list[str]:
    """Return the links of a rail's table, by the names that they have on the first rail."""
    if topology.is_fabric:
        return list(names)
    return [name.partition("@")[0] for name in names if topology.links_by_name[name].rail == rail]


def check_faults(faults: Faults) -> None:
    """Raise InputError for faults that the model does not know."""
    if faults.injection_percent:
        raise InputError("--faults", "", faults.summary[-1], "lost lanes or cables down: the model throttles no node")
    faults.check_steady()


def _rates(topology: Topology, faults: Faults, rail: int = 0) -> Floats:
    """Return GB/s of the links of a rail in the shape of `Topology.link_rates`; those of dead links stay."""
    rates = topology.link_rates.copy()
    for name in faults.lost:
        for flat in map(topology.link_places.__getitem__, _on_table(topology, [name], rail)):
            rates.flat[flat] = faults.rate_gbyte_s(topology, topology.links_by_name[name])
    return rates
