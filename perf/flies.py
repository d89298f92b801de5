"""The link-load model on networks of today: what it costs, and whether it is what a walk of every message gives.

size       a million ranks with 26 neighbours on a dragonfly of 9,472 nodes, and on other machines
agreement  50 random machines of each kind, 400 messages each, against a walk that shares no code with the kinds
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

from rich.console import Console
from rich.table import Table

from railyard.checkout import CHECKOUT

#: Topology, share of Valiant's routes (None: the file's).
MACHINES: tuple[tuple[str, float | None], ...] = (
    ("frontier-like", 0.0),
    ("frontier-like", None),
    ("leonardo-like", None),
    ("catalyst-dual-rail", None),
    ("blue-waters", None),
)
GRID = (128, 128, 64)
#: Random machines of each kind, messages on each, and protocols.
COMPARED, MESSAGES = 50, 400
PROTOCOLS = ("payload", "gemini-put")


def measure(console: Console) -> dict[str, Any]:
    """Return the figures of both parts."""
    return {"size": sizes(console), "agreement": agreement(console)}


def agreement(console: Console) -> dict[str, Any]:
    """Return by kind how many machines were compared, and the largest difference of any link in bytes."""
    from hypothesis import HealthCheck, given, settings
    from hypothesis import strategies as st

    sys.path.insert(0, str(CHECKOUT / "tests"))
    from support import flies_agreement  # the walk is the tests'

    figures = {}
    for kind, machines in flies_agreement.MACHINES.items():
        worst = list[float]()

        def compare(data: st.DataObject, worst: list[float], machines: st.SearchStrategy[Any]) -> None:
            seed, protocol = data.draw(st.integers(0, 2**32 - 1)), data.draw(st.sampled_from(PROTOCOLS))
            worst.append(flies_agreement.worst_byte(data.draw(machines), seed, protocol, MESSAGES))

        every = settings(
            max_examples=COMPARED, deadline=None, database=None, suppress_health_check=list(HealthCheck)
        )
        every(given(st.data(), st.just(worst), st.just(machines))(compare))()
        figures[kind] = {"machines": len(worst), "worst_byte": max(worst)}
        console.print(f"{kind}: {len(worst)} random machines, largest difference {max(worst):.1e} bytes")
    console.print("")
    return figures


def sizes(console: Console) -> list[dict[str, Any]]:
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

    from placements.linkload import model
    from placements.linkload.traffic import face_bytes, stencil
    from placements.topology import catalog
    from placements.topology.grouped import Grouped

    topology = catalog.load(name)
    if isinstance(topology, Grouped) and share is not None:
        topology = replace(topology, cables=replace(topology.cables, valiant_share=share))
    begun, worked = time.monotonic(), time.process_time()
    sent = stencil(GRID, face_bytes(100, 3))
    ranks = np.arange(sent.ranks, dtype=np.int64)
    loads = model.load(topology, ranks * len(topology.nodes) // sent.ranks, sent, model.PROTOCOLS["payload"])
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
