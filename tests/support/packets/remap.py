"""Remapping by congestion: counters while another job runs, then a placement that avoids what it loads.

A halo of 32 ranks shares `gemini-4x4x4` with a load on the other 32 nodes, in the router's network alone, in virtual
time. The optimiser places the halo without the counters of the load (blind) and with them
(`railyard.placements.linkload.background`). Then both placements run beside the load.

Leaves out a load that changes, and ranks that move while their program runs.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from support.packets.hot_spot import cycle
from support.packets.simulated import Simulated, simulated

from railyard.placements.arrays import Ints
from railyard.placements.linkload import background
from railyard.placements.linkload.background import Background
from railyard.placements.linkload.traffic import Traffic, stencil
from railyard.placements.orders import division
from railyard.placements.orders.allocation import Allocation, allocate, taken
from railyard.placements.orders.placement import place
from railyard.placements.orders.rank_orders import Effort
from railyard.placements.topology import catalog
from railyard.placements.topology.base import Topology
from railyard.torus.native.messages import of_ranks
from railyard.torus.plan.plan import Shape

TORUS = "gemini-4x4x4"
GRID = (4, 4, 2)
CELLS = 64
FACES: Traffic = stencil(GRID, (8.0 * CELLS * CELLS,))
#: Bytes that each node of a modelled load sends to its partner.
LOAD_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """The nodes of the halo, and those of the load, as indices into the topology's."""

    own: Allocation
    others: Ints


def divided(topology: Topology, rule: str) -> Division:
    """Return 32 nodes for the halo by a rule of `split`; the load has the rest."""
    granted = allocate(topology, "contiguous")
    own, rest = division.split(granted, rule, len(granted.indices) // 2)
    return Division(own=taken(granted, own), others=granted.indices[rest])


def placed(nodes: Allocation, beside: Background | None) -> Ints:
    """Return the node of each rank, by the optimiser."""
    return place("optimised:1", nodes, GRID, traffic=FACES, effort=Effort(background=beside)).indices


def counters_of(topology: Topology, done: Simulated) -> dict[str, Any]:
    """Return the counters of a simulated load as `railyard torus counters --since` prints them."""
    begun = datetime(2000, 1, 1, tzinfo=UTC)
    shape = Shape(network="router", latency_scaled=True)
    links = [
        {
            "name": link.name,
            "dimension": link.name[0],
            "rate_mbit_s": shape.rate_bit_s(link.rate_gbyte_s) / 1e6,
            "bytes": done.sent_bytes[link.name],
            "output_stall_ns": round(1e9 * done.output_stall_s[link.name]),
        }
        for link in topology.links()
    ]
    end = (begun + timedelta(seconds=max(done.arrivals_s))).isoformat()
    return {
        "format": background.OF_A_TORUS,
        "topology": topology.sha256,
        "since": begun.isoformat(),
        "taken": end,
        "links": links,
    }


def modelled(rules: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield for each division of the nodes the exchange in ms: blind alone, blind and seeing beside the load."""
    topology = catalog.load(TORUS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "counters.json"
        for rule in rules:
            parts = divided(topology, rule)
            load = cycle(parts.others, LOAD_BYTES)
            path.write_text(json.dumps(counters_of(topology, simulated(topology, load))))
            seen = background.read(path, topology)
            blind, seeing = (of_ranks(placed(parts.own, beside), FACES) for beside in (None, seen))
            yield {
                "split": rule,
                "alone_ms": 1e3 * max(simulated(topology, blind).arrivals_s),
                "blind_ms": 1e3 * max(simulated(topology, [*load, *blind]).arrivals_s[len(load) :]),
                "seeing_ms": 1e3 * max(simulated(topology, [*load, *seeing]).arrivals_s[len(load) :]),
            }
