"""An Alltoall of all rows or planes at once, in the router's network alone: no TCP, no MPI, no machine.

`railyard-router --simulate` moves the messages in virtual time, cell by cell. What it gives beside the virtual torus is
what the network itself does: what is left between the two is what TCP, MPI and this machine add.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from placements.orders.allocation import allocate
from placements.topology.base import Node, Topology
from placements.topology.faults import Faults
from railyard.torus.native.programs import ROUTER
from railyard.torus.plan import addresses, router_description
from railyard.torus.plan.plan import Shape

LETTERS = "XYZ"
NODES_PER_ROUTER = 2
SHAPE = Shape(network="router", latency_scaled=True)


def alltoall_s(topology: Topology, block: tuple[int, int, int], split: str, *, size_bytes: int) -> float:
    """Return the seconds until the last message of the last row has arrived; every rank begins at 0.

    Ranks send to the next in their row or plane first, as Open MPI's linear Alltoall does.
    """
    nodes = [topology.nodes[index] for index in allocate(topology, "contiguous", block=block).indices]
    number = {node.name: index for index, node in enumerate(topology.nodes)}
    groups: dict[tuple[int, ...], list[Node]] = {}
    for node in sorted(nodes, key=_position):
        outside = tuple(
            at for letter, at in zip(LETTERS, _position(node), strict=True) if letter not in split
        )
        groups.setdefault(outside, []).append(node)
    messages = []
    for group in groups.values():
        ring = [*group, *group]
        for at, node in enumerate(group):
            for other in ring[at + 1 : at + len(group)]:
                address = addresses.node_address(topology, other, 0)
                messages.append(f"0 {2 * number[node.name]} {address} {size_bytes}\n")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "description"
        path.write_text(router_description.description(topology, SHAPE, Faults(), namespace_prefix="/"))
        done = subprocess.run(
            [str(ROUTER), "--simulate", str(path)],
            input="".join(messages),
            capture_output=True,
            text=True,
            check=True,
        )
    return max(int(line.split()[3]) for line in done.stdout.splitlines() if line.startswith("message ")) / 1e9


def _position(node: Node) -> tuple[int, int, int]:
    """Where a node stands among those of two a router, which are neighbours along Y."""
    x, y, z = node.coordinate
    return x, NODES_PER_ROUTER * y + node.slot, z
