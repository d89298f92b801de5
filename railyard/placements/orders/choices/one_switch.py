"""The choice `one-switch`: of the switches with room, the one with the fewest granted nodes."""

from __future__ import annotations

from railyard.placements.orders.choices import boxes
from railyard.placements.orders.choices.base import NodeChoice

CHOICE = NodeChoice(
    name="one-switch",
    does="the nodes of one switch",
    needs_coordinates=True,
    take=lambda allocation, count, number: boxes.one(allocation.switches, count, "switch"),
)
