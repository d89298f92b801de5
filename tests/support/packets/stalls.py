"""Which dimension stalls most under MiniGhost's traffic, with queues and without (Pedretti et al., CUG'13, Figure 7)?

4,096 ranks as a grid of 16x16x16, 16 per node, on 4x4x8 routers with Cielo's rates, in the order of ALPS's walk. All
messages of one exchange are sent at once in the router's network alone. Leaves out all later exchanges.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from support.packets.simulated import simulated

from railyard.placements.linkload import model, traffic
from railyard.placements.linkload.patterns import make
from railyard.placements.orders.allocation import allocate
from railyard.placements.orders.placement import place
from railyard.placements.topology import catalog
from railyard.placements.topology.base import Topology
from railyard.torus.native.messages import Message

GRID, RANKS_PER_NODE, CELLS = (16, 16, 16), 16, 32
EXTENTS: Mapping[str, int] = {"X": 4, "Y": 4, "Z": 8}


def torus(**changes: Mapping[str, object]) -> Topology:
    """Return Cielo's network with the extents of this module, or with changes to its dimensions."""
    document = catalog.load("cielo").to_dict()
    for name, change in (changes or {name: {"extent": extent} for name, extent in EXTENTS.items()}).items():
        document["dimensions"][name].update(change)
    return catalog.parse(document, source="test")


def by_dimension(order: str) -> tuple[dict[str, float], dict[str, float]]:
    """Return by dimension the most output stall of a router's links in s, and the slowest link of the model in us."""
    topology = torus()
    nodes = place(order, allocate(topology, "snake"), GRID, ranks_per_node=RANKS_PER_NODE).indices
    sent = make("stencil27", GRID, size_bytes=traffic.face_bytes(CELLS, 3))
    source, target = nodes[sent.source], nodes[sent.target]
    pairs, inverse = np.unique(source * len(topology.nodes) + target, return_inverse=True)
    messages = [
        Message(source=pair // len(topology.nodes), target=pair % len(topology.nodes), size_bytes=round(size_bytes))
        for pair, size_bytes in zip(pairs.tolist(), np.bincount(inverse, sent.size_bytes).tolist(), strict=True)
        if pair // len(topology.nodes) != pair % len(topology.nodes)
    ]
    stall_s = simulated(topology, messages).output_stall_s
    of_router: dict[tuple[str, object], float] = {}
    for link in topology.links():
        key = link.name[0], link.source
        of_router[key] = of_router.get(key, 0.0) + stall_s[link.name]
    loads = model.load(topology, nodes, sent, model.PROTOCOLS["gemini-put"])
    most = {letter: max(s for (of, _), s in of_router.items() if of == letter) for letter in "XYZ"}
    slowest = {letter: 1e6 * float(loads.link_s[:, :, :, d].max()) for d, letter in enumerate("XYZ")}
    return most, slowest
