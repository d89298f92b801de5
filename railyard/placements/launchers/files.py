"""Files that describe a placement to a launcher and a benchmark, as text. Pure: the caller writes the files."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from railyard.placements.topology import link_tests
from railyard.placements.topology.base import Coordinate, Node, Topology


def openmpi_hostfile(nodes: Sequence[Node]) -> str:
    """Open MPI host file for the sequential mapper (`--map-by seq`): line k is the node of rank k."""
    return "".join(f"{node.name}\n" for node in nodes)


def counted_hostfile(nodes: Sequence[Node]) -> str:
    """Return Slurm's host file of the nodes of all ranks: a line `NODE*COUNT` for so many ranks in a row."""
    groups = ((name, len(list(same))) for name, same in itertools.groupby(node.name for node in nodes))
    return "".join(f"{name}*{count}\n" if count > 1 else f"{name}\n" for name, count in groups)


def openmpi_default_hostfile(topology: Topology) -> str:
    """Return every node of a topology, in its order, with one slot."""
    return "".join(f"{node.name} slots=1\n" for node in topology.nodes)


def coordinates(topology: Topology, nodes: Sequence[Node] | None = None) -> str:
    """Return the coordinates file of docs/formats.md, for all nodes or some."""
    lines = [f"torus {three(topology.extents, 1)}\n"]
    lines += [f"{node.name} {three(node.coordinate, 0)}\n" for node in nodes or topology.nodes]
    return "".join(lines)


def described(topology: Topology) -> dict[str, Any]:
    """Return a topology as a record names it."""
    return {
        "name": topology.name,
        "sha256": topology.sha256,
        "extents": list(topology.extents),
        "nodes_per_router": topology.nodes_per_router,
        "rails": topology.rails,
    }


def links(topology: Topology, rail: int = 0) -> str:
    """Return the links file of docs/formats.md: class and rate of every directed link that `topobw` measures.

    Where links are not a lattice the file lists the tests, by the NICs of a rail. Raises InputError for a kind without
    wiring or fixed routes.
    """
    lines = [f"host {topology.host_rate_gbyte_s:.10g}\n"]
    for link in topology.lattice_links():
        source = f"{topology.direction(link)} {three(link.source.coordinate, 0)}"
        lines.append(f"link {source} {link.link_class} {link.rate_gbyte_s:.10g}\n")
    return "".join(lines if len(lines) > 1 else [*lines, *link_tests.lines(topology, rail)])


def three(numbers: Coordinate, rest: int) -> str:
    """Return the numbers as text, three or more: `rest` for those that a shorter coordinate lacks."""
    return " ".join(map(str, (*numbers, rest, rest)[: max(3, len(numbers))]))
