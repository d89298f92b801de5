"""Remapping by congestion: counters while another job runs, then a placement that avoids what it loads.

A halo of 32 ranks shares `gemini-4x4x4` with a load on the other 32 nodes. The counters of all links are read twice
while the load runs alone. The optimiser places the halo without them (blind) and with them
(`placements.linkload.background`). Then both placements run beside the load.

    python -m perf.jobs.remap modelled                     in the router's network alone, in virtual time
    python -m perf.jobs.remap emulated [--launches 4]      on a virtual torus, by the commands that a user has

Leaves out a load that changes, and ranks that move while their program runs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from perf.packets.messages import Message, Simulated, arrivals_s, simulated
from perf.torus import shared_links
from placements.linkload import background
from placements.linkload.background import Background
from placements.linkload.traffic import Traffic, stencil
from placements.orders import division
from placements.orders.allocation import Allocation, allocate
from placements.orders.optimiser import Effort
from placements.orders.placement import place
from placements.topology import catalog
from placements.topology.base import Topology
from railyard.torus.plan.plan import Shape
from railyard.torus.virtual import lifecycle

TORUS = "gemini-4x4x4"
NAME = "bench-remap"
RATE_SCALE = 3e-5
GRID = (4, 4, 2)
CELLS = 64
FACES: Traffic = stencil(GRID, (8.0 * CELLS * CELLS,))
#: Bytes that each node of a modelled load sends to its partner.
LOAD_BYTES = 1 << 20
SPLITS = tuple(f"random:{seed}" for seed in range(1, 7))
#: Which of them is emulated: of those modelled, the one in which the load costs the blind placement most.
EMULATED_SPLIT = "random:4"
COUNTED_S = 20.0
LONGEST_S = 600.0
LAUNCHES = 4

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """The nodes of the halo, and those of the load, as indices into the topology's."""

    own: Allocation
    others: Ints


