"""The choice `random-groups`: groups in a random order, each filled before the next."""

from __future__ import annotations

from railyard.placements.orders.choices import boxes
from railyard.placements.orders.choices.base import NodeChoice

CHOICE = NodeChoice(
    name="random-groups",
    does="whole groups in an order drawn from a seed",
    argument="SEED",
    needs_coordinates=True,
    take=lambda allocation, count, number: boxes.shuffled(allocation.groups, count, number),
)
