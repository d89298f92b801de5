"""Node choices: functions that select the nodes of a job that is smaller than its allocation.

docs/placements.md lists them. A module of this folder that defines `CHOICE`, or several in a tuple `CHOICES`, is found
by `choices`; nothing else must be edited to add one. The chosen nodes stay in the scheduler's order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from railyard.base.errors import InputError
from railyard.base.members import members
from railyard.placements.arrays import Ints
from railyard.placements.orders.allocation import Allocation, taken
from railyard.placements.orders.word import Word

#: The choice of a placement that names none.
DEFAULT = "contiguous"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeChoice(Word):
    """One node choice.

    `take(allocation, count, number)` returns the positions of `count` nodes in the allocation; `number` is the choice's
    argument, a seed or a count (0: none). It raises InputError for nodes that cannot be taken so.
    """

    take: Callable[[Allocation, int, int], Ints]


@cache
def choices() -> Mapping[str, NodeChoice]:
    """Return the node choices by name."""
    ordered = sorted(members(__name__, "CHOICE", "CHOICES"), key=str)
    return {choice.name: choice for choice in ordered}


def choose(allocation: Allocation, count: int, name: str = DEFAULT, number: int | None = None) -> Allocation:
    """Return `count` of an allocation's nodes, in its order; `number` is the argument of the choice of that name.

    Raises InputError for more nodes than are granted, for a choice without its argument, and for nodes that the choice
    cannot take.
    """
    choice, granted = choices()[name], len(allocation.indices)
    if count > granted:
        raise InputError("placement", "nodes", count, f"at most the {granted} nodes granted")
    if choice.argument and number is None:
        lacks, instead = ("seed", " or --seed SEED") if choice.has_seed else ("number", "")
        problem = f"the node choice {choice} has no {lacks}"
        valid = f"{choice}:{choice.argument}, such as {choice}:1{instead}"
        raise InputError("placement", "", problem=problem, valid=valid)
    return taken(allocation, choice.take(allocation, count, number or 0))
