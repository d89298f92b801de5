"""Estimate the slowdown of a program by other programs that use the same links.

A saturated link is shared in proportion to the bytes that each program has in flight.

Models: a program has a fixed number of bytes in flight between two nodes, and sends the next when they have arrived. On
a link that is never idle, its bytes wait behind those of all other programs. The time of a program is therefore that
of the slowest of its links, with the bytes of all programs on it. The slowdown is that time divided by the time with
its own bytes alone.

This is exact for one other program with at least as many bytes in flight. It is a lower bound for several other
programs, and for one with fewer bytes in flight, because those send again sooner. Leaves out: programs that pause, for
which it is an upper bound, and the waiting of acknowledgements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from railyard.base.errors import InputError
from railyard.placements.arrays import Floats, np
from railyard.placements.linkload.model import PROTOCOLS, load
from railyard.placements.linkload.traffic import Traffic
from railyard.placements.topology.base import Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """The bytes that one node has in flight to another; both are names of nodes."""

    source: str
    target: str
    in_flight_bytes: float


def slowdown(topology: Topology, program: Sequence[Flow], others: Sequence[Flow]) -> float:
    """Return time with others / time alone; raises InputError for an unknown node and for a program without flows."""
    if not program:
        raise InputError("slowdown", "program", problem="no flow", valid="a flow at least")
    own, other = _link_s(topology, program), _link_s(topology, others)
    used = own > 0
    return float((own + other)[used].max() / own[used].max())


def _link_s(topology: Topology, flows: Sequence[Flow]) -> Floats:
    """Return the seconds of every link between routers, then of every node's link out and in."""
    place = {node.name: index for index, node in enumerate(topology.nodes)}
    names = [name for flow in flows for name in (flow.source, flow.target)]
    if unknown := [name for name in names if name not in place]:
        raise InputError("slowdown", "node", unknown[0], f"a node of {topology.name}")
    traffic = Traffic(
        ranks=len(place),
        source=np.array([place[flow.source] for flow in flows], dtype=np.int32),
        target=np.array([place[flow.target] for flow in flows], dtype=np.int32),
        size_bytes=np.array([flow.in_flight_bytes for flow in flows], dtype=np.float64),
    )
    loads = load(topology, np.arange(len(place)), traffic, PROTOCOLS["payload"])
    host_byte_s = topology.host_rate_gbyte_s * 1e9
    return np.concatenate(
        [loads.link_s.ravel(), loads.host_out_bytes / host_byte_s, loads.host_in_bytes / host_byte_s]
    )
