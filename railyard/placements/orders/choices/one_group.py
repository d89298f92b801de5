"""The choice `one-group`: of the groups with room, the one with the fewest granted nodes."""

from __future__ import annotations

from railyard.placements.orders.choices import boxes
from railyard.placements.orders.choices.base import NodeChoice

CHOICE = NodeChoice(
    name="one-group",
    does="the nodes of one group",
    needs_coordinates=True,
    take=lambda allocation, count, number: boxes.one(allocation.groups, count, "group"),
)
