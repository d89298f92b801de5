"""Rank the algorithms of collectives three ways: by the link-load model, by simulated messages, by a virtual torus.

The model adds up the busiest link of each step, `railyard-router --simulate` the last arrival of each step, and on the
torus `railyard-collectives` executes the steps under Open MPI. Two algorithms of a collective are a clear case if they
differ by more than 10 % by the model. Leaves out the time of a step without bytes, so messages are long.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from support.mpis import algorithms, mpis
from support.mpis.installed import INSTALLED
from support.mpis.matrix import network

from railyard.placements.arrays import np
from railyard.placements.collectives import schedule as schedules
from railyard.placements.collectives.algorithms import ALGORITHMS, Shape, schedule
from railyard.placements.linkload import model
from railyard.placements.orders.placement import Placement
from railyard.torus.native import messages
from railyard.torus.native.messages import Message
from railyard.torus.plan.plan import Shape as TorusShape

SIZES = {"allreduce": 1 << 19, "bcast": 1 << 19, "allgather": 1 << 16}
SHAPE = TorusShape(rate_scale=1e-3, network="router", latency_scaled=True)
#: A smaller difference by the model is no clear case.
CLEAR = 1.1
#: With one rank on each node these are others, or need a grid.
OTHERS = frozenset({"hierarchical", "multi-rail", "bine-torus", "bine-torus-ports"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """What an algorithm takes, in s of the torus; `measured` has the samples."""

    network: str
    collective: str
    algorithm: str
    model_s: float
    simulated_s: float
    measured_s: Sequence[float] = ()


#: The roots of the three samples of a broadcast: `rowcol` takes every rank in turn, and the check before has rank 0.
ROOTS = (1, 2, 3)


def computed(placed: Placement, collective: str, algorithm: str) -> tuple[float, float]:
    """Return the times by the model and by the simulated messages; of a broadcast the median over the roots."""
    roots = ROOTS if collective == "bcast" else (0,)
    both = [_from_root(placed, collective, algorithm, root) for root in roots]
    return statistics.median(one for one, _ in both), statistics.median(other for _, other in both)


def _from_root(placed: Placement, collective: str, algorithm: str, root: int) -> tuple[float, float]:
    """Return the sums over steps by both."""
    topology = placed.allocation.topology
    index = {node.name: number for number, node in enumerate(topology.nodes)}
    nodes = np.roll(np.array([index[node.name] for node in placed.nodes], dtype=np.int64), -root)
    plan = schedule(collective, algorithm, Shape(ranks=algorithms.RANKS))
    sent = schedules.matrix_of(plan, SIZES[collective])
    by_model = by_messages = 0.0
    for phase in range(len(plan.steps)):
        traffic = sent.traffic(phase=phase)
        loads = model.load(topology, nodes, traffic, model.PROTOCOLS["payload"])
        by_model += max(loads.slowest_s, loads.slowest_host_s) / SHAPE.rate_scale
        moved = [
            Message(source=int(nodes[source]), target=int(nodes[target]), size_bytes=int(size))
            for source, target, size in zip(traffic.source, traffic.target, traffic.size_bytes, strict=True)
            if size
        ]
        if moved:
            by_messages += max(messages.arrivals_s(topology, moved, shape=SHAPE))
    return by_model, by_messages


def times(name: str, text: str) -> Iterator[Times]:
    """Yield the times of every algorithm on one network."""
    topology, torus = network(text), f"bench-rank-{name}"
    placed = algorithms.placed_on(topology)
    made = [(one, each) for one in SIZES for each in ALGORITHMS[one] if each not in OTHERS]
    choices = {f"{one}:own-{each}": (one, each) for one, each in made}
    with mpis.torus(topology, torus, SHAPE):
        found = algorithms.launched(INSTALLED[0], choices, placed, torus, sizes=SIZES)
    for choice, (document, _) in found.items():
        (samples,) = (one["samples"] for one in document["series"] if one["fom"] == "slowest_us")
        by_model, by_messages = computed(placed, *choices[choice])
        yield Times(
            network=name,
            collective=choices[choice][0],
            algorithm=choices[choice][1],
            model_s=by_model,
            simulated_s=by_messages,
            measured_s=[sample / 1e6 for sample in samples],
        )


def cases(found: Sequence[Times]) -> Iterator[Mapping[str, Any]]:
    """Yield the clear cases, with how much longer the algorithm takes that is slower by the model."""
    for one, other in itertools.combinations(found, 2):
        fast, slow = sorted((one, other), key=lambda of: of.model_s)
        is_like = (one.network, one.collective) == (other.network, other.collective)
        if is_like and slow.model_s > CLEAR * fast.model_s:
            yield {
                "network": one.network,
                "case": f"{one.collective}: {fast.algorithm} before {slow.algorithm}",
                "model": slow.model_s / fast.model_s,
                "messages": slow.simulated_s / fast.simulated_s,
                "torus": statistics.median(slow.measured_s) / statistics.median(fast.measured_s),
            }


def measure(console: Console) -> dict[str, Any]:
    """Print the times and the clear cases, and return both."""
    found: list[Times] = []
    for name, text in algorithms.NETWORKS.items():
        for one in times(name, text):
            found.append(one)
            samples = " ".join(f"{1e3 * sample:.0f}" for sample in one.measured_s)
            console.print(
                f"{name:10}{one.collective:11}{one.algorithm:20}model {1e3 * one.model_s:6.0f} ms  "
                f"messages {1e3 * one.simulated_s:6.0f} ms  torus {samples} ms"
            )
    clear = list(cases(found))
    for case in clear:
        ratios = ", ".join(f"{by} {case[by]:.2f}" for by in ("model", "messages", "torus"))
        console.print(f"{case['network']:10}{case['case']:55}{ratios}")
    for by in ("messages", "torus"):
        alike = sum(case[by] > 1 for case in clear)
        console.print(f"{by}: the model's order in {alike} of {len(clear)} clear cases")
    return {"times": [asdict(one) for one in found], "cases": clear}
