"""The link-load model in a benchmark's place: what a program would report if links were all that takes time.

`halo`, `rowcol` and `minighost` (a 27-point stencil; Pedretti et al., CUG'13, section VI) with the options that a check
gives them. A figure is the seconds of the slowest link, of routers or of nodes, under the protocol `gemini-put`. The
document is a benchmark's (docs/formats.md), of which nothing is verified, because no data moved. Leaves out latency,
packing, and every option that does not change the traffic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from placements.arrays import Ints, NDArray, np
from placements.linkload import model, traffic
from placements.linkload.model import LinkLoads
from placements.linkload.traffic import Grid, Traffic
from placements.topology.base import Topology
from railyard import __version__
from railyard.base.errors import InputError

PROTOCOL = model.PROTOCOLS["gemini-put"]
PATTERNS = ("alltoall", "allgather", "allreduce")
#: Axes of a torus's loads: the router's X, Y and Z, dimension, direction.
TORUS_AXES = 5

Series = dict[str, Any]


def document(program: Sequence[str], topology: Topology, nodes: Ints) -> dict[str, Any]:
    """Return what the program's --json would hold, rank k on node `nodes[k]` (index into `topology.nodes`).

    Raises InputError for a program that the model has no traffic for, or an option that it cannot read.
    """
    name, options = program[0], _options(program[1:])
    if name not in PROGRAMS:
        raise InputError("model", "PROGRAM", name, ", ".join(PROGRAMS))
    ranks = [{"rank": rank, "host": topology.nodes[node].name} for rank, node in enumerate(nodes.tolist())]
    return {
        "format": "railyard-benchmark/1",
        "benchmark": name,
        "version": __version__,
        "parameters": {},
        "mpi": {"library": "none: link-load model", "standard": "none", "ranks": len(nodes)},
        "verified": None,
        "ranks": ranks,
        "series": list(PROGRAMS[name](options, topology, nodes)),
    }


def _options(words: Sequence[str]) -> Mapping[str, str]:
    """`--name value` pairs; InputError for anything else."""
    names, values = words[::2], words[1::2]
    for name in names:
        if not name.startswith("--"):
            raise InputError("model", "option", name, "--NAME VALUE, as a check writes it")
    return {name.removeprefix("--"): value for name, value in zip(names, values, strict=False)}


def _halo(options: Mapping[str, str], topology: Topology, nodes: Ints) -> Iterator[Series]:
    grid, cells = _extents(options, "grid"), _extents(options, "cells")
    size = traffic.face_bytes(cells[0], len(grid), 8 * int(options.get("values", "1")))
    loads = _loads(topology, nodes, traffic.make("stencil6", grid, size_bytes=size))
    yield _series("exchange_us", 1e6 * _slowest_s(loads))


def _minighost(options: Mapping[str, str], topology: Topology, nodes: Ints) -> Iterator[Series]:
    grid, cells = _extents(options, "grid"), _extents(options, "cells")
    sent = traffic.make("stencil27", grid, size_bytes=traffic.face_bytes(cells[0], len(grid)))
    loads = _loads(topology, nodes, sent)
    yield _series("injected_bytes", float(loads.injected_bytes[loads.injected_bytes > 0].mean()))
    yield _series("most_injected_bytes", float(loads.injected_bytes.max(initial=0.0)))
    yield _series("slowest_link_us", 1e6 * loads.slowest_s)
    for dimension, link_s in _by_dimension(loads).items():
        yield _series("slowest_of_dimension_us", 1e6 * float(link_s.max()), {"dimension": dimension})
        yield _series("mean_of_dimension_us", 1e6 * float(link_s.mean()), {"dimension": dimension})


def _by_dimension(loads: LinkLoads) -> Mapping[str, NDArray[np.float64]]:
    """Seconds of every link along each dimension of a torus (Pedretti et al., Figure 7); empty for other networks."""
    if loads.link_s.ndim != TORUS_AXES:
        return {}
    there = loads.rate_gbyte_s > 0
    along = {letter: loads.link_s[:, :, :, d][there[:, :, :, d]] for d, letter in enumerate("XYZ")}
    return {letter: link_s for letter, link_s in along.items() if link_s.size}


def _rowcol(options: Mapping[str, str], topology: Topology, nodes: Ints) -> Iterator[Series]:
    at = topology.cells(nodes)
    box = tuple(len(np.unique(at[:, d])) for d in range(at.shape[1]))
    if len(np.unique(nodes)) != len(nodes) or np.prod(box) != len(nodes):
        raise InputError(
            "model", "rowcol", problem=f"{len(nodes)} ranks", valid="one rank on each node of a block"
        )
    ordered = nodes[np.lexsort(at.T[::-1])]
    for name in _words(options, "collectives"):
        for split in _words(options, "splits"):
            for size in map(int, _words(options, "sizes")):
                if name in PATTERNS:
                    yield _collective(name, split, size, box=box, topology=topology, nodes=ordered)


def _collective(name: str, split: str, size: int, *, box: Grid, topology: Topology, nodes: Ints) -> Series:
    within = "XYZ" if split == "all" else split
    loads = _loads(topology, nodes, traffic.make(name, box, size_bytes=(float(size),), within=within))
    ranks = int(np.prod([box["XYZ".index(letter)] for letter in within]))
    labels: dict[str, str | int] = {"collective": name, "split": split, "ranks": ranks, "size_bytes": size}
    return _series("slowest_us", 1e6 * _slowest_s(loads), labels)


PROGRAMS: Mapping[str, Callable[[Mapping[str, str], Topology, Ints], Iterator[Series]]] = {
    "halo": _halo,
    "minighost": _minighost,
    "rowcol": _rowcol,
}


def _loads(topology: Topology, nodes: Ints, sent: Traffic) -> LinkLoads:
    return model.load(topology, nodes, sent, PROTOCOL)


def _slowest_s(loads: LinkLoads) -> float:
    return max(loads.slowest_s, loads.slowest_host_s)


def _series(fom: str, value: float, labels: Mapping[str, str | int] | None = None) -> Series:
    return {"fom": fom, "labels": dict(labels or {}), "samples": [value]}


def _words(options: Mapping[str, str], name: str) -> list[str]:
    if name not in options:
        raise InputError("model", f"--{name}", problem="missing", valid="a list with commas between")
    return options[name].split(",")


def _extents(options: Mapping[str, str], name: str) -> Grid:
    if name not in options:
        raise InputError("model", f"--{name}", problem="missing", valid="AxB or AxBxC")
    words = options[name].split("x")
    if not all(word.isdecimal() for word in words):
        raise InputError("model", f"--{name}", options[name], "AxB or AxBxC")
    return tuple(map(int, words))
