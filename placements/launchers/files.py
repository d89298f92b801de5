"""What a launcher and a benchmark need to be told of a placement, as text. Pure: the caller writes the files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from placements.topology.base import Link, Node, Topology
from placements.topology.fattree import FatTree
from placements.topology.torus import DIMENSIONS


def openmpi_hostfile(nodes: Sequence[Node]) -> str:
    """Open MPI host file for the sequential mapper (`--map-by seq`): line k is the node of rank k."""
    return "".join(f"{node.name}\n" for node in nodes)


def openmpi_default_hostfile(topology: Topology, slots: int = 1) -> str:
    """Every node of a topology, in its order."""
    return "".join(f"{node.name} slots={slots}\n" for node in topology.nodes)


def coordinates(topology: Topology, nodes: Sequence[Node] | None = None) -> str:
    """The coordinates file of docs/formats.md, for all nodes or some."""
    lines = ["torus " + " ".join(map(str, topology.extents)) + "\n"]
    lines += [
        f"{n.name} {n.coordinate[0]} {n.coordinate[1]} {n.coordinate[2]}\n" for n in nodes or topology.nodes
    ]
    return "".join(lines)


def described(topology: Topology) -> dict[str, Any]:
    """A topology as a record names it."""
    return {
        "name": topology.name,
        "sha256": topology.sha256,
        "extents": list(topology.extents),
        "nodes_per_router": topology.nodes_per_router,
        "rails": topology.rails,
    }


def links(topology: Topology) -> str:
    """The links file of docs/formats.md: class and rate of every directed link of the first rail.

    In a fat tree a "link" joins neighbouring leaves of a ring of all leaves, through all spines together.
    """
    lines = [f"host {topology.host_rate_gbyte_s:.10g}\n"]
    if isinstance(topology, FatTree):
        lines += [_leaf_pair(topology, leaf, step) for leaf in range(topology.leaves) for step in (1, -1)]
    else:
        lines += [_link(link) for link in topology.links() if link.source.rail == 0]
    return "".join(lines)


def _link(link: Link) -> str:
    x, y, z = link.source.coordinate
    direction = f"{DIMENSIONS[link.dimension]}{'+' if link.step > 0 else '-'}"
    return f"link {direction} {x} {y} {z} {link.link_class} {link.rate_gbyte_s:.10g}\n"


def _leaf_pair(tree: FatTree, leaf: int, step: int) -> str:
    up = next(tree.links_from(tree.routers[leaf]))
    rate = tree.spines * up.rate_gbyte_s
    return f"link X{'+' if step > 0 else '-'} {leaf} 0 0 {up.link_class} {rate:.10g}\n"
