"""The node choices that need no boxes: `by-router`, `contiguous`, `random` and `scattered`."""

from __future__ import annotations

from railyard.placements.arrays import np
from railyard.placements.orders.choices import NodeChoice

CHOICES = (
    NodeChoice(
        name="by-router",
        does="one node of every router before the second of any",
        needs_coordinates=True,
        take=lambda allocation, count, number: np.sort(
            np.argsort(allocation.topology.slots[allocation.indices], kind="stable")[:count]
        ),
    ),
    NodeChoice(name="contiguous", does="the first", take=lambda allocation, count, number: np.arange(count)),
    NodeChoice(
        name="random",
        does="nodes drawn from a seed",
        argument="SEED",
        take=lambda allocation, count, number: np.sort(
            np.random.default_rng(number).permutation(len(allocation.indices))[:count]
        ),
    ),
    NodeChoice(
        name="scattered",
        does="nodes at equal steps",
        take=lambda allocation, count, number: np.arange(count) * len(allocation.indices) // count,
    ),
)
