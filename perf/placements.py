"""Measure the cost of the link-load model and the optimiser, and compare predictions with halo times.

model    link loads of 131,072 ranks with 26 neighbours on 16x12x24, 2 nodes per router, 16 ranks per node
large    the optimiser at the model's scale
predict  the model's order of placements against the measured order of halo times on the virtual 4x4x4 torus
"""

from __future__ import annotations

import resource
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy import stats

from railyard.placements.linkload import model as linkload
from railyard.placements.linkload.model import PROTOCOLS, LinkLoads
from railyard.placements.linkload.traffic import Traffic, face_bytes, stencil
from railyard.placements.orders.allocation import allocate
from railyard.placements.orders.choices import choose
from railyard.placements.orders.optimiser import search
from railyard.placements.orders.rank_orders import Effort, PlacementJob, orders
from railyard.placements.topology import catalog
from railyard.placements.topology.torus import Torus

PAYLOAD = PROTOCOLS["payload"]
#: One for each predicted time: placements that tie (custom, cart-create and plain are all limited by the host links)
#: have no order that a measurement could confirm.
PREDICTED = ("custom", "hilbert", "random:4", "random:1", "random:5", "random:3")

Ints = NDArray[np.int64]


def torus_of(extents: tuple[int, int, int], nodes_per_router: int) -> Torus:
    """Return a torus of another size with Gemini's link classes."""
    document = catalog.load("gemini-4x4x4").to_dict()
    document |= {"name": "gemini-" + "x".join(map(str, extents)), "nodes_per_router": nodes_per_router}
    for name, extent in zip("XYZ", extents, strict=True):
        document["dimensions"][name]["extent"] = extent
    return catalog.as_torus(catalog.parse(document, source="bench"), "bench")


def large_job() -> PlacementJob:
    """Return a job of 131,072 ranks on a 16x12x24 torus."""
    granted = choose(allocate(torus_of((16, 12, 24), 2)), 8192, "contiguous")
    return PlacementJob(allocation=granted, grid=(64, 32, 64), ranks_per_node=16, seed=1, argument="2x2x4")


def model(console: Console) -> dict[str, float]:
    """Measure the link-load model at the paper's scale, and the injected bytes under MiniGhost's remapping."""
    job = large_job()
    start_s = time.monotonic()
    sent = stencil(job.grid, face_bytes(100, 3))
    loads = _loads(job, orders()["cart-create"].place(job), sent)
    seconds = time.monotonic() - start_s
    memory_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    remapped = _loads(job, orders()["blocks"].place(job), sent)
    scattered = _loads(job, orders()["random"].place(job), sent)
    gain = float(loads.injected_bytes.sum() / remapped.injected_bytes.sum())
    worse = float(scattered.injected_bytes.sum() / remapped.injected_bytes.sum())
    console.print(
        f"link loads of 131,072 ranks: {seconds:.2f} s, {memory_bytes / 2**30:.2f} GiB; injected per router, blocks"
        f" 2x2x4 against rank order: {gain:.2f} times fewer, against random: {worse:.2f}\n"
    )
    return {"seconds": seconds, "memory_bytes": memory_bytes, "remap_gain": gain, "random_loss": worse}


def large(console: Console) -> dict[str, float]:
    """Time the optimiser at the model's scale, and compare it with the snake."""
    job = large_job()
    sent = stencil(job.grid, (1.0, 1.0, 1.0))
    start_s = time.monotonic()
    slowest_s = search(job, sent, Effort()).slowest_s
    seconds = time.monotonic() - start_s
    snake = _loads(job, orders()["snake"].place(job), sent).slowest_s
    console.print(
        f"optimised, 131,072 ranks: {seconds:.0f} s, slowest link {100 * (1 - slowest_s / snake):.0f} % below snake\n"
    )
    return {"seconds": seconds, "slowest_s": slowest_s, "snake_slowest_s": snake}


def predicted_s(loads: LinkLoads) -> float:
    """Return the time of the slowest link, links to hosts included."""
    return max(loads.slowest_s, loads.slowest_host_s)


def agreement(
    console: Console, measured_us: dict[str, float], predictions_s: dict[str, float]
) -> dict[str, Any]:
    """Return Kendall's tau between the predicted and the measured order of placements."""
    tau = float(
        stats.kendalltau(
            list(predictions_s.values()), [measured_us[name] for name in predictions_s]
        ).statistic
    )
    table = Table("placement", "predicted (ms)", "measured (ms)", title="halo on the virtual 4x4x4 torus")
    for name, value in sorted(predictions_s.items(), key=lambda item: item[1]):
        table.add_row(name, f"{1e3 * value:.1f}", f"{measured_us[name] / 1e3:.1f}")
    console.print(table, f"Kendall's tau of the two orders: {tau:.2f}\n")
    return {"tau": tau, "predicted_s": predictions_s, "measured_us": measured_us}


def _loads(job: PlacementJob, nodes: Ints, sent: Traffic) -> LinkLoads:
    return linkload.load(job.allocation.topology, nodes, sent, PAYLOAD)
