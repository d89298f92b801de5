"""The link-load model: traffic x placement -> bytes and seconds on every directed link. No program runs.

A message of b bytes from rank s to rank t travels the route of `placements.routing` from s's router to t's, and loads
every link on it with `forward` x b bytes; what answers it travels t's own X-Y-Z route back (in general over other
links) and loads them with `backward` x b (`Protocol`). Ranks of one node share memory and load nothing. Ranks of two
nodes of one router load their host links alone. A link's seconds are its bytes over its own rate; the slowest link's
seconds bound a bulk-synchronous program's exchange from below.

How it is summed: in each dimension a route stays on one ring of E routers, so the bytes of all messages are first added
up by (ring, from, to), and one product with the 0/1 table of which links lie between `from` and `to` gives the loads.
131,072 ranks with 26 neighbours take about half a second.

Leaves out latency, the order of messages, adaptive routing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from placements.linkload.traffic import Traffic
from placements.topology.base import Coordinate, Link, Router, Topology
from placements.topology.catalog import torus
from placements.topology.torus import Torus, step
from railyard.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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
    """What a placement puts on the links of one rail.

    `link_bytes` and `rate_gbyte_s` have shape (X, Y, Z, 3, 2): the router that the link leaves, its dimension, its
    direction (0 plus, 1 minus); the rate is 0 where there is no link. `host_out_bytes` and `host_in_bytes` have shape
    (nodes,), `injected_bytes` shape (X, Y, Z): what the nodes of each router send to other routers (Pedretti et al.,
    Figure 6). `hop_bytes` is payload x links travelled, `hops_bytes[h]` the payload that travels h links.
    """

    topology: Torus
    protocol: Protocol
    link_bytes: Floats
    rate_gbyte_s: Floats
    host_out_bytes: Floats
    host_in_bytes: Floats
    injected_bytes: Floats
    hops_bytes: Floats

    @cached_property
    def link_s(self) -> Floats:
        """Seconds of each link, 0 where there is none; shape as `link_bytes`."""
        there = self.rate_gbyte_s > 0
        return np.divide(
            self.link_bytes, self.rate_gbyte_s * 1e9, out=np.zeros_like(self.link_bytes), where=there
        )

    @property
    def slowest_s(self) -> float:
        """Seconds of the slowest link between routers."""
        return float(self.link_s.max(initial=0.0))

    @property
    def mean_s(self) -> float:
        """Mean seconds over all links between routers; 0 where there is none."""
        links = int((self.rate_gbyte_s > 0).sum())
        return float(self.link_s.sum() / links) if links else 0.0

    @property
    def slowest_host_s(self) -> float:
        """Seconds of the slowest link between a node and its router, either way."""
        most = max(self.host_out_bytes.max(initial=0.0), self.host_in_bytes.max(initial=0.0))
        return float(most / (self.topology.host_rate_gbyte_s * 1e9))

    @property
    def hop_bytes(self) -> float:
        return float(self.hops_bytes @ np.arange(len(self.hops_bytes)))

    @property
    def mean_dilation(self) -> float:
        """Links that a byte travels, in the mean over all bytes that leave a rank."""
        total = self.hops_bytes.sum()
        return float(self.hop_bytes / total) if total else 0.0

    @property
    def max_dilation(self) -> int:
        """Links on the longest route in use."""
        used = np.flatnonzero(self.hops_bytes)
        return int(used[-1]) if len(used) else 0

    def slowest(self, count: int) -> list[tuple[Link, float, float]]:
        """The slowest links with their bytes and seconds, slowest first; ties in the topology's order."""
        order = np.argsort(-self.link_s, axis=None, kind="stable")[:count]
        found = []
        for flat in order:
            *at, dimension, direction = map(int, np.unravel_index(flat, self.link_s.shape))
            if self.rate_gbyte_s.flat[flat] > 0:
                router = Router(coordinate=(at[0], at[1], at[2]))
                link = self.topology.link(router, dimension, -1 if direction else 1)
                found.append((link, float(self.link_bytes.flat[flat]), float(self.link_s.flat[flat])))
        return found


