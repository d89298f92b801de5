"""The link-load model on networks of today: what it costs, and whether it is what a walk of every message gives.

size       a million ranks with 26 neighbours on a dragonfly of 9,472 nodes, and on other machines
agreement  50 random machines of each kind, 400 messages each, against a walk that shares no code with the kinds
simulated  a halo of 1,000 ranks by SimGrid on a balanced dragonfly of 8,448 nodes, its bytes beside the model's
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table

from placements.launchers import files
from placements.topology.base import Node, Topology
from railyard.base.checkout import CHECKOUT

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
#: The dragonfly of 1,056 routers that is simulated, the placements, and the grid of its ranks.
BALANCED = {"groups": 33, "routers": 32, "cables": 1}
NODES_PER_ROUTER = 8
PLACEMENTS = ("plain", "plain@random:1")
RANKS = (10, 10, 10)
CELLS = 48
LIMITS = ("--time-limit", "900", "--memory-limit", "12")


def measure(console: Console) -> dict[str, Any]:
    """Return the figures of all parts."""
    return {
        "size": sizes(console),
        "agreement": agreement(console),
        "simulated": [simulated(console, placement) for placement in PLACEMENTS],
    }


def simulated(console: Console, placement: str) -> dict[str, Any]:
    """Return what a simulated halo takes of this machine, and its bytes on each link as multiples of the model's."""
    from perf.models.rivals import network
    from placements.linkload import model
    from placements.linkload.traffic import face_bytes, stencil
    from placements.orders.allocation import allocate
    from placements.orders.placement import place

    topology = network("dragonfly", BALANCED, NODES_PER_ROUTER)
    placed = place(placement, allocate(topology, "contiguous"), RANKS)
    begun, before = time.monotonic(), _children()
    iteration_us, counted = _halo(topology, placed.nodes)
    seconds, after = time.monotonic() - begun, _children()
    sent = stencil(RANKS, face_bytes(CELLS, 3)[:1])
    loads = model.load(topology, placed.indices, sent, model.PROTOCOLS["payload"])
    predicted = {link.name: size for link, size, _ in loads.slowest(loads.link_s.size) if size}
    times = sorted(counted.get(name, 0.0) / size for name, size in predicted.items())
    row = {
        "placement": placement,
        "seconds": seconds,
        "processor_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "memory_gibyte": after.ru_maxrss / 2**20,
        "iteration_us": iteration_us,
        "modelled_us": 1e6 * loads.slowest_s,
        "links": len(predicted),
        "multiples": (times[0], times[-1]),
    }
    console.print(json.dumps(row))
    return row


def _halo(topology: Topology, nodes: Sequence[Node]) -> tuple[float, dict[str, float]]:
    """Return the simulated time of an iteration, and the bytes that each link of the network carried."""
    with tempfile.TemporaryDirectory() as name:
        hosts, document, output, carried = (
            Path(name) / file for file in ("hosts", "fly.yml", "out", "bytes")
        )
        hosts.write_text(files.openmpi_hostfile(nodes))
        document.write_text(yaml.safe_dump(topology.to_dict()))
        words = ("sim", *LIMITS, "--hostfile", hosts, "--link-bytes", carried, document)
        halo = (CHECKOUT / "build/benchmarks-simgrid/bin/halo", "--grid", "x".join(map(str, RANKS)))
        times = ("--repeats", 1, "--warmups", 0, "--min-time-per-point", 0, "--warmup-time", 0)
        command = (Path(sys.executable).with_name("railyard"), *words, *halo, "--cells", CELLS, *times)
        subprocess.run([*map(str, command), "--json", str(output)], check=True, stdout=subprocess.DEVNULL)
        series = json.loads(output.read_text())["series"]
        links = json.loads(carried.read_text())["links"]
    iteration_us = next(s["samples"][0] for s in series if s["fom"] == "iteration_us")
    return iteration_us, {link["link"]: link["bytes"] for link in links}


def _children() -> resource.struct_rusage:
    return resource.getrusage(resource.RUSAGE_CHILDREN)


def agreement(console: Console) -> dict[str, Any]:
    """Return by kind how many machines were compared, and the largest difference of any link in bytes."""
    from hypothesis import HealthCheck, given, settings
    from hypothesis import strategies as st

    sys.path.insert(0, str(CHECKOUT / "tests"))
    from support.topology import flies_agreement

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
        command = [sys.executable, "-m", "perf.models.flies", json.dumps([name, share])]
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
    import numpy as np

    from placements.linkload import model
    from placements.linkload.traffic import face_bytes, stencil
    from placements.topology import catalog
    from placements.topology.dragonflies.grouped import Grouped

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
