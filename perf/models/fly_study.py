"""Which nodes for a job on a dragonfly: contiguous, random nodes, random switches or random groups.

A job runs a halo, an alltoall or a ring allreduce, alone or while all other nodes send to each other at random.

    modelled on 1,056 nodes  a job of 256 nodes on a balanced dragonfly (33 groups of 8 routers with 4 nodes): the
                             busiest link that the job uses, in time; minimal routes, and Valiant's for half
    three columns            a job of 24 nodes on `dragonfly-72` with minimal routes: modelled, simulated and emulated;
                             the last two run the same program, `fly_study.c`, with the background in the same launch

Figures are medians of the seeds, as multiples of the best choice's. `python -m perf.models.fly_study COLUMN SECONDS`
makes one column (`modelled-1056`, `modelled`, `simulated`, `emulated`) for about so long. Each launch is kept in
build/fly-study-COLUMN.json, and the next call goes on after the last.

Leaves out an emulation of 1,056 nodes, which do not fit on one machine.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from perf.models.rivals import network
from placements.launchers import files
from placements.linkload.traffic import Pattern, Traffic, collective, face_bytes, stencil
from placements.orders.allocation import Choice, allocate, choose
from placements.topology import catalog
from placements.topology.base import Node, Topology
from railyard.base.checkout import BUILD
from railyard.torus.plan.plan import Shape
from railyard.torus.virtual import lifecycle

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
PROGRAM = Path(__file__).with_suffix(".c")
#: The job on `dragonfly-72`, and the bytes that its patterns send: to each neighbour, to each rank, of a whole vector.
SMALL_GRID = (4, 3, 2)
BYTES = {"halo": 32 << 10, "alltoall": 8 << 10, "allreduce": 192 << 10}
BACKGROUND_BYTES = 32 << 10
LOADS = ("alone", "with background")
COLUMNS = ("modelled", "simulated", "emulated")
SMALL_SEEDS = range(1, 4)
REPEATS = 3
NAME, RATE_SCALE = "bench-study", 0.0000125
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


def at_rate_scale(topology: Topology, scale: float) -> dict[str, Any]:
    """Return the document of a topology whose links are as slow as on the virtual network."""
    document = topology.to_dict()
    rates = {kind: scale * rate for kind, rate in document["tile_rates_gbyte_s"].items()}
    return {**document, "tile_rates_gbyte_s": rates}


def simulated_s(topology: Topology, launch: Launch, folder: Path) -> tuple[float, float]:
    """Return the median seconds of a launch under SimGrid, and no error bound."""
    network = folder / "fly.yml"
    network.write_text(yaml.safe_dump(at_rate_scale(topology, RATE_SCALE)))
    return launch.seconds(("sim", "--hostfile", "HOSTS", str(network)), "smpicc", folder), 0.0


def emulated_s(topology: Topology, launch: Launch, folder: Path) -> tuple[float, float]:
    """Return the median seconds of a launch on the virtual network, and its error bound in percent."""
    evidence = folder / "evidence.json"
    os.environ["RAILYARD_EVIDENCE"] = str(evidence)
    placed = (
        "-q",
        "-np",
        str(len(launch.nodes)),
        "--map-by",
        "seq",
        "--hostfile",
        "HOSTS",
        "--bind-to",
        "none",
    )
    seconds = launch.seconds(("torus", "mpirun", NAME, "--", *placed), "mpicc.openmpi", folder)
    return seconds, float(json.loads(evidence.read_text())["guard"]["error_bound_percent"] or 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A launch of `fly_study.c`: rank k is on the k-th node; those after the job's are the background."""

    pattern: str
    nodes: Sequence[Node]
    repeats: int

    def seconds(self, before: tuple[str, ...], compiler: str, folder: Path) -> float:
        """Run it below some words of `railyard`, with HOSTS for the host file; the median of its repeats."""
        hosts, program = folder / "hosts", folder / "fly_study"
        hosts.write_text(files.openmpi_hostfile(self.nodes))
        subprocess.run([compiler, "-O1", "-o", str(program), str(PROGRAM)], check=True, capture_output=True)
        words = [str(hosts) if word == "HOSTS" else word for word in before]
        sizes = [
            "x".join(map(str, SMALL_GRID)),
            str(BYTES[self.pattern]),
            str(self.repeats),
            str(BACKGROUND_BYTES),
        ]
        railyard = str(Path(sys.executable).with_name("railyard"))
        command = [railyard, *words, str(program), self.pattern, *sizes]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found = [float(value) for value in re.findall(r"^seconds (\S+)$", done.stdout, re.MULTILINE)]
        if done.returncode != 0 or len(found) != self.repeats:
            raise SystemExit(f"bench: {' '.join(command)}: {done.stderr or done.stdout}")
        return statistics.median(found)


def small_job(topology: Topology, choice: str, seed: int) -> tuple[Ints, Ints]:
    """Return the nodes of the job, and all others in the random order in which each sends to the next."""
    count = math.prod(SMALL_GRID)
    number = seed if CHOICES[choice].argument else None
    job = choose(allocate(topology, "contiguous"), count, CHOICES[choice], number).indices
    others = np.setdiff1d(np.arange(len(topology.nodes)), job)
    return job, np.random.default_rng(seed).permutation(others)


