"""The choice `contiguous`: the first nodes, as a scheduler lists them."""

from __future__ import annotations

from railyard.placements.arrays import np
from railyard.placements.orders.choices.base import NodeChoice

CHOICE = NodeChoice(
    name="contiguous",
    does="the first",
    take=lambda allocation, count, number: np.arange(count),
)
