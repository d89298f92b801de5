"""The choice `few-groups:K`: the K groups with the most granted nodes, each filled before the next."""

from __future__ import annotations

from railyard.base.errors import InputError
from railyard.placements.arrays import Ints
from railyard.placements.orders.allocation import Allocation
from railyard.placements.orders.choices import boxes
from railyard.placements.orders.choices.base import NodeChoice


def take(allocation: Allocation, count: int, most: int) -> Ints:
    """Return positions of `count` nodes in the `most` fullest groups; InputError when these have fewer."""
    fullest, sizes = boxes.fullest(allocation.groups, most)
    if sizes.sum() < count:
        valid = f"at most {sizes.sum()}, as were granted"
        raise InputError("placement", f"nodes in {most} groups", count, valid)
    return boxes.fill(allocation.groups, fullest, count)


CHOICE = NodeChoice(
    name="few-groups",
    does="the K fullest groups, one after another",
    argument="K",
    needs_argument=True,
    needs_coordinates=True,
    take=take,
)
