"""Which jobs does one misbehaving job hurt, by the division of the nodes (Ezell, CUG'13, section II.G)?

Eight jobs of 16 nodes share `gemini-4x4x4-two-nodes`. Seven exchange a halo, 28 KiB per face. The eighth sends an
incast, or nothing. All of it is sent at once in the router's network alone, in virtual time: buffers are finite, so
packets wait behind packets for a link that is full. A job's factor is its exchange beside the incast over that without
it. Each job has a box of routers, or nodes drawn from a seed. Leaves out time: a job exchanges once, while the incast
lasts.
"""

from __future__ import annotations

import itertools

import numpy as np
from support.packets.simulated import simulated

from railyard.placements.arrays import Ints
from railyard.placements.linkload.traffic import stencil
from railyard.placements.orders.allocation import allocate
from railyard.placements.topology import catalog
from railyard.placements.topology.base import Topology
from railyard.placements.topology.faults import Faults
from railyard.torus.native.messages import Message, of_ranks

TORUS = "gemini-4x4x4-two-nodes"
JOBS = 8
GRID = (4, 2, 2)
FACE_BYTES = 28.0 * 1024
#: Bytes that each node of the incast but the first has to send: more than the link that is full carries meanwhile.
LOAD_BYTES = 1 << 20
SEED = 1


def divided(topology: Topology, seed: int | None) -> list[Ints]:
    """Return the nodes of each job: boxes of 2x2x2 routers without a seed, else nodes drawn from it."""
    if seed is None:
        job = np.ravel_multi_index(tuple((topology.node_coordinates // 2).T), (2, 2, 2))
        return [np.flatnonzero(job == number) for number in range(JOBS)]
    nodes = allocate(topology, "random", seed=seed).indices
    return [nodes[number::JOBS] for number in range(JOBS)]


def factors(seed: int | None, percent: float = 100.0) -> list[float]:
    """Return the factor of each job but the first, whose NICs send the incast at a share of their rate."""
    topology = catalog.load(TORUS)
    jobs = divided(topology, seed)
    halos = [of_ranks(nodes, stencil(GRID, (FACE_BYTES,))) for nodes in jobs[1:]]
    exchanges = list(itertools.chain.from_iterable(halos))
    receiver, *senders = jobs[0].tolist()
    incast = [Message(source=node, target=receiver, size_bytes=LOAD_BYTES) for node in senders]
    throttled = Faults().throttle(tuple(topology.nodes[node] for node in jobs[0]), percent)
    alone = simulated(topology, exchanges).arrivals_s
    beside = simulated(topology, [*incast, *exchanges], faults=throttled).arrivals_s[len(incast) :]
    ends = itertools.accumulate(map(len, halos), initial=0)
    return [max(beside[begin:end]) / max(alone[begin:end]) for begin, end in itertools.pairwise(ends)]


def cycle(nodes: Ints, size_bytes: int) -> list[Message]:
    """Return one message from each node to the next one of a random order."""
    order = np.random.default_rng(SEED).permutation(nodes)
    pairs = zip(order.tolist(), np.roll(order, -1).tolist(), strict=True)
    return [Message(source=one, target=other, size_bytes=size_bytes) for one, other in pairs]
