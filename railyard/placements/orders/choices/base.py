"""Define a node choice: a function that selects the nodes of a job that is smaller than its allocation.

A module of this folder that defines `CHOICE` is a node choice (`railyard.placements.orders.choices` finds it); nothing
else must be edited to add one. The chosen nodes stay in the scheduler's order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from railyard.placements.arrays import Ints
from railyard.placements.orders.allocation import Allocation
from railyard.placements.orders.word import Word


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeChoice(Word):
    """One node choice.

    `take(allocation, count, number)` returns the positions of `count` nodes in the allocation; `number` is the choice's
    argument, a seed or a count (0: none). It raises InputError for nodes that cannot be taken so.
    """

    take: Callable[[Allocation, int, int], Ints]
