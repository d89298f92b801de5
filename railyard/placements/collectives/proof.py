"""Prove by counted bytes which algorithm a collective used.

Models: the bytes that each algorithm's matrix puts on every link between routers, and on those of each node, headers
included, for as many calls as the program made. What was counted is one of them within `TOLERANCE`, or none. Algorithms
whose matrices load the links alike cannot be distinguished. Leaves out what else a program sends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from railyard.base.errors import InputError
from railyard.placements.arrays import Floats, Ints, np
from railyard.placements.collectives import algorithms
from railyard.placements.collectives import schedule as schedules
from railyard.placements.collectives.algorithms import ALGORITHMS, Shape
from railyard.placements.collectives.schedule import Schedule, Steps
from railyard.placements.linkload import matrix as matrices
from railyard.placements.linkload import model
from railyard.placements.linkload.matrix import Matrix
from railyard.placements.topology.base import Topology

#: The most by which counted and predicted bytes may differ, as a share of those counted, after all predicted ones are
#: raised by one factor of at most `HEADERS`: headers and set-up of other libraries than Open MPI are larger.
TOLERANCE = 0.05
HEADERS = 1.1

#: The figure of merit of a benchmark that counts its calls.
CALLS = "calls_count"
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
        return np.concatenate([np.array([*self.links.values()], dtype=np.float64), self.sent, self.received])

    def predicted(self, matrix: Matrix) -> Floats:
        """Return the same of a matrix."""
        traffic = matrix.on_wire()
        loads = model.load(self.topology, self.nodes, traffic, model.PROTOCOLS["payload"])
        places = [self.topology.link_places[name] for name in self.links]
        links = loads.link_bytes.ravel()[np.array(places, dtype=np.int64)]
        return np.concatenate([links, loads.host_out_bytes, loads.host_in_bytes])


def counted(topology: Topology, hosts: Sequence[str], evidence: Mapping[str, Any]) -> Counted:
    """Return the bytes in a launch's evidence (docs/formats.md) on nodes of a topology; `hosts` are those of the ranks.

    Links are compared where their routes are fixed and there is one rail.
    """
    index = {node.name: number for number, node in enumerate(topology.nodes)}
    sent, received = np.zeros(len(index)), np.zeros(len(index))
    for row in evidence["nics"]:
        if row["node"] in index:
            sent[index[row["node"]]] += row["tx_bytes"]
            received[index[row["node"]]] += row["rx_bytes"]
    is_fixed = topology.rails == 1 and topology.is_static
    rows = evidence.get("links", ()) if is_fixed else ()
    links = {row["name"]: float(row["bytes"]) for row in rows if row["name"] in topology.link_places}
    nodes = np.array([index[host] for host in hosts], dtype=np.int64)
    return Counted(topology=topology, nodes=nodes, links=links, sent=sent, received=received)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """An algorithm, the factor of its predicted bytes, and the difference that is left as a share of those counted."""

    algorithm: str
    factor: float
    difference: float


def fits(counted: Counted, calls: Calls, shape: Shape) -> list[Fit]:
    """Return the algorithms of the program's one collective that fit its shape, the most similar bytes first.

    Raises InputError for a program with several collectives: only their sum was counted.
    """
    collectives = {collective for collective, _ in calls}
    if len(collectives) != 1:
        raise InputError("collectives", "", ", ".join(sorted(collectives)), "a program with one")
    (collective,) = collectives
    values = counted.values
    rows = []
    seen: list[Steps] = []
    for name in ALGORITHMS[collective]:
        try:
            plan = algorithms.schedule(collective, name, shape)
        except InputError:
            continue
        if plan.steps in seen:
            continue  # as `hierarchical` with one rank on each node
        seen.append(plan.steps)
        predicted = counted.predicted(sent(plan, calls))
        factor = min(max(float(values.sum() / max(predicted.sum(), 1.0)), 1.0), HEADERS)
        error_bytes = float(np.abs(values - factor * predicted).sum())
        difference = error_bytes / max(float(values.sum()), 1.0)
        rows.append(Fit(algorithm=name, factor=factor, difference=difference))
    return sorted(rows, key=lambda row: row.difference)


def sent(plan: Schedule, calls: Calls) -> Matrix:
    """Return what all calls send; the root of broadcasts is every rank in turn."""
    parts = []
    turns = plan.ranks if plan.collective == "bcast" else 1
    for (_, size_bytes), count in calls.items():
        one = schedules.matrix_of(plan, size_bytes)
        for turn in range(turns):
            own = count // turns + (turn < count % turns)
            amounts = own * np.stack([one.messages[:, 0], one.size_bytes[:, 0]], axis=1)
            ends = (np.stack([one.source, one.target], axis=1) + turn) % plan.ranks
            parts.append(np.hstack([0 * ends[:, :1], ends, amounts, np.zeros((len(ends), 4))]))
    return matrices.of_rows(np.vstack(parts), plan.ranks)


def calls_of(series: Iterable[tuple[str, Mapping[str, Any], Sequence[float]]]) -> dict[tuple[str, int], int]:
    """Return the calls in series of a benchmark: figure of merit, labels, samples."""
    calls: Counter[tuple[str, int]] = Counter()
    for fom, labels, samples in series:
        if fom == CALLS:
            calls[str(labels["collective"]), int(labels["size_bytes"])] += int(samples[0])
    return calls


def judge(wanted: str, rows: Sequence[Fit]) -> tuple[bool | None, str]:
    """Return whether the bytes are those of an algorithm, None if that is not certain, and the reason in one line."""
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
    """Return in words which algorithm sends these bytes."""
    like = [f"{row.algorithm}'s" for row in rows if row.difference <= TOLERANCE]
    if like:
        return " and ".join(like)
    nearest = f", {rows[0].algorithm}'s differ by {rows[0].difference:.0%}" if rows else ""
    return f"no known algorithm's{nearest}"
