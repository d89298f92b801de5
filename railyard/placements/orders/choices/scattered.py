"""The choice `scattered`: nodes spread evenly over the allocation."""

from __future__ import annotations

from railyard.placements.arrays import np
from railyard.placements.orders.choices.base import NodeChoice

CHOICE = NodeChoice(
    name="scattered",
    does="nodes at equal steps",
    take=lambda allocation, count, number: np.arange(count) * len(allocation.indices) // count,
)
