"""A placement by its name, the same everywhere: `ORDER[:ARGUMENT][@CHOICE[:SEED]][/BINDING][+LOAD]`.

    custom                     the order custom, on the first nodes granted, without binding
    blocks:2x2x4               blocks of 2x2x4 ranks of the grid, one a node
    random:7@scattered/core    in an order drawn from seed 7, on nodes spread over the allocation, a core each
    plain+incast               as plain, while the load incast runs on other nodes of the job

Leaves out what the words do: `placements.orders.fixed` (order), `placements.orders.allocation` (choice),
`placements.hosts.binding` (binding), `railyard.jobs.roles` (load).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from placements.hosts.binding import Binding
from placements.orders.allocation import Choice
from railyard.base.errors import InputError


class Kind(StrEnum):
    """The rank orders there are."""

    PLAIN = "plain"
    CART_CREATE = "cart-create"
    CUSTOM = "custom"
    SNAKE = "snake"
    BLOCKS = "blocks"
    HILBERT = "hilbert"
    RANDOM = "random"
    SCHEDULER = "scheduler"
    BY_GROUP = "by-group"
    BY_SWITCH = "by-switch"
    FILE = "file"
    OPTIMISED = "optimised"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What an order does, and after whose work or under which name it is known; both for docs/placements.md."""

    does: str
    after: str = ""


ORDERS: Mapping[Kind, Order] = {
    Kind.PLAIN: Order(
        does="grid positions, first dimension fastest, take the slots in order", after='Peña et al., "Plain"'
    ),
    Kind.CART_CREATE: Order(
        does="rank k takes slot k; MPI_Cart_create's own reordering is the identity in Open MPI, MPICH and SMPI",
        after='"Cart_create"',
    ),
    Kind.CUSTOM: Order(
        does="the grid laid over a whole block of the torus, so that grid neighbours become torus neighbours; "
        "both nodes of a router count along Y",
        after='"Custom"',
    ),
    Kind.SNAKE: Order(
        does="rank k takes slot k of the nodes sorted along ALPS's walk, 4x2x8 routers at a time; `snake:8x8x8` is its "
        "first rule",
        after="ALPS",
    ),
    Kind.BLOCKS: Order(
        does="each node takes a box of the grid; the nodes of a router take boxes that share their largest face",
        after="Pedretti et al., 1x1x16 to 2x2x4",
    ),
    Kind.HILBERT: Order(
        does="the grid along its Hilbert curve onto the nodes along theirs", after="Skilling 2004"
    ),
    Kind.RANDOM: Order(does="an order drawn from a seed"),
    Kind.SCHEDULER: Order(
        does="the same as `cart-create`; the launcher gets the chosen nodes and fills them in its own block order"
    ),
    Kind.BY_GROUP: Order(
        does="rank k takes slot k of the nodes sorted by group; within a group the scheduler's order stays"
    ),
    Kind.BY_SWITCH: Order(does="the same, sorted by group and switch"),
    Kind.FILE: Order(does="line k of a host file is the node of rank k"),
    Kind.OPTIMISED: Order(
        does="a search for the placement whose slowest link takes the fewest seconds, on the very nodes granted"
    ),
}
ARGUMENTS = {
    Kind.SNAKE: "AxBxC",
    Kind.BLOCKS: "AxB or AxBxC",
    Kind.RANDOM: "SEED",
    Kind.FILE: "PATH",
    Kind.OPTIMISED: "SEED",
}
NEEDS_ARGUMENT = frozenset({Kind.BLOCKS, Kind.FILE})
#: Names of loads, one or several with a full stop between.
LOAD = re.compile(r"[a-z][a-z0-9-]*(\.[a-z][a-z0-9-]*)*")
#: Orders that mean nothing where nobody knows how the nodes are joined.
NEED_COORDINATES = frozenset(
    {Kind.CUSTOM, Kind.SNAKE, Kind.HILBERT, Kind.BY_GROUP, Kind.BY_SWITCH, Kind.OPTIMISED}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A placement's name, taken apart. `argument` is empty where the order has none.

    `choice_seed` is the number after the choice's name: a seed, or a number of groups. `load` is empty for a program
    that has the job's network for itself.
    """

    order: Kind
    argument: str = ""
    choice: Choice = Choice.CONTIGUOUS
    choice_seed: int | None = None
    binding: Binding = Binding.NONE
    load: str = ""

    @property
    def needs_coordinates(self) -> bool:
        """Return whether the placement means nothing where nobody knows how the nodes are joined."""
        return self.order in NEED_COORDINATES or self.choice.needs_coordinates

    def seed(self, otherwise: int | None) -> int | None:
        """The seed in the name of `random` and `optimised`, or the one given."""
        if self.order not in {Kind.RANDOM, Kind.OPTIMISED} or not self.argument:
            return otherwise
        return _integer("placement", "seed", self.argument)


def parse(text: str) -> Spec:
    """The placement that a name says; InputError names the part that is wrong and what it may be."""
    alone, load = split_load(text)
    rest, binding = _split_last(alone, "/", set(Binding))
    rest, chosen = _split_last(rest, "@", set(Choice))
    order, _, argument = rest.partition(":")
    if order not in set(Kind):
        raise InputError("placement", "", text, f"{words()}; then @{'|'.join(Choice)}, /{'|'.join(Binding)}")
    kind = Kind(order)
    if argument and kind not in ARGUMENTS:
        raise InputError("placement", "", text, f"{kind} without an argument")
    if kind in NEEDS_ARGUMENT and not argument:
        raise InputError("placement", "", text, f"{kind}:{ARGUMENTS[kind]}")
    choice, _, seed = chosen.partition(":")
    if Choice(choice or Choice.CONTIGUOUS).argument == "K" and (not seed.isdecimal() or int(seed) < 1):
        raise InputError("placement", "", text, f"@{choice}:K with the number of groups, at least 1")
    spec = Spec(
        order=kind,
        argument=argument,
        choice=Choice(choice or Choice.CONTIGUOUS),
        choice_seed=_integer("placement", f"@{choice}", seed) if seed else None,
        binding=Binding(binding or Binding.NONE),
        load=load,
    )
    spec.seed(None)
    return spec


def split_load(text: str) -> tuple[str, str]:
    """Return a placement's name without its load, and the load; a file's name is taken whole."""
    if text.startswith(f"{Kind.FILE}:"):
        return text, ""
    before, _, after = text.rpartition("+")
    return (before, after) if before and LOAD.fullmatch(after) else (text, "")


def words() -> str:
    """The orders with their arguments, for messages and help."""
    return ", ".join(_word(kind) for kind in Kind)


def _word(kind: Kind) -> str:
    if kind not in ARGUMENTS:
        return str(kind)
    argument = f":{ARGUMENTS[kind]}"
    return f"{kind}{argument}" if kind in NEEDS_ARGUMENT else f"{kind}[{argument}]"


def _split_last(text: str, mark: str, known: set[str]) -> tuple[str, str]:
    """Return what stands before and after the last mark, if a known word (with or without `:N`) stands after it."""
    before, _, after = text.rpartition(mark)
    return (before, after) if before and after.partition(":")[0] in known else (text, "")


def _integer(source: str, field: str, text: str) -> int:
    try:
        value = int(text)
    except ValueError as error:
        raise InputError(source, field, text, "an integer of 0 or more") from error
    if value < 0:
        raise InputError(source, field, text, "an integer of 0 or more")
    return value
