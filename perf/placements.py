"""Placements: the model's cost, the optimiser against fixed orders and other people's mappers, prediction against halo.

    model    link loads of 131,072 ranks with 26 neighbours on 16x12x24, 2 nodes a router, 16 ranks a node
    rivals   8x8x8 routers of 16 ranks, Gemini rates, 26 equal neighbours; ten sparse allocations and the whole machine
    large    the optimiser at the model's scale
    predict  the model's order of placements against the measured order of halo times on the virtual 4x4x4 torus

Rivals: Scotch's scotch_gmap on torus3D (the `sub` architecture for sparse allocations) and KaHIP's process_mapping on
halves of the nodes along the snake. Both minimise a sum over messages, not the slowest link, and know no link rates.
"""

from __future__ import annotations

import ctypes
import math
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy import stats

from placements.linkload import model as linkload
from placements.linkload.model import PROTOCOLS, LinkLoads
from placements.linkload.traffic import Traffic, face_bytes, stencil
from placements.orders.allocation import Allocation, Choice, allocate, choose, occupied
from placements.orders.fixed import Job, ordered
from placements.orders.optimiser import Effort, search
from placements.orders.spec import Kind
from placements.topology import catalog
from placements.topology.torus import Torus

PAYLOAD = PROTOCOLS["payload"]
FIXED = (Kind.PLAIN, Kind.CART_CREATE, Kind.SNAKE, Kind.HILBERT)
HIERARCHY_ECO, MULTISECTION = 1, 0
#: One for each predicted time: placements that tie (custom, cart-create and plain are all limited by the host links)
#: have no order that a measurement could confirm.
PREDICTED = ("custom", "hilbert", "random:4", "random:1", "random:5", "random:3")

Ints = NDArray[np.int64]


def torus_of(extents: tuple[int, int, int], nodes_per_router: int) -> Torus:
    """Gemini's link classes on another size."""
    document = catalog.load("gemini-4x4x4").to_dict()
    document |= {"name": "gemini-" + "x".join(map(str, extents)), "nodes_per_router": nodes_per_router}
    for name, extent in zip("XYZ", extents, strict=True):
        document["dimensions"][name]["extent"] = extent
    return catalog.torus(catalog.parse(document, source="bench"), "bench")


def large_job() -> Job:
    granted = choose(allocate(torus_of((16, 12, 24), 2)), 8192, Choice.CONTIGUOUS)
    return Job(allocation=granted, grid=(64, 32, 64), ranks_per_node=16, seed=1, argument="2x2x4")


def model(console: Console) -> dict[str, float]:
    """Seconds and memory of the model at paper scale, and what MiniGhost's remap does to the injected bytes."""
    job = large_job()
    begun = time.monotonic()
    sent = stencil(job.grid, face_bytes(100, 3))
    loads = _loads(job, ordered(Kind.CART_CREATE, job), sent)
    seconds = time.monotonic() - begun
    memory_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    remapped = _loads(job, ordered(Kind.BLOCKS, job), sent)
    scattered = _loads(job, ordered(Kind.RANDOM, job), sent)
    gain = float(loads.injected_bytes.sum() / remapped.injected_bytes.sum())
    worse = float(scattered.injected_bytes.sum() / remapped.injected_bytes.sum())
    console.print(
        f"link loads of 131,072 ranks: {seconds:.2f} s, {memory_bytes / 2**30:.2f} GiB; injected a router, blocks"
        f" 2x2x4 against rank order: {gain:.2f} times fewer, against random: {worse:.2f}\n"
    )
    return {"seconds": seconds, "memory_bytes": memory_bytes, "remap_gain": gain, "random_loss": worse}


def rivals(console: Console) -> list[dict[str, Any]]:
    """A row for each allocation: seconds of the slowest link under each mapper, and how far below the others we are."""
    topo = torus_of((8, 8, 8), 1)
    whole = allocate(topo)
    cases = [("100 %", whole)]
    cases += [(f"{p} %, seed {s}", occupied(whole, p, s)) for p in (50, 80) for s in range(1, 6)]
    columns = (
        "optimised",
        "best fixed",
        "snake",
        "scotch_gmap",
        "KaHIP",
        "below snake",
        "Scotch",
        "KaHIP",
        "s",
    )
    table = Table("occupied", *columns, title="slowest link (ns of one byte to each of 26 neighbours)")
    rows = [_rivals_row(name, granted, table) for name, granted in cases]
    console.print(table, "")
    return rows


def _rivals_row(name: str, granted: Allocation, table: Table) -> dict[str, Any]:
    job = Job(allocation=granted, grid=_grid(16 * len(granted.indices)), ranks_per_node=16, seed=1)
    sent = stencil(job.grid, (1.0, 1.0, 1.0))
    begun = time.monotonic()
    ours = search(job, sent, Effort()).slowest_s
    seconds = time.monotonic() - begun
    fixed = {str(kind): _loads(job, ordered(kind, job), sent).slowest_s for kind in FIXED}
    row: dict[str, Any] = {"occupied": name, "optimised": ours, "seconds": seconds, **fixed}
    row["scotch"] = _loads(job, nodes, sent).slowest_s if (nodes := scotch(job, sent)) is not None else None
    row["kahip"] = _loads(job, nodes, sent).slowest_s if (nodes := kahip(job, sent)) is not None else None
    best = min(fixed.values())
    others = [fixed["snake"], row["scotch"], row["kahip"]]
    texts = [f"{1e9 * value:.1f}" if value else "left out" for value in (ours, best, *others)]
    gains = [f"-{100 * (1 - ours / value):.0f} %" if value else "" for value in others]
    table.add_row(name, *texts, *gains, f"{seconds:.0f}")
    return row


