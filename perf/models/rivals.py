"""The optimiser against other mappers, on allocations with gaps: a torus, a dragonfly, and a fat tree.

Every machine has 512 nodes of 16 ranks that send one byte to each of 26 neighbours; a random part of the nodes is
granted. The figure is the time of the slowest link between routers. Rivals:

    orders   plain, cart-create, snake and hilbert; by-group and by-switch where there are groups
    blocks   the best of all `blocks:AxBxC`
    Scotch   scotch_gmap on the same machine: torus3D (`sub` where nodes are missing), or the graph of nodes and
             switches that amk_grf decomposes
    KaHIP    process_mapping on halves of the nodes, in the order of the snake or by switch

Scotch and KaHIP minimise a sum over messages, not the slowest link, and know no routes. `python -m perf.models.rivals
MACHINE...` takes some of the machines.
"""

from __future__ import annotations

import ctypes
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from perf.models.placements import torus_of
from placements.linkload import model as linkload
from placements.linkload.model import PROTOCOLS
from placements.linkload.traffic import Traffic, stencil
from placements.orders.allocation import Allocation, allocate, occupied
from placements.orders.custom import grids
from placements.orders.fixed import Job, ordered
from placements.orders.optimiser import Effort, search
from placements.orders.spec import Kind
from placements.topology import catalog
from placements.topology.base import Router, Topology
from railyard.base.errors import InputError

PAYLOAD = PROTOCOLS["payload"]
ORDERS = (Kind.PLAIN, Kind.CART_CREATE, Kind.SNAKE, Kind.HILBERT, Kind.BY_GROUP, Kind.BY_SWITCH)
RIVALS = ("order", "blocks", "scotch", "kahip")
HIERARCHY_ECO, MULTISECTION = 1, 0
RANKS_PER_NODE = 16
#: Random parts of the machine that are granted, in percent, each with five seeds.
PERCENTS = (50, 80)
SEEDS = range(1, 6)
#: Slingshot's port, and four NICs per node, as `frontier-like` has.
RATES = {"local": 25.0, "global": 25.0, "cable": 25.0, "host": 25.0}

Ints = NDArray[np.int64]


def network(key: str, part: dict[str, Any], nodes_per_router: int) -> Topology:
    """Return a network of switches with Slingshot's rates."""
    document = {
        "name": key.replace("_", "-"),
        "nodes_per_router": nodes_per_router,
        "tile_rates_gbyte_s": RATES,
        "host": {"tiles": 4},
        key: part,
    }
    return catalog.parse(document, source="bench")


def _dragonfly(**routes: Any) -> Topology:
    part = {"groups": 16, "routers": 8, "cables": 4}
    return network("dragonfly", part | ({"routes": routes} if routes else {}), 4)


#: Each machine by its name; the order in which its nodes are granted.
MACHINES: dict[str, tuple[Callable[[], Topology], str]] = {
    "torus": (lambda: torus_of((8, 8, 8), 1), "snake"),
    "dragonfly": (_dragonfly, "contiguous"),
    "dragonfly, Valiant 0.5": (lambda: _dragonfly(valiant_share=0.5, spread="packets"), "contiguous"),
    "dragonfly, by load": (lambda: _dragonfly(spread="load"), "contiguous"),
    "dragonfly+": (
        lambda: network("dragonfly_plus", {"groups": 16, "leaves": 4, "spines": 4, "cables": 4}, 8),
        "contiguous",
    ),
    "fat tree 2:1": (
        lambda: network(
            "fat_tree",
            {"levels": [{"children": 8, "oversubscription": 2}, {"children": 8, "parents": 4}]},
            8,
        ),
        "contiguous",
    ),
}


def measure(console: Console, names: Sequence[str] = ()) -> dict[str, Any]:
    """Return for each machine (default: all) a row per allocation, and the median gain over each rival."""
    figures: dict[str, Any] = {}
    for name in names or MACHINES:
        make, order = MACHINES[name]
        topology = make()
        title = f"{name}: slowest link (ns of one byte to each of 26 neighbours)"
        table = Table("occupied", "optimised", *RIVALS, "below the best of them", "s", title=title)
        rows = [
            _row(f"{p} %, seed {s}", occupied(allocate(topology, order), p, s), table)
            for p in PERCENTS
            for s in SEEDS
        ]
        console.print(table)
        gains = {rival: _gains(rows, rival) for rival in RIVALS}
        figures[name] = {
            "rows": rows,
            "median_gain": {k: statistics.median(v) for k, v in gains.items() if v},
        }
        words = ", ".join(
            f"{rival} {100 * gain:.0f} %" for rival, gain in figures[name]["median_gain"].items()
        )
        console.print(f"median of {len(rows)}, below: {words}\n")
    return figures


def _gains(rows: list[dict[str, Any]], rival: str) -> list[float]:
    return [1 - row["optimised"] / row[rival] for row in rows if row[rival] is not None]


def _row(name: str, granted: Allocation, table: Table) -> dict[str, Any]:
    ranks = RANKS_PER_NODE * len(granted.indices)
    job = Job(allocation=granted, grid=_grid(ranks), ranks_per_node=RANKS_PER_NODE, seed=1)
    sent = stencil(job.grid, (1.0, 1.0, 1.0))
    begun = time.process_time()
    ours = search(job, sent, Effort(time_limit_s=600)).slowest_s
    seconds = time.process_time() - begun
    row: dict[str, Any] = {"occupied": name, "optimised": ours, "processor_s": seconds}
    row |= _by_hand(job, sent)
    for rival, mapper in (("scotch", scotch), ("kahip", kahip)):
        nodes = mapper(job, sent)
        row[rival] = None if nodes is None else _slowest_s(job, nodes, sent)
    best = min(row[rival] for rival in RIVALS if row[rival] is not None)
    texts = [f"{1e9 * row[rival]:.1f}" if row[rival] else "left out" for rival in RIVALS]
    print(json.dumps(row), file=sys.stderr, flush=True)
    table.add_row(name, f"{1e9 * ours:.1f}", *texts, f"{100 * (1 - ours / best):.0f} %", f"{seconds:.0f}")
    return row


