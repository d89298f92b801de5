"""Compute what a benchmark would report if only links took time, by the link-load model.

Models `halo`, `rowcol` and `minighost` (a 27-point stencil; Pedretti et al., CUG'13, section VI) with the options of
a check. A time is that of the slowest link, between routers or to a node, with the protocol `gemini-put`. The
document has the format of a benchmark's (docs/formats.md) and `verified` null, because no data moved. Leaves out
latency, packing, and every option that does not change the traffic.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from railyard import __version__
from railyard.base.errors import InputError
from railyard.placements.arrays import Ints, NDArray, np
from railyard.placements.linkload import model, traffic
from railyard.placements.linkload.model import LinkLoads
from railyard.placements.linkload.patterns import make, patterns
from railyard.placements.linkload.traffic import Grid
from railyard.placements.topology.base import Topology

PROTOCOL = model.PROTOCOLS["gemini-put"]
#: The number of axes of a torus's array of loads: X, Y and Z of the router, dimension, direction.
TORUS_AXES = 5

#: One sample of a figure of merit: lower is better, and the last word of its name is its unit.
Series = dict[str, Any]


def document(program: Sequence[str], topology: Topology, nodes: Ints) -> dict[str, Any]:
    """Return the document that the program's --json would write.

    `nodes[k]` is the node of rank k, as an index into `topology.nodes`. Raises InputError for a program that is not
    modelled, or an option that cannot be read.
    """
    name, options = program[0], _options(program[1:])
    if name not in PROGRAMS:
        raise InputError("model", "PROGRAM", name, ", ".join(PROGRAMS))
    series = list(PROGRAMS[name](options, topology, nodes))
    return {
        "format": "railyard-benchmark/3",
        "benchmark": name,
        "version": __version__,
        "parameters": {},
        "mpi": {"library": "none: link-load model", "standard": "none", "ranks": len(nodes)},
        "verified": None,
        "ranks": _ranks(topology.nodes[node].name for node in nodes.tolist()),
        "figures": {
            fom: {"unit": fom.rpartition("_")[2], "better": "lower"} for fom in sorted({s["fom"] for s in series})
        },
        "series": series,
    }


def _ranks(hosts: Iterable[str]) -> dict[str, Any]:
    """Return the member `ranks` of the document: the host of each rank, in rank order, and no CPUs ("." in columns)."""
    ranks_of: dict[str, list[int]] = {}
    for rank, host in enumerate(hosts):
        ranks_of.setdefault(host, []).append(rank)
    counts = list(dict.fromkeys(map(len, ranks_of.values())))
    without = ("cpu", "allowed_cpus", "numa_node")
    return {
        "layouts": [{"ranks": count, "cpu_sets": [], **dict.fromkeys(without, f".*{count}")} for count in counts],
        "nodes": [
            {"host": host, "ranks": ",".join(map(str, own)), "layout": counts.index(len(own))}
            for host, own in ranks_of.items()
        ],
    }


def _options(words: Sequence[str]) -> Mapping[str, str]:
    """Return name -> value of the options `--NAME VALUE`; InputError for anything else."""
    names, values = words[::2], words[1::2]
    for name in names:
        if not name.startswith("--"):
            raise InputError("model", "option", name, "options of the form --NAME VALUE")
    return {name.removeprefix("--"): value for name, value in zip(names, values, strict=False)}


def _halo(options: Mapping[str, str], topology: Topology, nodes: Ints) -> Iterator[Series]:
    """Yield the time of one exchange of faces between neighbours in the grid of ranks."""
    grid, cells = _extents(options, "grid"), _extents(options, "cells")
    size = traffic.face_bytes(cells[0], len(grid), 8 * int(options.get("values", "1")))
    loads = model.load(topology, nodes, make("stencil6", grid, size_bytes=size), PROTOCOL)
    yield _series("exchange_us", 1e6 * max(loads.slowest_s, loads.slowest_host_s))


def _minighost(options: Mapping[str, str], topology: Topology, nodes: Ints) -> Iterator[Series]:
    """Yield bytes that nodes inject, and times of links, for one exchange with all 26 neighbours."""
    grid, cells = _extents(options, "grid"), _extents(options, "cells")
    sent = make("stencil27", grid, size_bytes=traffic.face_bytes(cells[0], len(grid)))
    loads = model.load(topology, nodes, sent, PROTOCOL)
    yield _series("injected_bytes", float(loads.injected_bytes[loads.injected_bytes > 0].mean()))
    yield _series("most_injected_bytes", float(loads.injected_bytes.max(initial=0.0)))
    yield _series("slowest_link_us", 1e6 * loads.slowest_s)
    for dimension, link_s in _by_dimension(loads).items():
        yield _series("slowest_of_dimension_us", 1e6 * float(link_s.max()), {"dimension": dimension})
        yield _series("mean_of_dimension_us", 1e6 * float(link_s.mean()), {"dimension": dimension})


def _by_dimension(loads: LinkLoads) -> Mapping[str, NDArray[np.float64]]:
    """Return dimension -> seconds of each link along it (Pedretti et al., Figure 7); empty unless a torus."""
    if loads.link_s.ndim != TORUS_AXES:
        return {}
    exists = loads.rate_gbyte_s > 0
    along = {letter: loads.link_s[:, :, :, d][exists[:, :, :, d]] for d, letter in enumerate("XYZ")}
    return {letter: link_s for letter, link_s in along.items() if link_s.size}


def _rowcol(options: Mapping[str, str], topology: Topology, nodes: Ints) -> Iterator[Series]:
    """Yield the time of each collective in each split with each size. InputError unless the nodes are a block."""
    cells = topology.cells(nodes)
    box = tuple(len(np.unique(cells[:, d])) for d in range(cells.shape[1]))
    if len(np.unique(nodes)) != len(nodes) or np.prod(box) != len(nodes):
        raise InputError("model", "rowcol", problem=f"{len(nodes)} ranks", valid="one rank on each node of a block")
    ordered = nodes[np.lexsort(cells.T[::-1])]
    lists = [
        _given(options, name, "a list separated by commas").split(",") for name in ("collectives", "splits", "sizes")
    ]
    for name, split, size in itertools.product(*lists):
        if name in patterns() and patterns()[name].in_groups:
            within = "XYZ" if split == "all" else split  # all groups of these dimensions at once
            sent = make(name, box, size_bytes=(float(size),), within=within)
            loads = model.load(topology, ordered, sent, PROTOCOL)
            ranks = int(np.prod([box["XYZ".index(letter)] for letter in within]))
            labels: dict[str, str | int] = {"collective": name, "split": split, "ranks": ranks, "size_bytes": int(size)}
            yield _series("slowest_us", 1e6 * max(loads.slowest_s, loads.slowest_host_s), labels)


PROGRAMS: Mapping[str, Callable[[Mapping[str, str], Topology, Ints], Iterator[Series]]] = {
    "halo": _halo,
    "minighost": _minighost,
    "rowcol": _rowcol,
}


def _series(fom: str, value: float, labels: Mapping[str, str | int] | None = None) -> Series:
    """Return a series of one sample."""
    return {"fom": fom, "labels": dict(labels or {}), "samples": [value]}


def _given(options: Mapping[str, str], name: str, valid: str) -> str:
    """Return the text of an option; InputError, which names the `valid` texts, without it."""
    if name not in options:
        raise InputError("model", f"--{name}", problem="missing", valid=valid)
    return options[name]


def _extents(options: Mapping[str, str], name: str) -> Grid:
    """Return the numbers of an option such as `4x4x2`; InputError without the option or for another form."""
    words = _given(options, name, "AxB or AxBxC").split("x")
    if not all(word.isdecimal() for word in words):
        raise InputError("model", f"--{name}", options[name], "AxB or AxBxC")
    return tuple(map(int, words))
