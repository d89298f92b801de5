"""The choice `by-router`: as many routers as possible."""

from __future__ import annotations

from railyard.placements.arrays import np
from railyard.placements.orders.choices.base import NodeChoice

CHOICE = NodeChoice(
    name="by-router",
    does="one node of every router before the second of any",
    needs_coordinates=True,
    take=lambda allocation, count, number: np.sort(
        np.argsort(allocation.topology.slots[allocation.indices], kind="stable")[:count]
    ),
)
