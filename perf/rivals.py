"""Compare the order `optimised` with other mappers on matrices of 64 ranks, by the link-load model.

Five matrices are made here; others are captured from programs (docs/fit.md) and are files. The nodes are a whole
4x4x4 torus, or a random half of 8x4x4. A rival gets what it can express: Scotch the torus, KaHIP and TreeMatch the
nodes halved as a tree. Figures are seconds of the slowest link between routers; the last one is a bound that no
placement is below.

Leaves out rivals that this machine lacks, with one line for each: `scotch_gmap` of Debian's package scotch, the
wheel kahip, and the TreeMatch of Debian's Open MPI.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import math
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import sparse
from scipy.sparse import csgraph

from perf.placements import torus_of
from railyard.base.errors import InputError, RunError
from railyard.jobs import schedule
from railyard.placements.arrays import Ints
from railyard.placements.linkload.matrix import read_traffic
from railyard.placements.linkload.model import PROTOCOLS, load
from railyard.placements.linkload.traffic import Traffic, face_bytes, groups, shifted, stencil
from railyard.placements.orders.allocation import Allocation, allocate, occupied
from railyard.placements.orders.placement import place
from railyard.placements.orders.rank_orders import hilbert, snake

RANKS, SEED = 64, 55
#: The largest weight of an edge: the mappers count in 32 bits.
MOST_WEIGHT = 100_000
TREEMATCH = "/usr/lib/x86_64-linux-gnu/openmpi/lib/openmpi3/mca_topo_treematch.so"

#: A mapper: the position in the allocation of each rank, shape (64,).
Mapper = Callable[[Allocation, Traffic], Ints]


def options(parser: argparse.ArgumentParser) -> None:
    """Add the option of this section."""
    parser.add_argument(
        "--matrices",
        type=Path,
        metavar="FOLDER",
        help=f"fit-rivals: captured matrices of {RANKS} ranks, *.csv",
    )


def measure(console: Console, folder: Path | None) -> list[dict[str, Any]]:
    """Return a row per matrix and kind of nodes: the slowest link under each mapper, in seconds."""
    rows = []
    for kind, allocation in allocations().items():
        table = Table(
            "matrix",
            *[*RIVALS, "optimised", "against the best", "lower bound"],
            title=f"slowest link (ms), {kind}",
        )
        ratios = []
        for name, sent in matrices(folder):
            traffic = replace(sent, is_measured=True)  # as `railyard fit` reads it
            seconds = {rival: _seconds(console, rival, allocation, traffic) for rival in RIVALS}
            best = min(value for value in seconds.values() if value is not None)
            fitted = place("optimised", allocation, tuple(schedule.cubic(RANKS)), seed=SEED, traffic=traffic)
            own = slowest_s(allocation, fitted.indices, traffic)
            ratios.append(own / best if best else 1.0)
            least = lower_bound_s(allocation, traffic)
            cells = ["-" if value is None else f"{value * 1e3:.4g}" for value in (*seconds.values(), own)]
            table.add_row(name, *cells, f"{ratios[-1] - 1:+.1%}", f"{least * 1e3:.4g}")
            rows.append({"nodes": kind, "matrix": name, **seconds, "optimised": own, "bound": least})
        console.print(table, f"median of {len(ratios)}: {statistics.median(ratios) - 1:+.1%}", "")
    return rows


def allocations() -> dict[str, Allocation]:
    """Return a whole torus in the order of its names, and a random half of one of twice the size."""
    whole = allocate(torus_of((4, 4, 4), 1), "contiguous")
    return {
        "whole 4x4x4": whole,
        "half of 8x4x4": occupied(allocate(torus_of((8, 4, 4), 1), "contiguous"), 50, SEED),
    }


def matrices(folder: Path | None) -> Iterator[tuple[str, Traffic]]:
    """Yield five matrices by name, and those captured in a folder, each of 64 ranks."""
    rng = np.random.default_rng(SEED)
    yield "halo 8x8", stencil((8, 8), (1e6,))
    yield "halo 4x4x4, 26 neighbours", stencil((4, 4, 4), face_bytes(100, 3))
    points = rng.random((RANKS, 2))
    near = np.linalg.norm(points[:, None] - points, axis=2) < 0.25
    yield "irregular: near points", _random_weights(near, rng)
    hubs = rng.pareto(1.0, RANKS)
    yield "irregular: hubs", _random_weights(rng.random((RANKS, RANKS)) < np.add.outer(hubs, hubs) / 40, rng)
    rows, columns = (shifted(groups((8, 8), within), range(1, 8), 1e5) for within in "XY")
    yield "all-to-all in rows and columns", _sum(rows, columns)
    for path in sorted(folder.glob("*.csv")) if folder else ():
        yield path.stem, read_traffic(path, RANKS)


def _random_weights(pairs: np.ndarray[Any, Any], rng: np.random.Generator) -> Traffic:
    source, target = np.nonzero(np.triu(pairs | pairs.T, 1))
    size = np.tile(rng.uniform(1e5, 1e6, len(source)), 2)
    return Traffic(
        ranks=RANKS,
        source=np.r_[source, target].astype(np.int32),
        target=np.r_[target, source].astype(np.int32),
        size_bytes=size,
    )


def _sum(one: Traffic, other: Traffic) -> Traffic:
    return Traffic(
        ranks=RANKS,
        source=np.r_[one.source, other.source],
        target=np.r_[one.target, other.target],
        size_bytes=np.r_[one.size_bytes, other.size_bytes],
    )


def slowest_s(allocation: Allocation, nodes: Ints, traffic: Traffic) -> float:
    """Return the seconds of the slowest link between routers."""
    return load(allocation.topology, nodes, traffic, PROTOCOLS["payload"]).slowest_s


def lower_bound_s(allocation: Allocation, traffic: Traffic) -> float:
    """Return seconds that the slowest link takes under every placement, whatever the routes.

    The larger of two bounds. Links of few rates separate the nodes: some message of the heaviest tree that spans all
    ranks crosses one. All bytes together need links: a rank's largest messages go to its nearest nodes at best.
    """
    links = [link for link in allocation.topology.links() if link.rate_gbyte_s > 0]
    number = {at: row for row, at in enumerate(dict.fromkeys(link.source.coordinate for link in links))}
    ends = np.array([[number[one.coordinate] for one in (link.source, link.target)] for link in links]).T
    rates = np.array([link.rate_gbyte_s * 1e9 for link in links])
    nodes = np.array([number[tuple(cell)] for cell in allocation.cells.tolist()])

    def graph(fast: np.ndarray[Any, Any]) -> Any:
        return sparse.csr_array((np.ones(int(fast.sum())), ends[:, fast]), shape=(len(number), len(number)))

    sent = traffic.matrix().toarray()
    tree = csgraph.minimum_spanning_tree(sparse.csr_array(-np.maximum(sent, sent.T)))
    lightest = float((-tree.data).min()) if tree.nnz == RANKS - 1 else 0.0
    crossing = [
        float(lightest / rate)
        for rate in np.unique(rates)
        if len(set(csgraph.connected_components(graph(rates > rate))[1][nodes].tolist())) > 1
    ]
    hops = np.sort(csgraph.shortest_path(graph(rates > 0), unweighted=True)[np.ix_(nodes, nodes)], axis=1)
    largest_first = -np.sort(-sent, axis=1)[:, : RANKS - 1]
    least = float((largest_first * hops.min(axis=0)[1:]).sum() / rates.sum())
    return max([*crossing, least])


def _seconds(console: Console, rival: str, allocation: Allocation, traffic: Traffic) -> float | None:
    try:
        at = RIVALS[rival](allocation, traffic)
    except (InputError, RunError) as error:
        console.print(f"{rival}: {error}")
        return None
    if sorted(at.tolist()) != list(range(RANKS)):
        raise RunError(f"{rival}: ranks share a node")
    return slowest_s(allocation, allocation.indices[at], traffic)


def _default(allocation: Allocation, traffic: Traffic) -> Ints:
    return np.arange(RANKS)


def _snake(allocation: Allocation, traffic: Traffic) -> Ints:
    return snake.walk(allocation)


def _hilbert(allocation: Allocation, traffic: Traffic) -> Ints:
    return hilbert.walk(allocation)


def _weights(traffic: Traffic) -> tuple[Ints, Ints, Ints]:
    """Return the graph in both directions as rows, columns and whole weights of at least 1."""
    both = traffic.matrix()
    both = (both + both.T).tocsr()
    both.sort_indices()
    weight = np.maximum(1, np.rint(both.data * MOST_WEIGHT / both.data.max())).astype(np.int64)
    return both.indptr.astype(np.int64), both.indices.astype(np.int64), weight


def _scotch(allocation: Allocation, traffic: Traffic) -> Ints:
    if not shutil.which("scotch_gmap"):
        raise RunError("no scotch_gmap here (Debian's package scotch)")
    first, other, weight = _weights(traffic)
    lines = [f"0\n{RANKS}\t{len(other)}\n0\t010\n"]
    for rank in range(RANKS):
        pairs = range(first[rank], first[rank + 1])
        lines.append(" ".join([str(len(pairs)), *(f"{weight[k]} {other[k]}" for k in pairs)]) + "\n")
    extents = allocation.topology.extents
    # Scotch numbers a torus with the first dimension fastest.
    number = np.ravel_multi_index(tuple(allocation.cells.T), extents, order="F").tolist()
    target = f"torus3D {' '.join(map(str, extents))}\n"
    if len(number) < math.prod(extents):
        target = f"sub {len(number)} {' '.join(map(str, number))}\n{target}"
    with tempfile.TemporaryDirectory() as folder:
        graph, machine, mapping = (Path(folder, name) for name in ("graph", "target", "mapping"))
        graph.write_text("".join(lines))
        machine.write_text(target)
        done = subprocess.run(
            ["scotch_gmap", graph, machine, mapping, "-b0", "-cqb"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RunError(f"scotch_gmap: {done.stderr.strip()[:200]}")
        pairs_of = np.loadtxt(mapping, skiprows=1, dtype=np.int64)
    part = np.empty(RANKS, dtype=np.int64)
    part[pairs_of[:, 0]] = pairs_of[:, 1]
    at = part if len(number) < math.prod(extents) else np.argsort(number)[part]
    return _apart(at)


def _apart(at: Ints) -> Ints:
    """Move ranks that share a node to free ones, in order, because a mapper may leave its balance."""
    free = sorted(set(range(RANKS)) - set(at.tolist()))
    taken: set[int] = set()
    for rank, node in enumerate(at.tolist()):
        if node in taken:
            at[rank] = free.pop(0)
        taken.add(int(at[rank]))
    return at


def _halved(allocation: Allocation) -> Ints:
    """Return positions in the allocation as leaves of a tree of six halvings, each across the longest extent."""
    leaves = [np.arange(RANKS)]
    for _ in range(6):
        leaves = [half for leaf in leaves for half in _halves(allocation.cells, leaf)]
    return np.concatenate(leaves)


def _halves(cells: Ints, some: Ints) -> tuple[Ints, Ints]:
    across = int(np.ptp(cells[some], axis=0).argmax())
    ordered = some[np.argsort(cells[some, across], kind="stable")]
    return ordered[: len(some) // 2], ordered[len(some) // 2 :]


def _kahip(allocation: Allocation, traffic: Traffic) -> Ints:
    """Halve ranks and nodes together; KaHIP's own mapping leaves nodes empty where each takes one rank."""
    try:
        kahip = importlib.import_module("kahip")
    except ImportError as error:
        raise RunError("no kahip here (the wheel kahip)") from error
    both = traffic.matrix().toarray()
    both = np.rint((both + both.T) * MOST_WEIGHT / (both + both.T).max()).astype(np.int64)
    parts = [np.arange(RANKS)]
    while len(parts) < RANKS:
        parts = [half for part in parts for half in _cut(kahip, both, part)]
    at = np.empty(RANKS, dtype=np.int64)
    at[np.concatenate(parts)] = _halved(allocation)
    return at


