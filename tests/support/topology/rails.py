"""Draw rail-optimised machines, and walk their messages by hand: an oracle that knows no table of links."""

from __future__ import annotations

from hypothesis import strategies as st

from railyard.placements.topology.base import Topology
from support.topology import flies


@st.composite
def machines(draw: st.DrawFn) -> flies.Document:
    """Draw a machine of up to 16 rails and 128 NICs: one network, two planes, or rails without a way across."""
    nodes, rails = draw(st.integers(1, 3)), draw(st.sampled_from([1, 2, 3, 4, 8, 16]))
    planes = draw(st.sampled_from(sorted({1, rails} | ({2} if rails % 2 == 0 else set()))))
    pods, leaves = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    spines = 0 if pods * leaves == 1 and planes == rails and draw(st.booleans()) else draw(st.integers(1, 4))
    part = {"pods": pods, "leaves": leaves, "spines": spines, "planes": planes}
    return flies.document("rail_optimised", part, nodes=nodes, rails=rails)


def arrives(document: flies.Document, out: int, into: int) -> int:
    """Return the rail on which a packet arrives."""
    planes: int = document["rail_optimised"]["planes"]
    return into // planes * planes + out % planes


def way(document: flies.Document, start: tuple[int, int], end: tuple[int, int]) -> list[str]:
    """Return the names of the links from a NIC (node, rail) to a NIC, by the sentences of the kind's document."""
    part, nodes, leaves = (
        document["rail_optimised"],
        document["nodes_per_router"],
        document["rail_optimised"]["leaves"],
    )
    rail = arrives(document, start[1], end[1])
    here, there = start[0] // nodes, end[0] // nodes
    if (here, start[1]) == (there, rail):
        return []
    leaf = end[1] * part["pods"] * leaves + there
    spine = (leaf * nodes + end[0] % nodes) % part["spines"]
    top = f"spine{start[1] % part['planes']}-{spine}"
    names = [f"leaf{at // leaves}-{at % leaves}" for at in (here, there)]
    ends = [f"up {names[0]}>{top}", f"down {top}>{names[1]}"]
    return [text + (f"@{of}" if of else "") for text, of in zip(ends, (start[1], rail), strict=True)]


def nic_names(topology: Topology) -> list[tuple[int, int]]:
    """Return every NIC as (node, rail)."""
    return [(node, rail) for node in range(len(topology.nodes)) for rail in range(topology.rails)]
