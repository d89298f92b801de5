"""Write the files that `tools/fuzz` begins with: what railyard writes of small networks, and its counter groups."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from railyard.base.checkout import CHECKOUT
from railyard.placements.launchers import files
from railyard.placements.topology import catalog
from railyard.placements.topology.base import Topology
from railyard.placements.topology.faults import Faults
from railyard.torus.plan import addresses, router_description
from railyard.torus.plan.plan import Shape

#: The two smallest, and those whose links files list tests; long descriptions make the router slow.
NETWORKS = ("gemini-2x2x2", "dual-rail-small", "fat-tree-54", "dragonfly-72")


def main(reader: str, folder: Path) -> None:
    """Write the files of one reader: links, coordinates, groups or router."""
    folder.mkdir(parents=True, exist_ok=True)
    if reader == "groups":
        for group in (CHECKOUT / "benchmarks/counters/groups").glob("*.txt"):
            shutil.copy(group, folder)
        return
    written = {"router": router, "links": files.links, "coordinates": files.coordinates}[reader]
    chosen = ("gemini-2x2x2+hashed", "gemini-2x2x2+valiant")
    for name in (*NETWORKS[:2], *chosen) if reader == "router" else NETWORKS:
        (folder / name).write_text(written(catalog.load(name)))


def router(topology: Topology) -> str:
    """Return the description of a torus, and messages from its first nodes to its first."""
    shape = Shape(rate_scale=0.001, network="router")
    text = "\n".join([*router_description.lines(topology, shape, Faults(), path="/run/netns/"), ""])
    to = addresses.node_address(topology, topology.nodes[0], 0)
    return text + "---\n" + "".join(f"{at} {2 * at} {to} {4000 * at}\n" for at in range(1, 4))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