def load(topology: Topology, nodes: Ints, traffic: Traffic, protocol: Protocol) -> LinkLoads:
    """The loads of `traffic` with rank k on node `nodes[k]` (index into `topology.nodes`; shape (ranks,)).

    All bytes travel one rail. Raises InputError when there are more or fewer ranks than the traffic has.
    """
    if len(nodes) != traffic.ranks:
        raise InputError("traffic", "ranks", traffic.ranks, f"{len(nodes)}, as many as are placed")
    source, target, sizes = _between_nodes(nodes, traffic)
    topology = torus(topology, "link loads")
    count = len(topology.nodes)
    forward, backward = protocol.forward * sizes, protocol.backward * sizes
    sent, answered = np.bincount(source, sizes, count), np.bincount(target, sizes, count)
    router = topology.router_of_node
    leaves = router[source] != router[target]
    injected = np.bincount(router[source[leaves]], forward[leaves], len(topology.coordinates))
    injected += np.bincount(router[target[leaves]], backward[leaves], len(topology.coordinates))
    at = topology.node_coordinates.astype(np.int32).T
    here, there = at[:, source], at[:, target]
    loads = np.zeros((*topology.extents, 3, 2))
    _add_routes(loads, here, there, forward, topology.extents)
    if protocol.backward:
        _add_routes(loads, there, here, backward, topology.extents)
    return LinkLoads(
        topology=topology,
        protocol=protocol,
        link_bytes=loads,
        rate_gbyte_s=link_rates(topology),
        host_out_bytes=protocol.forward * sent + protocol.backward * answered,
        host_in_bytes=protocol.forward * answered + protocol.backward * sent,
        injected_bytes=injected.astype(np.float64).reshape(topology.extents),
        hops_bytes=_by_hops(here, there, sizes, topology.extents)
        + _stayed(traffic.total_bytes - float(sizes.sum()), topology.extents),
    )


def link_rates(topology: Torus) -> Floats:
    """GB/s of each link, 0 where there is none; shape (X, Y, Z, 3, 2), as `LinkLoads.link_bytes`."""
    rates = np.zeros((*topology.extents, 3, 2))
    for dimension, along in enumerate(topology.dimensions):
        for position in range(along.extent):
            router = [0, 0, 0]
            router[dimension] = position
            plane: list[slice | int] = [slice(None)] * 3
            plane[dimension] = position
            for link in topology.links_from(Router(coordinate=(router[0], router[1], router[2]))):
                if link.dimension == dimension:
                    rates[(*plane, dimension, int(link.step < 0))] = link.rate_gbyte_s
    return rates


def _between_nodes(nodes: Ints, traffic: Traffic) -> tuple[Ints, Ints, Floats]:
    """Source node, target node and bytes of the messages that leave a node."""
    source, target = nodes[traffic.source], nodes[traffic.target]
    leaves = source != target
    return source[leaves], target[leaves], traffic.size_bytes[leaves]


def _add_routes(
    loads: Floats, here: NDArray[np.int32], there: NDArray[np.int32], sizes: Floats, extents: Coordinate
) -> None:
    """Add each message's bytes to the links of its route. `here` and `there` have shape (3, messages)."""
    for dimension, extent in enumerate(extents):
        # On its way along `dimension` a route has arrived in the dimensions before and not yet left in those after.
        ring = [there[d] if d < dimension else here[d] for d in range(3) if d != dimension]
        others = [extents[d] for d in range(3) if d != dimension]
        rings = others[0] * others[1]
        index = ((ring[0] * others[1] + ring[1]).astype(np.int64) * extent + here[dimension]) * extent
        index += there[dimension]
        pairs = np.bincount(index, sizes, rings * extent * extent).reshape(rings, extent * extent)
        found = (pairs @ _between(extent)).reshape(*others, extent, 2)
        loads[..., dimension, :] += np.moveaxis(found, 2, dimension)


def _between(extent: int) -> Floats:
    """Which links of a ring a route takes: 1 at ((from, to), (link's router, direction)); shape (E * E, E * 2)."""
    table = np.zeros((extent, extent, extent, 2))
    for start in range(extent):
        for end in range(extent):
            at = start
            while move := step(at, end, extent):
                table[start, end, at, int(move < 0)] = 1
                at = (at + move) % extent
    return table.reshape(extent * extent, extent * 2)


def _by_hops(here: NDArray[np.int32], there: NDArray[np.int32], sizes: Floats, extents: Coordinate) -> Floats:
    """Payload by links travelled; shape (longest route + 1,)."""
    total = np.zeros(here.shape[1], dtype=np.int64)
    for dimension, extent in enumerate(extents):
        ahead = np.abs(here[dimension] - there[dimension])
        total += np.minimum(ahead, extent - ahead)
    return np.bincount(total, sizes, _diameter(extents) + 1).astype(np.float64)


def _stayed(size_bytes: float, extents: Coordinate) -> Floats:
    """Payload within nodes, as `_by_hops` counts it."""
    found = np.zeros(_diameter(extents) + 1)
    found[0] = size_bytes
    return found


def _diameter(extents: Coordinate) -> int:
    return sum(extent // 2 for extent in extents)
