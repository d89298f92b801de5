"""The choice `random-switches`: switches in a random order, each filled before the next."""

from __future__ import annotations

from railyard.placements.orders.choices import boxes
from railyard.placements.orders.choices.base import NodeChoice

CHOICE = NodeChoice(
    name="random-switches",
    does="whole switches in an order drawn from a seed",
    argument="SEED",
    needs_coordinates=True,
    take=lambda allocation, count, number: boxes.shuffled(allocation.switches, count, number),
)
