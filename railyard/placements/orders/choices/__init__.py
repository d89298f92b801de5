"""Node choices, one module each: `CHOICE` is a `NodeChoice` of `base`. docs/placements.md lists them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from railyard.base.errors import InputError
from railyard.base.members import members
from railyard.placements.orders.allocation import Allocation, taken
from railyard.placements.orders.choices.base import NodeChoice

#: The choice of a placement that names none.
DEFAULT = "contiguous"


@cache
def choices() -> Mapping[str, NodeChoice]:
    """Return the node choices by name."""
    return {choice.name: choice for choice in members(__name__, "CHOICE")}


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
        raise InputError(
            "placement",
            "",
            problem=f"the node choice {choice} has no {lacks}",
            valid=f"{choice}:{choice.argument}, such as {choice}:1{instead}",
        )
    return taken(allocation, choice.take(allocation, count, number or 0))