def _cut(kahip: Any, weights: Ints, part: Ints) -> tuple[Ints, Ints]:
    inside = weights[np.ix_(part, part)]
    rows, columns = np.nonzero(inside)
    first = np.searchsorted(rows, np.arange(len(part) + 1)).tolist()
    arguments = (
        [1] * len(part),
        first,
        inside[rows, columns].tolist(),
        columns.tolist(),
        2,
        0.03,
        True,
        SEED,
    )
    side = (
        np.array(kahip.kaffpa(*arguments, kahip.FAST)[1])
        if len(rows)
        else np.zeros(len(part), dtype=np.int64)
    )
    ordered = part[np.argsort(side, kind="stable")]
    return ordered[: len(part) // 2], ordered[len(part) // 2 :]


class _Solution(ctypes.Structure):
    """The begin of TreeMatch's `tm_solution_t`."""

    _fields_ = (("sigma", ctypes.POINTER(ctypes.c_int)), ("sigma_length", ctypes.c_size_t))


def _treematch(allocation: Allocation, traffic: Traffic) -> Ints:
    if not Path(TREEMATCH).exists():
        raise RunError(f"no {TREEMATCH} here (Debian's Open MPI)")
    ctypes.CDLL("libopen-pal.so.40", ctypes.RTLD_GLOBAL)
    ctypes.CDLL("libmpi.so.40", ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(TREEMATCH)
    for name in ("synthetic_topology", "affinity_mat", "tree_from_topology"):
        getattr(library, f"tm_build_{name}").restype = ctypes.c_void_p
    library.tm_compute_mapping.restype = ctypes.POINTER(_Solution)
    both = traffic.matrix().toarray()
    both = np.ascontiguousarray(both + both.T, dtype=np.float64)
    rows = (ctypes.c_void_p * RANKS)(*(both[rank].ctypes.data for rank in range(RANKS)))
    arity, cost = (ctypes.c_int * 7)(*[2] * 6, 0), (ctypes.c_double * 7)(*range(6, -1, -1))
    numbering = (ctypes.c_int * RANKS)(*range(RANKS))
    machine = ctypes.c_void_p(library.tm_build_synthetic_topology(arity, cost, 7, numbering, RANKS))
    affinity = ctypes.c_void_p(library.tm_build_affinity_mat(rows, RANKS))
    tree = ctypes.c_void_p(library.tm_build_tree_from_topology(machine, affinity, None, None))
    solution = library.tm_compute_mapping(machine, tree).contents
    return _halved(allocation)[np.array(solution.sigma[:RANKS], dtype=np.int64)]


RIVALS: dict[str, Mapper] = {
    "Slurm's default": _default,
    "snake": _snake,
    "hilbert": _hilbert,
    "Scotch": _scotch,
    "KaHIP": _kahip,
    "TreeMatch": _treematch,
}
