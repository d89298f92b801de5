"""Which nodes for a job on a dragonfly: contiguous, random nodes, random switches or random groups.

A job of 256 nodes runs a halo, an alltoall or an allreduce on a balanced dragonfly of 1,056 nodes (33 groups of 8
routers with 4 nodes), alone or while all other nodes send to each other at random. Two columns:

    modelled   the busiest link that the job uses, in time, as a multiple of the best choice's; minimal routes, and
               Valiant's for half of the packets; alone and with background; median of five seeds
    simulated  the programs halo and rowcol under SimGrid with minimal routes, alone; one seed

`python -m perf.fly_study` prints them; `--modelled` leaves the simulation out.

Leaves out background in the simulation, and an emulation: 1,056 nodes do not fit on one machine.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from perf.rivals import network
from placements.launchers import files
from placements.linkload.traffic import Pattern, Traffic, collective, face_bytes, stencil
from placements.orders.allocation import Choice, allocate, choose
from placements.topology.base import Topology
from railyard.checkout import CHECKOUT

NODES, GRID = 256, (8, 8, 4)
SEEDS = range(1, 6)
CHOICES = {
    "contiguous": Choice.CONTIGUOUS,
    "random nodes": Choice.RANDOM,
    "random switches": Choice.RANDOM_SWITCHES,
    "random groups": Choice.RANDOM_GROUPS,
}
ROUTES: dict[str, dict[str, Any]] = {
    "minimal": {},
    "Valiant 0.5": {"routes": {"valiant_share": 0.5, "spread": "packets"}},
}
CELLS = 48
PATTERNS: dict[str, Traffic] = {
    "halo": stencil(GRID, face_bytes(CELLS, 3)[:1]),
    "alltoall": collective(Pattern.ALLTOALL, GRID, "XYZ", 1024.0),
    "allreduce": collective(Pattern.ALLREDUCE, GRID, "XYZ", float(1 << 20)),
}
PROGRAMS = {
    "halo": ("halo", "exchange_us", ["--grid", "8x8x4", "--cells", str(CELLS)]),
    "alltoall": ("rowcol", "slowest_us", ["--collectives", "alltoall", "--sizes", "1KiB"]),
    "allreduce": ("rowcol", "slowest_us", ["--collectives", "allreduce", "--sizes", "1MiB"]),
}
QUICK = ["--repeats", "1", "--warmups", "0", "--min-time-per-point", "0", "--warmup-time", "0"]
Ints = NDArray[np.int64]


def machine(routes: str) -> Topology:
    """Return the dragonfly with some routes."""
    return network("dragonfly", {"groups": 33, "routers": 8, "cables": 1, **ROUTES[routes]}, 4)


def granted(topology: Topology, choice: str, seed: int) -> Ints:
    """Return the nodes of the job: rank k on the k-th."""
    number = seed if CHOICES[choice].argument else None
    return choose(allocate(topology, "contiguous"), NODES, CHOICES[choice], number).indices


def background(topology: Topology, job: Ints, seed: int, bytes_per_node: float) -> Traffic:
    """Return traffic of the other nodes: each sends as much as a node of the job, to eight others at random."""
    random = np.random.default_rng(seed)
    others = np.setdiff1d(np.arange(len(topology.nodes)), job)
    source = np.repeat(others, 8)
    target = np.concatenate([random.permutation(others) for _ in range(8)]).reshape(8, -1).T.ravel()
    apart = source != target
    sizes = np.full(int(apart.sum()), bytes_per_node / 8)
    ends = (source[apart].astype(np.int32), target[apart].astype(np.int32))
    return Traffic(ranks=len(topology.nodes), source=ends[0], target=ends[1], size_bytes=sizes)


def modelled_s(topology: Topology, job: Ints, sent: Traffic, seed: int) -> tuple[float, float]:
    """Return the seconds of the busiest link that the job uses, alone and with background."""
    router = topology.router_of_node
    own = topology.carry(router[job[sent.source]], job[sent.target], sent.size_bytes).link_bytes
    noise = background(topology, job, seed, sent.total_bytes / NODES)
    others = topology.carry(router[noise.source], noise.target.astype(np.int64), noise.size_bytes).link_bytes
    rates = topology.link_rates * 1e9
    used = own > 0
    return float((own / rates).max()), float(((own + others) / rates)[used].max())


def modelled(console: Console) -> dict[str, Any]:
    """Return seconds by routes, pattern, choice and whether alone; the median of the seeds."""
    figures: dict[str, Any] = {}
    for routes in ROUTES:
        topology = machine(routes)
        for pattern, sent in PATTERNS.items():
            values = {
                choice: [modelled_s(topology, granted(topology, choice, s), sent, s) for s in SEEDS]
                for choice in CHOICES
            }
            for column, name in enumerate(("alone", "with background")):
                medians = {c: statistics.median(v[column] for v in rows) for c, rows in values.items()}
                figures[f"{routes}, {pattern}, {name}"] = medians
    _print(console, "modelled", figures)
    table = Table("", *CHOICES, title="modelled: times slower with background than alone")
    for name in (name for name in figures if name.endswith("alone")):
        slower = figures[name.replace("alone", "with background")]
        table.add_row(name.removesuffix(", alone"), *(f"{slower[c] / figures[name][c]:.2f}" for c in CHOICES))
    console.print(table, "")
    return figures


def simulated(console: Console) -> dict[str, Any]:
    """Return the microseconds that halo and rowcol report under SimGrid."""
    topology, figures = machine("minimal"), {}
    with tempfile.TemporaryDirectory() as folder:
        for pattern in PROGRAMS:
            figures[f"minimal, {pattern}, alone"] = {
                choice: _simulated_us(topology, pattern, granted(topology, choice, 1), Path(folder))
                for choice in CHOICES
            }
    _print(console, "simulated", figures)
    return figures


def _simulated_us(topology: Topology, pattern: str, job: Ints, folder: Path) -> float:
    program, fom, options = PROGRAMS[pattern]
    document, hosts, output = (folder / name for name in ("fly.yml", "hosts", "output.json"))
    document.write_text(yaml.safe_dump(topology.to_dict()))
    hosts.write_text(files.openmpi_hostfile([topology.nodes[k] for k in job]))
    binary = CHECKOUT / "build/benchmarks-simgrid/bin" / program
    command = ["sim", "--hostfile", str(hosts), str(document), str(binary), *options, *QUICK]
    railyard = str(Path(sys.executable).with_name("railyard"))
    subprocess.run([railyard, *command, "--json", str(output)], check=True, capture_output=True)
    series = json.loads(output.read_text())["series"]
    return float(statistics.median(next(s["samples"] for s in series if s["fom"] == fom)))


def _print(console: Console, title: str, figures: dict[str, Any]) -> None:
    table = Table("", *CHOICES, "winner", title=f"{title}: multiples of the best choice")
    for name, values in figures.items():
        best = min(values, key=values.__getitem__)
        table.add_row(name, *(f"{value / values[best]:.2f}" for value in values.values()), best)
    console.print(table, "")


def measure(console: Console) -> dict[str, Any]:
    """Return both columns."""
    return {"modelled": modelled(console), "simulated": simulated(console)}


if __name__ == "__main__":
    wide = Console(width=120)
    modelled(wide) if "--modelled" in sys.argv else measure(wide)