def small_traffic(pattern: str) -> Traffic:
    """Return what the job's ranks send each other in one repeat of `fly_study.c`."""
    size = float(BYTES[pattern])
    if pattern == "halo":
        return stencil(SMALL_GRID, (size,))
    return collective(Pattern(pattern), SMALL_GRID, "XYZ", size)


def small_modelled_s(topology: Topology, pattern: str, job: Ints, others: Ints) -> float:
    """Return the seconds of the busiest link that the job uses; each of the others sends as much as a rank of it."""
    sent, router = small_traffic(pattern), topology.router_of_node
    own = topology.carry(router[job[sent.source]], job[sent.target], sent.size_bytes).link_bytes
    load = np.zeros_like(own)
    if len(others):
        sizes = np.full(len(others), sent.total_bytes / len(job))
        load = topology.carry(router[others], np.roll(others, -1), sizes).link_bytes
    return float(((own + load) / (topology.link_rates * 1e9))[own > 0].max())


def column(name: str, seconds: float = 3600.0) -> dict[str, Any]:
    """Return the launches of a column by their names, those of earlier calls included."""
    until, kept = time.monotonic() + seconds, _kept(name)
    topology = catalog.load("dragonfly-72")
    with tempfile.TemporaryDirectory() as folder, _network(name, topology):
        for seed, pattern, load, choice in itertools.product(SMALL_SEEDS, BYTES, LOADS, CHOICES):
            key = f"{name}/{pattern}/{load}/{choice}/{seed}"
            if key in kept or time.monotonic() > until:
                continue
            job, others = small_job(topology, choice, seed)
            beside = others if load == "with background" else others[:0]
            kept[key] = _launched(name, topology, pattern, (job, beside, Path(folder)))
            print(key, kept[key], flush=True)
            _file(name).write_text(json.dumps(kept, indent=1))
    return kept


def _launched(
    name: str, topology: Topology, pattern: str, run: tuple[Ints, Ints, Path]
) -> tuple[float, float]:
    job, beside, folder = run
    if name == "modelled":
        return small_modelled_s(topology, pattern, job, beside), 0.0
    nodes = [topology.nodes[k] for k in (*job, *beside)]
    run_one = {"simulated": simulated_s, "emulated": emulated_s}[name]
    return run_one(topology, Launch(pattern=pattern, nodes=nodes, repeats=REPEATS), folder)


@contextmanager
def _network(name: str, topology: Topology) -> Iterator[None]:
    """Keep a virtual network up where the column needs one."""
    if name != "emulated":
        yield
        return
    lifecycle.up(topology, name=NAME, shape=Shape(rate_scale=RATE_SCALE))
    try:
        yield
    finally:
        lifecycle.down(NAME)


def _kept(name: str) -> dict[str, Any]:
    return dict(json.loads(_file(name).read_text())) if _file(name).exists() else {}


def _file(name: str) -> Path:
    return BUILD / f"fly-study-{name}.json"


def columns(console: Console) -> dict[str, Any]:
    """Print what the launches that were kept come to: each column's multiples of its best choice, and its winner."""
    figures = {}
    for name in COLUMNS:
        kept = _kept(name)
        for pattern, load in itertools.product(BYTES, LOADS):
            found = {c: _values(kept, f"{name}/{pattern}/{load}/{c}/") for c in CHOICES}
            if all(found.values()):
                figures[f"{name}, {pattern}, {load}"] = {
                    c: statistics.median(v[0] for v in values) for c, values in found.items()
                }
    _print(console, f"dragonfly-72, {math.prod(SMALL_GRID)} nodes", figures)
    bounds = [value[1] for value in _kept("emulated").values()]
    if bounds:
        console.print(f"error bounds of the emulated launches: {min(bounds):.1f} to {max(bounds):.1f} %")
    return figures


def _values(kept: dict[str, Any], prefix: str) -> list[tuple[float, float]]:
    return [tuple(value) for key, value in kept.items() if key.startswith(prefix)]


def _print(console: Console, title: str, figures: dict[str, Any]) -> None:
    table = Table("", *CHOICES, "winner", title=f"{title}: multiples of the best choice")
    for name, values in figures.items():
        best = min(values, key=values.__getitem__)
        table.add_row(name, *(f"{value / values[best]:.2f}" for value in values.values()), best)
    console.print(table, "")


def measure(console: Console) -> dict[str, Any]:
    """Return the model of the large machine, and the three columns of the small one."""
    return {
        "modelled-1056": modelled(console),
        **{name: column(name) for name in COLUMNS},
        **columns(console),
    }


if __name__ == "__main__":
    wide = Console(width=120)
    match sys.argv[1:]:
        case ["modelled-1056"]:
            modelled(wide)
        case [name]:
            column(name)
            columns(wide)
        case [name, limit]:
            column(name, float(limit))
            columns(wide)
        case _:
            measure(wide)
