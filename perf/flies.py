"""The link-load model on networks of today: a million ranks with 26 neighbours on a dragonfly of 9,472 nodes."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

from rich.console import Console
from rich.table import Table

#: Topology, share of Valiant's routes (None: the file's).
MACHINES: tuple[tuple[str, float | None], ...] = (
    ("frontier-like", 0.0),
    ("frontier-like", None),
    ("leonardo-like", None),
    ("catalyst-dual-rail", None),
)
GRID = (128, 128, 64)


def measure(console: Console) -> list[dict[str, Any]]:
    """Return seconds and memory of 1,048,576 ranks on each machine, each in a process of its own."""
    columns = "machine", "nodes", "Valiant", "seconds", "of processor", "GiB", "slowest link (ms)"
    table = Table(*columns, title="link loads of 1,048,576 ranks with 26 neighbours")
    rows = []
    for name, share in MACHINES:
        command = [sys.executable, "-m", "perf.flies", json.dumps([name, share])]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        row = json.loads(done.stdout)
        rows.append(row)
        table.add_row(
            name,
            str(row["nodes"]),
            f"{row['valiant_share']:.2f}",
            *(f"{row[key]:.1f}" for key in ("seconds", "processor_s", "memory_gibyte")),
            f"{1e3 * row['slowest_s']:.2f}",
        )
    console.print(table, "")
    return rows


def one(name: str, share: float | None) -> dict[str, Any]:
    """Return the figures of one machine, traffic included; the ranks fill its nodes evenly in their order."""
    import resource
    import time

    import numpy as np

    from placements.linkload.model import PROTOCOLS, load
    from placements.linkload.traffic import face_bytes, stencil
    from placements.topology import catalog
    from placements.topology.grouped import Grouped

    topology = catalog.load(name)
    if isinstance(topology, Grouped) and share is not None:
        topology = replace(topology, cables=replace(topology.cables, valiant_share=share))
    begun, worked = time.monotonic(), time.process_time()
    sent = stencil(GRID, face_bytes(100, 3))
    ranks = np.arange(sent.ranks, dtype=np.int64)
    loads = load(topology, ranks * len(topology.nodes) // sent.ranks, sent, PROTOCOLS["payload"])
    return {
        "topology": name,
        "nodes": len(topology.nodes),
        "valiant_share": topology.cables.valiant_share if isinstance(topology, Grouped) else 0.0,
        "seconds": time.monotonic() - begun,
        "processor_s": time.process_time() - worked,
        "memory_gibyte": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "slowest_s": loads.slowest_s,
    }


if __name__ == "__main__":
    print(json.dumps(one(*json.loads(sys.argv[1]))))