def divided(topology: Topology, rule: str) -> Division:
    """Return 32 nodes for the halo by a rule of `split`; the load has the rest."""
    granted = allocate(topology, "contiguous")
    own, rest = division.split(granted, rule, len(granted.indices) // 2)
    return Division(own=division.taken(granted, own), others=granted.indices[rest])


def placed(nodes: Allocation, beside: Background | None) -> Ints:
    """Return the node of each rank, by the optimiser."""
    return place("optimised:1", nodes, GRID, traffic=FACES, effort=Effort(background=beside)).indices


# ---- modelled ----


def counters_of(topology: Topology, done: Simulated) -> dict[str, Any]:
    """Return the counters of a simulated load as `railyard torus counters --since` prints them."""
    begun = datetime(2000, 1, 1, tzinfo=UTC)
    shape = Shape(network="router", latency_scaled=True)
    links = [
        {
            "name": link.name,
            "dimension": link.name[0],
            "rate_mbit_s": shape.rate_bit_s(link.rate_gbyte_s) / 1e6,
            "bytes": done.sent_bytes[link.name],
            "output_stall_ns": round(1e9 * done.output_stall_s[link.name]),
        }
        for link in topology.links()
    ]
    taken = (begun + timedelta(seconds=max(done.arrivals_s))).isoformat()
    return {
        "format": background.OF_A_TORUS,
        "topology": topology.sha256,
        "since": begun.isoformat(),
        "taken": taken,
        "links": links,
    }


def permutation(others: Ints, seed: int = 1) -> list[Message]:
    """Return large messages along the cycle of a random order of the nodes."""
    cycle = np.random.default_rng(seed).permutation(others)
    pairs = zip(cycle.tolist(), np.roll(cycle, -1).tolist(), strict=True)
    return [Message(source=one, target=other, size_bytes=LOAD_BYTES) for one, other in pairs]


def halo(nodes: Ints) -> list[Message]:
    """Return one exchange of a placement."""
    return [
        Message(source=int(nodes[source]), target=int(nodes[target]), size_bytes=int(size))
        for source, target, size in zip(FACES.source, FACES.target, FACES.size_bytes, strict=True)
    ]


def modelled(rules: Sequence[str] = SPLITS) -> Iterator[dict[str, Any]]:
    """Yield for each division of the nodes the exchange in ms: blind alone, blind and seeing beside the load."""
    topology = catalog.load(TORUS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "counters.json"
        for rule in rules:
            parts = divided(topology, rule)
            load = permutation(parts.others)
            path.write_text(json.dumps(counters_of(topology, simulated(topology, load))))
            seen = background.read(path, topology)
            blind, seeing = (halo(placed(parts.own, beside)) for beside in (None, seen))
            yield {
                "split": rule,
                "alone_ms": 1e3 * max(arrivals_s(topology, blind)),
                "blind_ms": 1e3 * max(arrivals_s(topology, [*load, *blind])[len(load) :]),
                "seeing_ms": 1e3 * max(arrivals_s(topology, [*load, *seeing])[len(load) :]),
            }


def show_modelled(console: Console) -> list[dict[str, Any]]:
    """Print a row for each division."""
    table = Table("split", "alone (ms)", "beside the load, blind (ms)", "with the counters (ms)")
    rows = list(modelled())
    for row in rows:
        table.add_row(row["split"], *(f"{row[name]:.0f}" for name in ("alone_ms", "blind_ms", "seeing_ms")))
    console.print(table)
    return rows


# ---- emulated ----


def emulated(console: Console, launches: int) -> list[dict[str, Any]]:
    """Bring a torus up, count beside the load alone, and launch both placements in turn beside it."""
    topology = catalog.load(TORUS)
    lifecycle.up(
        topology, name=NAME, shape=Shape(rate_scale=RATE_SCALE, network="router", latency_scaled=True)
    )
    try:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            parts = divided(topology, EMULATED_SPLIT)
            counted = _count_beside(folder, _names(topology, parts.others))
            console.print(f"counted for {COUNTED_S:.0f} s: {_busiest(counted)}")
            orders = {
                "blind": _place(topology, folder, parts, ()),
                "seeing": _place(topology, folder, parts, ("--background", str(counted))),
            }
            rows = []
            for number in range(launches):
                for name, nodes in orders.items():
                    rows.append({"placement": name, **_launch(folder, f"{name}-{number}", parts, nodes)})
                    console.print(rows[-1])
            return rows
    finally:
        lifecycle.down(NAME)


def _names(topology: Topology, nodes: Ints) -> list[str]:
    return [topology.nodes[node].name for node in nodes]


def _railyard(*words: str) -> str:
    done = subprocess.run(
        [str(shared_links.BIN / "railyard"), *words], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"perf: railyard {' '.join(words)}: {done.stderr[-2000:]}")
    return done.stdout


def _mpirun(folder: Path, stem: str, nodes: Sequence[str], *program: str) -> list[str]:
    hosts = folder / f"{stem}.hosts"
    hosts.write_text("".join(f"{name}\n" for name in nodes))
    ranks = ["-np", str(len(nodes)), "--map-by", "seq", "--hostfile", hosts.name, "--bind-to", "none"]
    return ["mpirun", *ranks, *program]


def _congestor(ready: str, stop: str) -> list[str]:
    files = ["--ready", ready, "--stop", stop, "--json", f"{ready}.json"]
    return ["congestor", "--pattern", "permutation", "--size", "32KiB", "--window", "4", *files]


def _count_beside(folder: Path, nodes: Sequence[str]) -> Path:
    """Run the load alone, and return the file of what the links counted between two readings."""
    before, after = folder / "before.json", folder / "counted.json"
    words = _mpirun(folder, "load", nodes, *_congestor("load.ready", "load.stop"))
    process = subprocess.Popen(
        words, cwd=folder, env=shared_links.variables(NAME, "load"), stdout=subprocess.DEVNULL
    )
    try:
        until_s = time.monotonic() + LONGEST_S
        while not (folder / "load.ready").exists():
            if process.poll() is not None or time.monotonic() > until_s:
                raise SystemExit("perf: the load did not start")
            time.sleep(0.2)
        before.write_text(_railyard("torus", "counters", NAME, "--json"))
        time.sleep(COUNTED_S)
        after.write_text(_railyard("torus", "counters", NAME, "--since", str(before), "--json"))
    finally:
        (folder / "load.stop").touch()
        process.wait(timeout=LONGEST_S)
    return after


def _busiest(counted: Path) -> str:
    topology = catalog.load(TORUS)
    left = background.read(counted, topology).left
    few = [
        f"{topology.link_at(place).name} {100 * left.flat[place]:.0f} %"
        for place in np.argsort(left.ravel())[:4]
    ]
    return f"left of the busiest links: {', '.join(few)}; {int((left < 0.5).sum())} links have less than half"


def _place(topology: Topology, folder: Path, parts: Division, more: Sequence[str]) -> list[str]:
    """Return the node of each rank, by `railyard place`."""
    hosts = folder / "own.nodes"
    hosts.write_text("".join(f"{node.name}\n" for node in parts.own.nodes))
    grid = "x".join(map(str, GRID))
    words = [
        topology.name,
        "--grid",
        grid,
        "--nodes",
        str(hosts),
        "--placement",
        "optimised:1",
        "--format",
        "json",
    ]
    names: list[str] = json.loads(_railyard("place", *words, *more))["nodes"]
    return names


def _launch(folder: Path, stem: str, parts: Division, nodes: Sequence[str]) -> dict[str, Any]:
    """Run the halo beside the load; return its median exchange and the guard's words."""
    others = _names(parts.own.topology, parts.others)
    load = _mpirun(folder, f"{stem}.load", others, *_congestor(f"{stem}.load.ready", f"{stem}.stop"))
    options = [
        "--grid",
        "x".join(map(str, GRID)),
        "--cells",
        "x".join([str(CELLS)] * 3),
        "--variants",
        "manual",
    ]
    options += ["--repeats", "4", "--warmups", "1", "--json", f"{stem}.json"]
    victim = _mpirun(folder, stem, nodes, "halo", *options)
    words = [str(shared_links.BIN / "railyard"), "together", stem, f"--congestor=load={' '.join(load)}", "--"]
    done = subprocess.run(
        [*words, *victim],
        cwd=folder,
        env={**os.environ, **shared_links.variables(NAME, stem)},
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"perf: {stem}: exit status {done.returncode}: {done.stderr[-2000:]}")
    series = json.loads((folder / f"{stem}.json").read_text())["series"]
    (samples,) = (each["samples"] for each in series if each["fom"] == "exchange_us")
    guard = json.loads((folder / f"{stem}.evidence").read_text())["guard"]
    return {
        "exchange_ms": median(samples) / 1e3,
        "verdict": guard["verdict"],
        "bound_percent": guard.get("error_bound_percent"),
    }


def main() -> None:
    """Run the part that is named."""
    parser = argparse.ArgumentParser(prog="python -m perf.jobs.remap", description="remapping by congestion")
    parser.add_argument("part", choices=["modelled", "emulated"], help="what to run")
    parser.add_argument(
        "--launches", type=int, default=LAUNCHES, help="of each placement (default: %(default)s)"
    )
    asked = parser.parse_args()
    console = Console(width=120)
    if asked.part == "modelled":
        show_modelled(console)
    else:
        emulated(console, asked.launches)


if __name__ == "__main__":
    main()
