"""The choice `random`: any nodes."""

from __future__ import annotations

from railyard.placements.arrays import np
from railyard.placements.orders.choices.base import NodeChoice

CHOICE = NodeChoice(
    name="random",
    does="nodes drawn from a seed",
    argument="SEED",
    take=lambda allocation, count, number: np.sort(
        np.random.default_rng(number).permutation(len(allocation.indices))[:count]
    ),
)
