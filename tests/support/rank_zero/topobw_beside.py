"""How traffic of other jobs makes sound links look slow to topobw (Ezell, CUG'13, section III.G), without a machine.

topobw has the first node of every router of `gemini-4x4x4-two-nodes`, and a load has the second. All transfers of a
phase run in the router's network alone, in virtual time, with the load and without it. The rates that are left go to
topobw's own verdict (`rank_zero.topobw`) at its usual tolerance of 3 %. A random disturbance of 1 % is added.

Leaves out that a load differs from round to round: here all rounds meet the same one, so nothing is merely disturbed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from support.packets.simulated import simulated
from support.rank_zero import rank_zero

from railyard.placements.topology import catalog
from railyard.placements.topology.base import Link, Topology
from railyard.torus.native.messages import Message

TORUS = "gemini-4x4x4-two-nodes"
TRANSFER_BYTES = 1 << 18
#: Bytes that each node of a load sends: it lasts longer than a phase.
LOAD_BYTES = 1 << 21
TOLERANCE_PERCENT = 3.0


def phases(topology: Topology) -> list[list[Link]]:
    """Return the links of each phase: of each dimension even routers plus, odd minus, odd plus, even minus."""
    by_phase = [
        [
            link
            for link in topology.first_rail
            if (link.dimension, link.step) == (dimension, step) and link.source.coordinate[dimension] % 2 == odd
        ]
        for dimension in range(len(topology.extents))
        for odd, step in ((0, 1), (1, -1), (1, 1), (0, -1))
    ]
    return [links for links in by_phase if links]


def load(topology: Topology, pattern: str) -> list[Message]:
    """Return what the second nodes of the routers send: nothing (`none`), or all to the first of them (`incast`)."""
    first, *others = [index for index, node in enumerate(topology.nodes) if node.slot == 1]
    sent = [Message(source=node, target=first, size_bytes=LOAD_BYTES) for node in others]
    return sent if pattern == "incast" else []


def left(topology: Topology, pattern: str) -> dict[str, float]:
    """Return the share of its rate that each link has left beside a load, by name."""
    firsts = {node.coordinate: index for index, node in enumerate(topology.nodes) if node.slot == 0}
    others = load(topology, pattern)
    shares: dict[str, float] = {}
    for links in phases(topology):
        own = [
            Message(
                source=firsts[link.source.coordinate], target=firsts[link.target.coordinate], size_bytes=TRANSFER_BYTES
            )
            for link in links
        ]
        alone = simulated(topology, own).arrivals_s
        beside = simulated(topology, [*others, *own]).arrivals_s[len(others) :]
        shares |= {link.name: one / two for link, one, two in zip(links, alone, beside, strict=True)}
    return shares


def rows(loads: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Yield for each load the shares that are left, and topobw's verdict."""
    topology = catalog.load(TORUS)
    for pattern in loads:
        shares = left(topology, pattern)
        verdict = rank_zero.topobw(TORUS, (), tolerance_percent=TOLERANCE_PERCENT, left=shares, slots=1)
        yield {
            "links": verdict["links"],
            "median_left": float(np.median(list(shares.values()))),
            "least_left": min(shares.values()),
            "bad_links": verdict["bad_links"],
            "findings": verdict["findings"],
        }
