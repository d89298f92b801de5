"""Compare the order `optimised` with the named orders, Scotch, KaHIP and TreeMatch, by the link-load model.

The matrices are made here, and renumbered at random for each further numbering. A rival gets what it can express:
Scotch the torus; KaHIP and TreeMatch, and Scotch elsewhere, the nodes divided as a tree. Below the lower bounds no
placement exists, whatever the routes. Where a node's own link takes more than twice as long, `optimised` trades the
slowest link for shorter ways. Leaves out, with a line, a rival that this machine lacks: `scotch_gmap` of Debian's
package scotch, the wheel kahip, and the TreeMatch of Debian's Open MPI.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import importlib
import itertools
import math
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from rich.table import Table
from scipy import sparse
from scipy.sparse import csgraph
from support.topology.topologies import gemini, renumbered

from perf.vtorus import console
from railyard.base.errors import InputError, RunError
from railyard.base.parent import workers
from railyard.jobs import schedule
from railyard.placements.arrays import Ints
from railyard.placements.linkload.model import PROTOCOLS, load
from railyard.placements.linkload.traffic import Traffic, stencil
from railyard.placements.orders.allocation import Allocation, allocate, occupied
from railyard.placements.orders.choices import choose
from railyard.placements.orders.optimiser import optimised
from railyard.placements.orders.rank_orders import Effort, PlacementJob, orders
from railyard.placements.topology import catalog

SEED = 55
SIZE_BYTES = 1e6
UNEVEN = ("near points", "hubs")
#: The largest weight of an edge: the mappers count in 32 bits.
MOST_WEIGHT = 100_000
#: From so many ranks on, one numbering.
FEW_FROM = 512
#: Beyond, a mapper takes longer than all others.
MOST_RANKS = {"KaHIP": 512, "TreeMatch": 512}
TREEMATCH = "/usr/lib/x86_64-linux-gnu/openmpi/lib/openmpi3/mca_topo_treematch.so"
CELLS = "torus:27,torus:64,half:64,dragonfly:64,half-dragonfly:36,tree:54,half-tree:27,torus:512,half:512,torus:4096"
#: The slowest link and the hop-bytes of `optimised`, each also divided by the lower bound and by the best rival; the
#: sum of all links' seconds, which `optimised` shortens: two fast links may take less than a slow one.
HEADS = ("slowest ms", "/ bound", "/ rivals", "GB x hops", "hops / bound", "hops / rivals", "sum / rivals", "CPU s")

#: A mapper: the position in the allocation of each rank, for the graph of pairs, and the tree of the nodes.
Mapper = Callable[[Allocation, sparse.csr_array, Ints, Sequence[int]], Ints]


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this section."""
    parser.add_argument("--cells", default=CELLS, help="fit-rivals: MACHINE:RANKS, with commas between")
    parser.add_argument("--numberings", type=int, default=10, help="fit-rivals: of each matrix; one from 512 ranks on")


def measure(given: argparse.Namespace) -> None:
    """Print a table for each machine and number of ranks: the worst of all numberings."""
    for machine, ranks in (cell.split(":") for cell in given.cells.split(",")):
        allocation = nodes_of(machine, int(ranks))
        # Number 0 is the matrix's own, which a named order may fit.
        numbers = range(given.numberings) if int(ranks) < FEW_FROM else range(1, 2)
        title = f"{ranks} ranks, {machine}: worst of {len(numbers)} numberings"
        table = Table("matrix", *HEADS, "best rival of the first", title=title)
        for name, traffic in matrices(int(ranks)):
            with workers(os.cpu_count() or 1) as pool:
                own = replace(traffic, is_measured=True)
                every = [renumbered(own, number) if number else own for number in numbers]
                worst, *others = pool.map(_compared, itertools.repeat(allocation), every)
            most = (max(row[head] for row in (worst, *others)) for head in HEADS)
            table.add_row(name, *(f"{value:.4g}" for value in most), worst["rival"])
        console.print(table)


