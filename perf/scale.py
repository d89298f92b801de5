"""Measure seconds and memory of networks of several sizes: up, down."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table

from railyard.placements.topology import catalog
from railyard.placements.topology.base import Topology
from railyard.placements.topology.torus import Torus

NAME = "bench-scale"


def sizes(console: Console) -> list[dict[str, Any]]:
    """Return a row per network: its size, the time of up and down, and its memory."""
    table = Table(
        "topology", "routers", "nodes", "rails", "up (s)", "down (s)", "memory (GiB)", title="scale"
    )
    rows = []
    for topo in _topologies():
        row = {
            "topology": topo.name,
            "routers": len(topo.routers),
            "nodes": len(topo.nodes),
            "rails": topo.rails,
        }
        row |= _bring_up(topo)
        rows.append(row)
        figures = f"{row['up_s']:.1f}", f"{row['down_s']:.1f}", f"{row['memory_gibyte']:.2f}"
        table.add_row(topo.name, *(str(row[key]) for key in ("routers", "nodes", "rails")), *figures)
    console.print(table, "")
    return rows


def _topologies() -> list[Topology]:
    gemini = catalog.load("gemini-4x4x4")
    assert isinstance(gemini, Torus)
    x, y, z = (dataclasses.replace(d, extent=8) for d in gemini.dimensions)
    return [
        gemini,
        dataclasses.replace(gemini, name="gemini-4x4x4-2-nodes-2-rails", nodes_per_router=2, rails=2),
        catalog.load("catalyst-dual-rail"),
        dataclasses.replace(gemini, name="gemini-8x8x8", dimensions=(x, y, z)),
    ]


def _bring_up(topo: Topology) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "topology.yml")
        path.write_text(yaml.safe_dump(topo.to_dict()))
        before = _available_gibyte()
        up_s = _seconds("up", str(path), "--name", NAME, "--rate-scale", "0.000125")
        memory = before - _available_gibyte()
        down_s = _seconds("down", NAME)
    return {"up_s": up_s, "down_s": down_s, "memory_gibyte": memory}


def _available_gibyte() -> float:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable")) / 2**20


def _seconds(*arguments: str) -> float:
    start_s = time.monotonic()
    command = [str(Path(sys.executable).with_name("railyard")), "torus", *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - start_s