def scotch(job: Job, sent: Traffic) -> Ints | None:
    """The node of each rank by scotch_gmap without imbalance; None where it is not installed."""
    program = shutil.which("scotch_gmap")
    if program is None:
        return None
    extents = job.allocation.topology.extents
    x, y, z = np.unravel_index(job.allocation.indices, extents)
    numbers = x + extents[0] * (y + extents[1] * z)
    with tempfile.TemporaryDirectory() as folder:
        graph, target, found = (Path(folder, name) for name in ("ranks.grf", "nodes.tgt", "found.map"))
        graph.write_text(_scotch_graph(sent))
        target.write_text(_scotch_target(extents, numbers))
        subprocess.run([program, "-b0", graph, target, found], check=True, stdout=subprocess.DEVNULL)
        pairs = np.loadtxt(found, skiprows=1, dtype=np.int64)
    places = np.empty(sent.ranks, dtype=np.int64)
    places[pairs[:, 0]] = pairs[:, 1]
    if len(numbers) == math.prod(extents):
        places = np.argsort(numbers)[places]
    return np.asarray(job.allocation.indices[places])


def _scotch_target(extents: tuple[int, ...], numbers: Ints) -> str:
    """The torus, or those of its vertices that are granted; Scotch does better with the whole one by itself."""
    torus = f"torus3D {' '.join(map(str, extents))}\n"
    if len(numbers) == math.prod(extents):
        return torus
    return f"sub\n{len(numbers)} {' '.join(map(str, numbers))}\n{torus}"


def _scotch_graph(sent: Traffic) -> str:
    both = sent.matrix() + sent.matrix().T
    both = both.tocsr()
    lines = [f"0\n{sent.ranks} {both.nnz}\n0 010\n"]
    for rank in range(sent.ranks):
        part = slice(both.indptr[rank], both.indptr[rank + 1])
        ends = zip(both.data[part], both.indices[part], strict=True)
        lines.append(" ".join([str(part.stop - part.start), *(f"{int(w)} {r}" for w, r in ends)]) + "\n")
    return "".join(lines)


def kahip(job: Job, sent: Traffic) -> Ints | None:
    """The node of each rank by KaHIP's process_mapping (eco, multisection, no imbalance); None where it is absent.

    The Python package does not wrap that function; its library exports it.
    """
    try:
        from kahip import kahip as library
    except ImportError:
        return None
    nodes = len(job.allocation.indices)
    hierarchy = _factors(nodes)
    distances = [2**k for k in range(len(hierarchy))]
    both = (sent.matrix() + sent.matrix().T).tocsr()
    arrays = [
        both.indptr,
        both.data,
        both.indices,
        np.ones(sent.ranks),
        np.array(hierarchy),
        np.array(distances),
    ]
    xadj, weights, ends, vertices, levels, far = (np.ascontiguousarray(a, dtype=np.int32) for a in arrays)
    part, cut, qap = np.zeros(sent.ranks, dtype=np.int32), ctypes.c_int(), ctypes.c_int()
    pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (vertices, xadj, weights, ends, levels, far)]
    ctypes.CDLL(library.__file__).process_mapping(
        ctypes.byref(ctypes.c_int(sent.ranks)),
        *pointers,
        ctypes.c_int(len(hierarchy)),
        ctypes.c_int(HIERARCHY_ECO),
        ctypes.c_int(MULTISECTION),
        ctypes.byref(ctypes.c_double(0.0)),
        ctypes.c_bool(True),
        ctypes.c_int(1),
        ctypes.byref(cut),
        ctypes.byref(qap),
        part.ctypes.data_as(ctypes.c_void_p),
    )
    return np.asarray(job.allocation.indices[part])


def large(console: Console) -> dict[str, float]:
    """The optimiser at the model's scale, against the snake."""
    job = large_job()
    sent = stencil(job.grid, (1.0, 1.0, 1.0))
    begun = time.monotonic()
    found = search(job, sent, Effort()).slowest_s
    seconds = time.monotonic() - begun
    snake = _loads(job, ordered(Kind.SNAKE, job), sent).slowest_s
    console.print(
        f"optimised, 131,072 ranks: {seconds:.0f} s, slowest link {100 * (1 - found / snake):.0f} % below snake\n"
    )
    return {"seconds": seconds, "slowest_s": found, "snake_slowest_s": snake}


def predicted_s(loads: LinkLoads) -> float:
    """The slowest link of all, those to hosts included."""
    return max(loads.slowest_s, loads.slowest_host_s)


def agreement(
    console: Console, measured_us: dict[str, float], predictions_s: dict[str, float]
) -> dict[str, Any]:
    """Kendall's tau between predicted and measured order of placements."""
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


def _loads(job: Job, nodes: Ints, sent: Traffic) -> LinkLoads:
    return linkload.load(job.allocation.topology, nodes, sent, PAYLOAD)


def _grid(ranks: int) -> tuple[int, int, int]:
    """The grid of so many ranks that is nearest to a cube, largest extent first."""
    grids = [
        (ranks // (a * b), b, a)
        for a in range(1, round(ranks ** (1 / 3)) + 1)
        if ranks % a == 0
        for b in range(a, int((ranks // a) ** 0.5) + 1)
        if (ranks // a) % b == 0
    ]
    return min(grids, key=lambda grid: grid[0] - grid[2])


def _factors(number: int) -> list[int]:
    """Prime factors, smallest first: the halves of halves that KaHIP's hierarchy is told of."""
    found, divisor = [], 2
    while number > 1:
        while number % divisor == 0:
            found.append(divisor)
            number //= divisor
        divisor += 1
    return found or [1]
