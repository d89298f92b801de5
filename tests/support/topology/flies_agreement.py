"""Compare the link-load model with a walk of every message, over random machines of every kind with wiring."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from railyard.placements.linkload.model import PROTOCOLS, LinkLoads, load
from railyard.placements.linkload.traffic import Traffic
from railyard.placements.topology import catalog
from support.topology import flies
from support.topology.flies_by_hand import ways

#: Kind -> how its machines are drawn.
MACHINES: dict[str, st.SearchStrategy[flies.Document]] = {
    "dragonfly": flies.groups(("dragonfly",)),
    "dragonfly+": flies.groups(("dragonfly_plus",)),
    "fat tree": flies.trees(),
    "torus": flies.tori(),
    "two levels": flies.two_levels(),
}
Exact = dict[str, Fraction]


def worst_byte(document: flies.Document, seed: int, protocol: str, messages: int = 60) -> float:
    """Return the largest difference in bytes of any link, and of the bytes that travel any number of links."""
    topology, random = catalog.parse(document, source="test"), np.random.default_rng(seed)
    ranks = int(random.integers(2, 16))
    nodes = random.integers(0, len(topology.nodes), ranks)
    source, target = random.integers(0, ranks, (2, messages))
    sizes = random.integers(1, 10**6, messages).astype(np.float64)
    apart = source != target
    sent = Traffic(
        ranks=ranks,
        source=source[apart].astype(np.int32),
        target=target[apart].astype(np.int32),
        size_bytes=sizes[apart],
    )
    loads = load(topology, nodes, sent, PROTOCOLS[protocol])
    exact, by_hops = _walked(document, loads, (nodes[sent.source], nodes[sent.target]), sent.size_bytes)
    ours = {link.name: size for link, size, _ in loads.slowest(loads.link_s.size)}
    assert set(exact) <= set(ours) and loads.link_bytes.min(initial=0) >= 0
    apart_bytes = [abs(size - float(exact.get(name, 0))) for name, size in ours.items()]
    hops = enumerate(loads.hops_bytes)
    apart_bytes += [abs(size - float(by_hops.get(length, 0))) for length, size in hops]
    return max(apart_bytes)


def _walked(
    document: flies.Document,
    loads: LinkLoads,
    ends: tuple[NDArray[np.int64], NDArray[np.int64]],
    sizes: NDArray[np.float64],
) -> tuple[Exact, dict[int, Fraction]]:
    """Return bytes by link, and payload by links travelled; `ends` are the nodes that send and receive."""
    exact, by_hops = Exact(), dict[int, Fraction]()
    router, protocol = loads.topology.router_of_node, loads.protocol
    for one, other, size in zip(*(end.tolist() for end in ends), sizes.tolist(), strict=True):
        for start, end, share in ((one, other, protocol.forward), (other, one, protocol.backward)):
            same = router[start] == router[end]
            routes = [(Fraction(1), list[str]())] if same else ways(document, start, end)
            for part, links in routes:
                if share == protocol.forward and (start, end) == (one, other):
                    by_hops[len(links)] = by_hops.get(len(links), Fraction(0)) + part * Fraction(size)
                for name in links:
                    exact[name] = exact.get(name, Fraction(0)) + part * Fraction(share) * Fraction(size)
    return exact, by_hops
