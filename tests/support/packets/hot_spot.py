"""Which jobs does one misbehaving job hurt, by the division of the nodes and its pattern (Ezell, CUG'13, section II.G)?

Eight jobs of 16 nodes share `gemini-4x4x4-two-nodes`. Seven exchange a halo, 28 KiB per face. The eighth sends an
incast, an alltoall, a permutation or a halo of large messages, or nothing. All of it is sent at once in the router's
network alone, in virtual time: buffers are finite, so packets wait behind packets for a link that is full. A job's
factor is its exchange beside the eighth job over that without it. Each job has a box of routers, every eighth node in
the order X, Y, Z (one node of each router of a plane), or nodes drawn from a seed.

The row with 5 % throttles the eighth job's NICs to that share of their rate, as Cray's daemon does. Leaves out time: a
job exchanges once, while the load lasts.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from railyard.placements.arrays import Ints
from railyard.placements.linkload.traffic import stencil
from railyard.placements.orders.allocation import allocate
from railyard.placements.topology import catalog
from railyard.placements.topology.base import Topology
from railyard.placements.topology.faults import Faults
from railyard.torus.native.messages import Message, arrivals_s, of_ranks

TORUS = "gemini-4x4x4-two-nodes"
JOBS = 8
GRID = (4, 2, 2)
FACE_BYTES = 28 * 1024
#: Bytes that each node of the load has to send: more than the link that is full carries meanwhile.
LOAD_BYTES = 1 << 20
DIVISIONS = ("boxes", "planes", "random")
LOADS = ("incast", "alltoall", "permutation", "halo")
THROTTLED_PERCENT = 5.0
#: A job is hurt from this factor on.
HURT = 1.1
SEED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One load under one division: the factor of each other job, and the load's share of its NICs' rate."""

    injection_percent: float
    factors: tuple[float, ...]

    @property
    def hurt(self) -> int:
        """Return how many jobs take `HURT` times as long, or longer."""
        return sum(factor >= HURT for factor in self.factors)


def divide(topology: Topology, rule: str, seed: int) -> list[Ints]:
    """Return the nodes of each job: boxes of 2x2x2 routers, every eighth node, or a random part."""
    if rule == "boxes":
        corner = topology.node_coordinates // 2
        job = np.ravel_multi_index(tuple(corner.T), (2, 2, 2))
        return [np.flatnonzero(job == number) for number in range(JOBS)]
    order = "contiguous" if rule == "planes" else "random"
    nodes = allocate(topology, order, seed=seed).indices
    return [nodes[number::JOBS] for number in range(JOBS)]


def halo(nodes: Ints, size_bytes: int) -> list[Message]:
    """Return one exchange of six faces; rank k is on the k-th node."""
    return of_ranks(nodes, stencil(GRID, (float(size_bytes),)))


def cycle(nodes: Ints, size_bytes: int) -> list[Message]:
    """Return one message from each node to the next one of a random order."""
    order = np.random.default_rng(SEED).permutation(nodes)
    pairs = zip(order.tolist(), np.roll(order, -1).tolist(), strict=True)
    return [Message(source=one, target=other, size_bytes=size_bytes) for one, other in pairs]


def load(nodes: Ints, pattern: str) -> list[Message]:
    """Return what the misbehaving job sends: `LOAD_BYTES` from each node, of an incast from all but the first."""
    ranks = range(len(nodes))
    match pattern:
        case "incast":
            return [_message(nodes, rank, 0, LOAD_BYTES) for rank in ranks[1:]]
        case "alltoall":
            size = LOAD_BYTES // (len(nodes) - 1)
            return [_message(nodes, rank, other, size) for rank in ranks for other in ranks if other != rank]
        case "permutation":
            return cycle(nodes, LOAD_BYTES)
        case _:
            return halo(nodes, LOAD_BYTES // 6)


def _message(nodes: Ints, source: int, target: int, size_bytes: int) -> Message:
    return Message(source=int(nodes[source]), target=int(nodes[target]), size_bytes=size_bytes)


def exchanges_s(topology: Topology, jobs: Sequence[Ints], loaded: Sequence[Message], faults: Faults) -> list[float]:
    """Return the seconds of the exchange of each job but the first, beside what the first one sends."""
    halos = [halo(nodes, FACE_BYTES) for nodes in jobs[1:]]
    arrived = arrivals_s(topology, [*loaded, *(one for job in halos for one in job)], faults=faults)
    ends = np.cumsum([len(loaded), *map(len, halos)])
    return [max(arrived[begin:end]) for begin, end in itertools.pairwise(ends)]


def rows(divisions: Mapping[str, Sequence[int]], loads: Sequence[str]) -> Iterator[Row]:
    """Yield each load under each division (a rule with its seeds), then the first load throttled."""
    topology = catalog.load(TORUS)
    cases = [(pattern, 100.0) for pattern in loads] + [(loads[0], THROTTLED_PERCENT)]
    for rule, seeds in divisions.items():
        divided = [divide(topology, rule, seed) for seed in seeds]
        for pattern, percent in cases:
            factors = tuple(one for jobs in divided for one in _factors(topology, jobs, pattern, percent))
            yield Row(injection_percent=percent, factors=factors)


def _factors(topology: Topology, jobs: Sequence[Ints], pattern: str, percent: float) -> list[float]:
    """Return the factor of each job but the first, whose NICs send at a share of their rate."""
    offending = tuple(topology.nodes[node] for node in jobs[0])
    alone = exchanges_s(topology, jobs, [], Faults())
    beside = exchanges_s(topology, jobs, load(jobs[0], pattern), Faults().throttle(offending, percent))
    return [one / other for one, other in zip(beside, alone, strict=True)]
