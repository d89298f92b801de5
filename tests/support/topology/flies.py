"""Make dragonflies, fat trees and groups in one line, and draw random ones."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from railyard.placements.topology import catalog
from railyard.placements.topology.base import Topology

RATES = {"local": 25.0, "global": 20.0, "cable": 12.5, "host": 12.5}
Document = dict[str, Any]


def document(key: str, part: Document, nodes: int = 2, rails: int = 1) -> Document:
    """Return the document of a topology of the kind that a key names."""
    return {
        "name": key.replace("_", "-"),
        "nodes_per_router": nodes,
        "rails": rails,
        "tile_rates_gbyte_s": RATES,
        "host": {"tiles": 1},
        key: part,
    }


def made(key: str, part: Document, nodes: int = 2, rails: int = 1) -> Topology:
    """Return a topology of the kind that a key names: made("dragonfly", {"groups": 9, "routers": 4})."""
    return catalog.parse(document(key, part, nodes, rails), source="test")


@st.composite
def groups(draw: st.DrawFn, keys: tuple[str, ...] = ("dragonfly", "dragonfly_plus")) -> Document:
    """Draw a dragonfly or a dragonfly+ with any cables, arrangement and routes."""
    key = draw(st.sampled_from(keys))
    count = draw(st.integers(1, 6))
    part: Document = {"groups": count, "cables": draw(st.integers(1, 4))}
    part["arrangement"] = draw(st.sampled_from(["consecutive", "palmtree"]))
    switches = ["routers"] if key == "dragonfly" else ["leaves", "spines"]
    part |= {name: draw(st.integers(1, 4)) for name in switches}
    if count > 2:
        share = draw(st.sampled_from([0.0, 0.25, 0.5, 1.0]))
        part["routes"] = {"valiant_share": share, "spread": draw(st.sampled_from(["nodes", "packets"]))}
    return document(key, part, nodes=draw(st.integers(1, 3)))


@st.composite
def trees(draw: st.DrawFn) -> Document:
    """Draw a fat tree of one to three levels above the leaves, some leaves with fewer nodes."""
    nodes = draw(st.integers(1, 3))
    levels = [
        {"children": draw(st.integers(1, 3)), "parents": draw(st.integers(1, 3))}
        for _ in range(draw(st.integers(1, 3)))
    ]
    leaves = 1
    for level in levels:
        leaves *= level["children"]
    fewer = draw(st.lists(st.integers(0, nodes), min_size=leaves - 1, max_size=leaves - 1))
    return document("fat_tree", {"levels": levels, "leaf_nodes": [nodes, *fewer]}, nodes=nodes)


@st.composite
def two_levels(draw: st.DrawFn) -> Document:
    """Draw a fat tree of the kind `tree`."""
    nodes, over = draw(st.sampled_from([(1, 1), (2, 1), (2, 2), (4, 1), (4, 2), (6, 3)]))
    return document("tree", {"leaves": draw(st.integers(1, 6)), "oversubscription": over}, nodes=nodes)


@st.composite
def tori(draw: st.DrawFn) -> Document:
    """Draw a torus whose dimensions have one to six routers and any class of links."""
    part = {
        name: {
            "extent": draw(st.integers(1, 6)),
            "tiles": draw(st.integers(1, 8)),
            "pattern": draw(st.lists(st.sampled_from(["cable", "local"]), min_size=1, max_size=3)),
        }
        for name in "XYZ"
    }
    return document("dimensions", part, nodes=draw(st.integers(1, 3)))
