"""The choice `even-groups:K`: equally many nodes of the K groups with the most granted nodes."""

from __future__ import annotations

from railyard.base.errors import InputError
from railyard.placements.arrays import Ints, np
from railyard.placements.orders.allocation import Allocation
from railyard.placements.orders.choices import boxes
from railyard.placements.orders.choices.base import NodeChoice


def take(allocation: Allocation, count: int, parts: int) -> Ints:
    """Return positions of `count` nodes, one more in the first groups if need be; InputError if a group has fewer."""
    groups = allocation.groups
    fullest, sizes = boxes.fullest(groups, parts)
    shares = np.array([count // parts + (k < count % parts) for k in range(parts)])
    if len(fullest) < parts or (sizes < shares).any():
        valid = f"at most as were granted: {', '.join(map(str, sizes))}"
        raise InputError("placement", f"nodes in each of {parts} groups", int(shares[0]), valid)
    nodes = [np.flatnonzero(groups == group)[:share] for group, share in zip(fullest, shares, strict=True)]
    return np.sort(np.concatenate(nodes))


CHOICE = NodeChoice(
    name="even-groups",
    does="equally many nodes of K groups",
    argument="K",
    needs_argument=True,
    needs_coordinates=True,
    take=take,
)
