"""Prove by counted bytes which algorithm a collective used.

Models: the bytes that each algorithm's matrix puts on every link between routers, and on those of each node, headers
included, for as many calls as the program made. What was counted is one of them within `TOLERANCE`, or none. Algorithms
whose matrices load the links alike cannot be told from each other. Leaves out what else a program sends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from railyard.base.errors import InputError
from railyard.placements.arrays import Floats, Ints, np
from railyard.placements.collectives import algorithms
from railyard.placements.collectives import schedule as schedules
from railyard.placements.collectives.algorithms import ALGORITHMS, Shape
from railyard.placements.linkload import model
from railyard.placements.linkload.matrix import Matrix
from railyard.placements.topology.base import Topology

#: The most by which counted and predicted bytes may differ, as a share of those counted.
TOLERANCE = 0.05

#: Calls of a program, by collective and size.
Calls = Mapping[tuple[str, int], int]


@dataclass(frozen=True, kw_only=True, eq=False)
class Counted:
    """Bytes of links by name, and sent and received by each node (shape (nodes,)); `nodes` are those of the ranks.

    Without links, as on a machine whose switches nobody counts, the nodes' bytes alone are compared.
    """

    topology: Topology
    nodes: Ints
    links: Mapping[str, float]
    sent: Floats
    received: Floats

    @property
    def values(self) -> Floats:
        """Return all counts in one array."""
        return np.r_[list(self.links.values()), self.sent, self.received]

    def predicted(self, matrix: Matrix) -> Floats:
        """Return the same of a matrix."""
        traffic = matrix.on_wire()
        loads = model.load(self.topology, self.nodes, traffic, model.PROTOCOLS["payload"])
        places = [self.topology.link_places[name] for name in self.links]
        return np.r_[loads.link_bytes.flat[places], loads.host_out_bytes, loads.host_in_bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """An algorithm, and the difference between the bytes counted and its own as a share of those counted."""

    algorithm: str
    difference: float


def fits(counted: Counted, calls: Calls, shape: Shape) -> list[Fit]:
    """Return the algorithms of the program's one collective, the most like first; those made for no such shape are out.

    Raises InputError for a program with several collectives: their bytes cannot be told apart.
    """
    collectives = {collective for collective, _ in calls}
    if len(collectives) != 1:
        raise InputError("collectives", "", ", ".join(sorted(collectives)), "a program with one")
    (collective,) = collectives
    values = counted.values
    rows = []
    for name in ALGORITHMS[collective]:
        try:
            made = algorithms.schedule(collective, name, shape)
        except InputError:
            continue
        predicted = sum(counted.predicted(one) for one in _sent(made, calls))
        rows.append(
            Fit(algorithm=name, difference=float(np.abs(values - predicted).sum() / max(values.sum(), 1)))
        )
    return sorted(rows, key=lambda row: row.difference)


def _sent(made: schedules.Schedule, calls: Calls) -> Iterator[Matrix]:
    """Yield what the calls of each size send; the root of broadcasts is every rank in turn."""
    for (_, size_bytes), count in calls.items():
        matrix = schedules.matrix_of(made, size_bytes)
        turns = range(made.ranks) if made.collective == "bcast" else range(1)
        for turn in turns:
            share = count / len(turns)
            yield replace(
                matrix,
                source=(matrix.source + turn) % made.ranks,
                target=(matrix.target + turn) % made.ranks,
                messages=matrix.messages * share,
                size_bytes=matrix.size_bytes * share,
            )


def judge(wanted: str, rows: Sequence[Fit]) -> tuple[bool | None, str]:
    """Return whether the bytes are those of an algorithm, None for cannot tell, and the reason in one line."""
    like = [row.algorithm for row in rows if row.difference <= TOLERANCE]
    if not wanted:
        return None, f"railyard has no matrix of it; the bytes are {named(rows)}"
    if wanted not in {row.algorithm for row in rows}:
        return None, f"railyard has no matrix of {wanted} for these ranks; the bytes are {named(rows)}"
    if wanted not in like:
        own = next(row.difference for row in rows if row.algorithm == wanted)
        return False, f"the bytes differ from those of {wanted} by {own:.0%}: they are {named(rows)}"
    if len(like) > 1:
        return None, f"the bytes are {named(rows)}"
    return True, ""


def named(rows: Sequence[Fit]) -> str:
    """Return which algorithm the bytes are of, in words."""
    like = [f"{row.algorithm}'s" for row in rows if row.difference <= TOLERANCE]
    if like:
        return " and ".join(like)
    nearest = f", {rows[0].algorithm}'s differ by {rows[0].difference:.0%}" if rows else ""
    return f"no known algorithm's{nearest}"