def nodes_of(machine: str, ranks: int) -> Allocation:
    """Return nodes of a machine: all, or as many as the ranks take; of a half machine a random half."""
    kind = machine.removeprefix("half-")
    x, y, z = schedule.cubic(ranks)
    own = {"torus": (x, y, z), "half": (2 * x, y, z)}
    named = {"dragonfly": "dragonfly-72", "tree": "fat-tree-54"}
    topology = gemini("x".join(map(str, own[kind]))) if kind in own else catalog.load(named[kind])
    every = allocate(topology, "contiguous")
    return occupied(every, 50, SEED) if machine.startswith("half") else choose(every, ranks, "contiguous")


def matrices(ranks: int) -> Iterator[tuple[str, Traffic]]:
    """Yield matrices by name, each of so many ranks."""
    rows = next(rows for rows in range(math.isqrt(ranks), 0, -1) if ranks % rows == 0)
    plane, grid = (rows, ranks // rows), tuple(schedule.cubic(ranks))
    graphs = {
        "ring": nx.cycle_graph(ranks),
        "halo": nx.grid_graph(grid, periodic=True),
        "Jacobi": nx.grid_graph(plane),
        "tree": nx.full_rary_tree(2, ranks),
        "FFT": nx.cartesian_product(*map(nx.complete_graph, plane)),
        "near points": nx.random_geometric_graph(ranks, 2 / math.sqrt(ranks), seed=SEED),
        "hubs": nx.barabasi_albert_graph(ranks, 3, seed=SEED),
    }
    if ranks & (ranks - 1) == 0:
        bits = ranks.bit_length() - 1
        graphs |= {"binomial tree": nx.binomial_tree(bits), "hypercube": nx.hypercube_graph(bits)}
    for name, graph in graphs.items():
        ends = np.array(nx.convert_node_labels_to_integers(graph).edges, dtype=np.int32).T
        size = np.random.default_rng(SEED).uniform(0.1 if name in UNEVEN else 1, 1, ends.shape[1]) * SIZE_BYTES
        source, target = np.hstack([ends, ends[::-1]])
        yield name, Traffic(ranks=ranks, source=source, target=target, size_bytes=np.tile(size, 2))
    yield "26 neighbours", stencil(grid, (8e4, 8e2, 8.0))


def _compared(allocation: Allocation, traffic: Traffic) -> dict[str, Any]:
    """Return the slowest link and the hop-bytes of `optimised`, over the bounds and over the best rival in each."""

    def result(nodes: Ints) -> tuple[float, float, float]:
        loads = load(allocation.topology, nodes, traffic, PROTOCOLS["payload"])
        return loads.slowest_s, loads.hop_bytes, float(loads.link_s.sum())

    job = PlacementJob(allocation=allocation, grid=tuple(schedule.cubic(traffic.ranks)), ranks_per_node=1, seed=1)
    rivals = {}
    for order in orders().values():
        if order.start:
            with contextlib.suppress(InputError):
                rivals[order.name] = result(order.place(job))
    both = traffic.matrix()
    both = sparse.csr_array(both + both.T)
    both.data = np.maximum(1, np.rint(both.data * MOST_WEIGHT / both.data.max()))
    leaves, arities = _leaves(allocation, traffic.ranks)
    for name, mapper in RIVALS.items():
        if traffic.ranks <= MOST_RANKS.get(name, traffic.ranks):
            try:
                rivals[name] = result(allocation.indices[mapper(allocation, both, leaves, arities)])
            except (RunError, ImportError, OSError) as error:
                console.print(f"{name}: {error}")
    begun_s = time.process_time()
    slowest_s, hops, sum_s = result(optimised(replace(job, traffic=traffic, effort=Effort(time_limit_s=math.inf))))
    bound_s, hops_bound = bounds(allocation, traffic)
    best = min(rivals, key=rivals.__getitem__)
    least, least_s = (min(result[which] for result in rivals.values()) for which in (1, 2))
    links = [slowest_s * 1e3, slowest_s / bound_s, slowest_s / rivals[best][0]]
    hop_bytes = [hops / 1e9, hops / hops_bound if hops_bound else math.inf, hops / least, sum_s / least_s]
    figures = [*links, *hop_bytes, time.process_time() - begun_s]
    return dict(zip(HEADS, figures, strict=True)) | {"rival": best}


def bounds(allocation: Allocation, traffic: Traffic) -> tuple[float, float]:
    """Return seconds of the slowest link, and bytes x links, that no placement is below, whatever the routes.

    A rank's largest messages go to its nearest nodes at best. All that needs links; and links of few rates separate
    the nodes, so that some message of the heaviest tree that spans all ranks crosses one.
    """
    links = [link for link in allocation.topology.links() if link.rate_gbyte_s > 0]
    number = {at: row for row, at in enumerate(dict.fromkeys(link.source.coordinate for link in links))}
    ends = np.array([[number[one.coordinate] for one in (link.source, link.target)] for link in links]).T
    rates = np.array([link.rate_gbyte_s * 1e9 for link in links])
    router = allocation.topology.router_of_node[allocation.indices]
    nodes = np.array([number[tuple(map(int, allocation.topology.coordinates[k]))] for k in router])

    def graph(some: Any) -> Any:
        return sparse.csr_array((np.ones(int(some.sum())), ends[:, some]), shape=(len(number), len(number)))

    sent = traffic.matrix()
    tree = csgraph.minimum_spanning_tree(-sent.maximum(sent.T))
    lightest = float((-tree.data).min()) if tree.nnz == traffic.ranks - 1 else 0.0
    crossing = [
        float(lightest / rate)
        for rate in np.unique(rates)
        if len(set(csgraph.connected_components(graph(rates > rate))[1][nodes].tolist())) > 1
    ]
    hops = np.sort(csgraph.shortest_path(graph(rates > 0), unweighted=True, indices=nodes)[:, nodes], axis=1)
    nearest = hops.min(axis=0)[1:]
    least = sum(float(-np.sort(-row.data) @ nearest[: row.nnz]) for row in (sent[[k]] for k in range(traffic.ranks)))
    return max([*crossing, least / rates.sum()]), least


def _leaves(allocation: Allocation, ranks: int) -> tuple[Ints, list[int]]:
    """Return positions in the allocation as leaves of a tree, and its arities; a torus is cut where it is longest."""
    arities = [prime for prime in (7, 5, 3, 2) for power in range(1, 13) if ranks % prime**power == 0]
    parts, cells = [np.arange(ranks)], allocation.cells
    for arity in arities:
        if allocation.topology.rings is not None:
            along = (cells[part][:, np.ptp(cells[part], axis=0).argmax()] for part in parts)
            parts = [part[np.argsort(at, kind="stable")] for part, at in zip(parts, along, strict=True)]
        parts = [one for part in parts for one in np.split(part, arity)]
    return np.concatenate(parts), arities


def _scotch(allocation: Allocation, both: sparse.csr_array, leaves: Ints, arities: Sequence[int]) -> Ints:
    ranks = len(leaves)
    lines = [f"0\n{ranks}\t{both.nnz}\n0\t010\n"]
    for rank in range(ranks):
        row = slice(both.indptr[rank], both.indptr[rank + 1])
        pairs = zip(both.data[row].astype(int), both.indices[row], strict=True)
        lines.append(" ".join([str(row.stop - row.start), *(f"{weight} {other}" for weight, other in pairs)]) + "\n")
    levels = " ".join(f"{arity} {len(arities) - level}" for level, arity in enumerate(arities))
    target, position = f"tleaf {len(arities)} {levels}\n", leaves
    if allocation.topology.rings is not None:
        extents = allocation.topology.extents
        # Scotch numbers a torus with the first dimension fastest.
        number = np.ravel_multi_index(tuple(allocation.cells.T), extents, order="F")
        target, position = f"torus3D {' '.join(map(str, extents))}\n", np.argsort(number)
        if ranks < math.prod(extents):
            target, position = (f"sub {ranks} {' '.join(map(str, number.tolist()))}\n{target}", np.arange(ranks))
    with tempfile.TemporaryDirectory() as folder:
        graph, machine, mapping = (Path(folder, name) for name in ("graph", "target", "mapping"))
        graph.write_text("".join(lines))
        machine.write_text(target)
        command = ["scotch_gmap", *map(str, (graph, machine, mapping)), "-b0", "-cqb"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RunError(f"scotch_gmap: {done.stderr.strip()[:200]}")
        pairs_of = np.loadtxt(mapping, skiprows=1, dtype=np.int64)
    part = pairs_of[np.argsort(pairs_of[:, 0]), 1]
    free = sorted(set(range(ranks)) - set(part.tolist()))
    for rank in np.setdiff1d(np.arange(ranks), np.unique(part, return_index=True)[1]):
        part[rank] = free.pop(0)  # a mapper may leave its balance, so that ranks share a node
    return np.asarray(position[part])


def _kahip(allocation: Allocation, both: sparse.csr_array, leaves: Ints, arities: Sequence[int]) -> Ints:
    """Divide ranks and nodes together; KaHIP's own mapping leaves nodes empty where each takes one rank."""
    kahip = importlib.import_module("kahip")
    parts = [np.arange(len(leaves))]
    for arity in arities:
        parts = [one for part in parts for one in np.split(_cut(kahip, both, part, arity), arity)]
    at = np.empty(len(leaves), dtype=np.int64)
    at[np.concatenate(parts)] = leaves
    return at


def _cut(kahip: Any, both: sparse.csr_array, part: Ints, arity: int) -> Ints:
    """Return the ranks of a part sorted by the share that they go to."""
    inside = both[part][:, part].tocsr()
    if not inside.nnz or len(part) == arity:
        return part
    lists = [inside.indptr.tolist(), inside.data.astype(int).tolist(), inside.indices.tolist()]
    return part[
        np.argsort(kahip.kaffpa([1] * len(part), *lists, arity, 0.03, True, SEED, kahip.FAST)[1], kind="stable")
    ]


def _treematch(allocation: Allocation, both: sparse.csr_array, leaves: Ints, arities: Sequence[int]) -> Ints:
    for name in ("libopen-pal.so.40", "libmpi.so.40"):
        ctypes.CDLL(name, ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(TREEMATCH)
    for name in ("synthetic_topology", "affinity_mat", "tree_from_topology"):
        getattr(library, f"tm_build_{name}").restype = ctypes.c_void_p
    # A solution, TreeMatch's `tm_solution_t`, begins with a pointer to its numbers.
    library.tm_compute_mapping.restype = ctypes.POINTER(ctypes.POINTER(ctypes.c_int))
    ranks, levels = len(leaves), len(arities) + 1
    dense = np.ascontiguousarray(both.toarray(), dtype=np.float64)
    rows = (ctypes.c_void_p * ranks)(*(dense[rank].ctypes.data for rank in range(ranks)))
    arity, cost = (ctypes.c_int * levels)(*arities, 0), (ctypes.c_double * levels)(*range(levels - 1, -1, -1))
    numbers = (ctypes.c_int * ranks)(*range(ranks))
    machine = ctypes.c_void_p(library.tm_build_synthetic_topology(arity, cost, levels, numbers, ranks))
    affinity = ctypes.c_void_p(library.tm_build_affinity_mat(rows, ranks))
    tree = ctypes.c_void_p(library.tm_build_tree_from_topology(machine, affinity, None, None))
    solution = library.tm_compute_mapping(machine, tree).contents
    return leaves[np.array(solution[:ranks], dtype=np.int64)]


RIVALS: dict[str, Mapper] = {"Scotch": _scotch, "KaHIP": _kahip, "TreeMatch": _treematch}