def _by_hand(job: Job, sent: Traffic) -> dict[str, Any]:
    """Return the best order and the best block shape, with their names."""
    orders = {str(kind): _slowest_s(job, nodes, sent) for kind, nodes in _orders(job)}
    blocks = {
        "x".join(map(str, shape)): _slowest_s(job, ordered(Kind.BLOCKS, _with_block(job, shape)), sent)
        for shape in grids(job.ranks_per_node, len(job.grid))
        if all(g % s == 0 for g, s in zip(job.grid, shape, strict=True))
    }
    order, shape = (min(found, key=found.__getitem__, default="") for found in (orders, blocks))
    return {
        "order": orders[order],
        "best_order": order,
        "blocks": blocks.get(shape),
        "best_shape": shape,
    }


def _orders(job: Job) -> Iterator[tuple[Kind, Ints]]:
    for kind in ORDERS:
        try:
            yield kind, ordered(kind, job)
        except InputError:
            continue  # by-group where there are no groups


def _with_block(job: Job, shape: tuple[int, ...]) -> Job:
    argument = "x".join(map(str, shape))
    return Job(
        allocation=job.allocation, grid=job.grid, ranks_per_node=job.ranks_per_node, seed=1, argument=argument
    )


def _slowest_s(job: Job, nodes: Ints, sent: Traffic) -> float:
    return linkload.load(job.allocation.topology, nodes, sent, PAYLOAD).slowest_s


def scotch(job: Job, sent: Traffic) -> Ints | None:
    """Return the node of each rank by scotch_gmap without imbalance; None where it is not installed."""
    program = shutil.which("scotch_gmap")
    if program is None:
        return None
    allocation = job.allocation
    with tempfile.TemporaryDirectory() as folder:
        graph, target, found = (Path(folder, name) for name in ("ranks.grf", "nodes.tgt", "found.map"))
        graph.write_text(_scotch_graph(sent))
        if allocation.topology.rings:
            target.write_text(_scotch_torus(allocation))
        else:
            _scotch_decomposed(allocation, target)
        subprocess.run([program, "-b0", graph, target, found], check=True, stdout=subprocess.DEVNULL)
        pairs = np.loadtxt(found, skiprows=1, dtype=np.int64)
    places = np.empty(sent.ranks, dtype=np.int64)
    places[pairs[:, 0]] = pairs[:, 1]
    return np.asarray(allocation.indices[places])


def _scotch_torus(allocation: Allocation) -> str:
    """Return the granted vertices of the torus, one node per router."""
    extents = allocation.topology.extents
    x, y, z = np.unravel_index(allocation.indices, extents)
    numbers = x + extents[0] * (y + extents[1] * z)
    torus = f"torus3D {' '.join(map(str, extents))}\n"
    return f"sub\n{len(numbers)} {' '.join(map(str, numbers))}\n{torus}"


def _scotch_decomposed(allocation: Allocation, target: Path) -> None:
    """Write the architecture of the granted nodes (vertices 0, 1, ...) and all switches, decomposed by amk_grf."""
    topology, count = allocation.topology, len(allocation.indices)
    numbers = topology.router_indices
    leaf = [numbers[Router(coordinate=c)] for c in topology.coordinates]
    edges: dict[int, set[int]] = {vertex: set() for vertex in range(count + len(topology.routers))}
    pairs = [(k, count + leaf[r]) for k, r in enumerate(topology.router_of_node[allocation.indices].tolist())]
    pairs += [(count + numbers[k.source], count + numbers[k.target]) for k in topology.first_rail]
    for one, other in pairs:
        edges[one].add(other)
        edges[other].add(one)
    lines = [f"{len(ends)} {' '.join(map(str, sorted(ends)))}\n" for ends in edges.values()]
    head = f"0\n{len(edges)} {sum(map(len, edges.values()))}\n0 000\n"
    graph, chosen = target.with_suffix(".grf"), target.with_suffix(".list")
    graph.write_text(head + "".join(lines))
    chosen.write_text(f"{count}\n{' '.join(map(str, range(count)))}\n")
    subprocess.run(["amk_grf", f"-l{chosen}", graph, target], check=True, stdout=subprocess.DEVNULL)


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
    """Return the node of each rank by KaHIP's process_mapping (eco, multisection, no imbalance), if installed.

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


def _grid(ranks: int) -> tuple[int, int, int]:
    """Return the grid of so many ranks that is nearest to a cube, largest extent first."""
    grids = [
        (ranks // (a * b), b, a)
        for a in range(1, round(ranks ** (1 / 3)) + 1)
        if ranks % a == 0
        for b in range(a, int((ranks // a) ** 0.5) + 1)
        if (ranks // a) % b == 0
    ]
    return min(grids, key=lambda grid: grid[0] - grid[2])


def _factors(number: int) -> list[int]:
    """Return prime factors, smallest first: the halves of halves that KaHIP's hierarchy is made of."""
    found, divisor = [], 2
    while number > 1:
        while number % divisor == 0:
            found.append(divisor)
            number //= divisor
        divisor += 1
    return found or [1]


if __name__ == "__main__":
    measure(Console(width=120), sys.argv[1:])
