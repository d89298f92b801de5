"""An Alltoall in rows and planes by message size, packet and buffer, in the router's network alone (docs/simulated.md).

    python -m perf alltoall

Along X a way has two links, and along Y one. SimGrid's flows have neither packets nor buffers, so its ratios are 1.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from rich.console import Console
from rich.table import Table

from perf.packets import messages
from placements.topology import catalog

TORUS, BLOCK = "gemini-4x4x4-two-nodes", (4, 2, 4)
#: Bytes of each pair, bytes of a packet, packets that a buffer holds.
CASES = (
    (1 << 14, 2500, 8),
    (1 << 14, 2500, 64),
    (1 << 14, 600, 8),
    (1 << 14, 600, 64),
    (1 << 16, 2500, 8),
    (1 << 16, 2500, 64),
)


def measure(console: Console) -> list[dict[str, Any]]:
    """Return the two ratios of every case, and print them."""
    rows = [_row(*case) for case in CASES]
    table = Table(*rows[0], title=f"Alltoall on {TORUS}, the router's network alone")
    for row in rows:
        table.add_row(*(f"{value:.3f}" if isinstance(value, float) else str(value) for value in row.values()))
    console.print(table, "")
    return rows


def _row(size_bytes: int, mtu_bytes: int, buffer_cells: int) -> dict[str, Any]:
    shape = dataclasses.replace(messages.SHAPE, mtu_bytes=mtu_bytes, buffer_cells=buffer_cells)
    topology = catalog.load(TORUS)
    times = {
        split: messages.alltoall_s(topology, BLOCK, split, size_bytes=size_bytes, shape=shape)
        for split in ("X", "Y", "XZ", "YZ")
    }
    return {
        "bytes per pair": size_bytes,
        "packet (bytes)": mtu_bytes,
        "packets per buffer": buffer_cells,
        "Y rows over X rows": times["Y"] / times["X"],
        "YZ planes over XZ": times["YZ"] / times["XZ"],
    }
