"""A placement by its name, the same everywhere: `ORDER[:ARGUMENT][@CHOICE[:SEED]][/BINDING][+LOAD]`.

    custom                     the order custom, on the first nodes granted, without binding
    blocks:2x2x4               blocks of 2x2x4 ranks of the grid, one per node
    random:7@scattered/core    in an order drawn from seed 7, on nodes spread over the allocation, one core per rank
    plain+incast               as plain, while the load incast runs on other nodes of the job

Leaves out what the words do: `railyard.placements.orders.rank_orders` (order), `railyard.placements.orders.choices`
(choice), `railyard.placements.hosts.node` (binding), `railyard.jobs.roles` (load).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from railyard.base.errors import InputError
from railyard.placements.hosts.node import Binding
from railyard.placements.orders.choices import DEFAULT, NodeChoice, choices
from railyard.placements.orders.rank_orders import RankOrder, orders

#: Names of loads, one or several with a full stop between.
LOAD = re.compile(r"[a-z][a-z0-9-]*(\.[a-z][a-z0-9-]*)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """The parts of a placement's name. `argument` is empty where the order has none.

    `choice_number` is the number after the choice's name: a seed, or a count. `load` is empty for a program that has
    the job's network for itself.
    """

    order: RankOrder
    argument: str = ""
    choice: NodeChoice
    choice_number: int | None = None
    binding: Binding = Binding.NONE
    load: str = ""

    @property
    def needs_coordinates(self) -> bool:
        """Return whether the placement is undefined on a machine whose nodes have no known coordinates."""
        return self.order.needs_coordinates or self.choice.needs_coordinates

    def seed(self, default: int | None) -> int | None:
        """Return the seed of the order in the name, or the default."""
        return _integer("seed", self.argument) if self.order.has_seed and self.argument else default


def parse(text: str) -> Spec:
    """Return the parts of a placement's name; InputError names the part that is wrong and what it may be."""
    alone, load = split_load(text)
    rest, binding = _split_last(alone, "/", set(Binding))
    rest, chosen = _split_last(rest, "@", choices())
    name, _, argument = rest.partition(":")
    if name not in orders():
        raise InputError("placement", "", text, f"{words()}; then @{'|'.join(choices())}, /{'|'.join(Binding)}")
    order = orders()[name]
    if argument and not order.argument:
        raise InputError("placement", "", text, f"{order} without an argument")
    if order.needs_argument and not argument:
        raise InputError("placement", "", text, order.form)
    choice_name, _, number = chosen.partition(":")
    choice = choices()[choice_name or DEFAULT]
    if choice.needs_argument and (not number.isdecimal() or int(number) < 1):
        raise InputError("placement", "", text, f"@{choice}:K with K a number, at least 1")
    spec = Spec(
        order=order,
        argument=argument,
        choice=choice,
        choice_number=_integer(f"@{choice}", number) if number else None,
        binding=Binding(binding or Binding.NONE),
        load=load,
    )
    spec.seed(None)
    return spec


def split_load(text: str) -> tuple[str, str]:
    """Return a placement's name without its load, and the load; a file's name is taken whole."""
    order = orders().get(text.partition(":")[0])
    if order and order.argument == "PATH":
        return text, ""
    before, _, after = text.rpartition("+")
    return (before, after) if before and LOAD.fullmatch(after) else (text, "")


def words() -> str:
    """Return the orders with their arguments, for messages and help."""
    return ", ".join(order.form for order in orders().values())


def _split_last(text: str, mark: str, names: Collection[str]) -> tuple[str, str]:
    """Return the text before and after the last mark, if a known name (with or without `:N`) follows the mark."""
    before, _, after = text.rpartition(mark)
    return (before, after) if before and after.partition(":")[0] in names else (text, "")


def _integer(field: str, text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise InputError("placement", field, text, "an integer of 0 or more")
    return value
