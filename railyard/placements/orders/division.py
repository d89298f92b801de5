"""Divide the nodes of an allocation among programs that run at once: whole, disjoint shares by a rule.

Rules: `contiguous` (one share after the other), `interleaved` (node by node in turn), `by-router` and `by-group` (all
nodes of a router or a group to one share), `random:SEED` (a random order, then one share after the other), `nodes:LIST`
(the first share by the numbers of its nodes in the allocation). Leaves out: which programs there are
(`railyard.jobs.roles`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from railyard.base.errors import InputError
from railyard.placements.arrays import Ints, np
from railyard.placements.orders.allocation import Allocation

RULES = "contiguous, interleaved, by-router, by-group, random:SEED, nodes:LIST"


def check(source: str, rule: str) -> None:
    """Raise InputError for an unknown rule."""
    word, _, argument = rule.partition(":")
    has_argument = {name.partition(":")[0]: ":" in name for name in RULES.split(", ")}
    if word not in has_argument or has_argument[word] != bool(argument):
        raise InputError(source, "split", rule, RULES)


def split(allocation: Allocation, rule: str, first_nodes: int) -> tuple[Ints, Ints]:
    """Return the nodes of the first share and all other nodes, as indices into the allocation.

    `first_nodes` 0 means half of the nodes. Raises InputError for more nodes than the allocation has, and if the rule
    cannot give exactly this number.
    """
    count = len(allocation.indices)
    wanted = first_nodes or count // 2
    if not 1 <= wanted < count:
        raise InputError("division", "nodes of the first share", wanted, f"1 to {count - 1}: the job has {count} nodes")
    own, rest = dealt(allocation, rule, [wanted, count - wanted])
    if first_nodes and len(own) != wanted and not rule.startswith("nodes:"):
        raise InputError("division", "nodes of the first share", wanted, f"{len(own)}, which {rule} gives here")
    return own, rest


def dealt(allocation: Allocation, rule: str, weights: Sequence[int]) -> list[Ints]:
    """Return the nodes of each part, as ascending indices into the allocation; `weights` are the requested sizes."""
    word, _, argument = rule.partition(":")
    every = np.arange(len(allocation.indices), dtype=np.int64)
    match word:
        case "nodes":
            numbers = sorted({int(text) if text.isdecimal() else -1 for text in map(str.strip, argument.split(","))})
            if numbers[0] < 0 or numbers[-1] >= len(every) or len(numbers) == len(every):
                valid = f"numbers from 0 to {len(every) - 1}, such as nodes:0,2, and some left for the load"
                raise InputError("division", "split", rule, f"nodes:LIST with {valid}")
            return [np.array(numbers, dtype=np.int64), np.setdiff1d(every, numbers)]
        case "interleaved":
            return _in_turn([every[k : k + 1] for k in every], weights)
        case "by-router":
            return _in_turn(_boxes(allocation.switches), weights)
        case "by-group":
            return _in_turn(_boxes(allocation.groups), weights)
        case "random":
            if not argument.isdecimal():
                raise InputError("division", "split", rule, "random:SEED with a whole number")
            every = np.random.default_rng(int(argument)).permutation(every)
    ends = np.cumsum(weights)
    return [np.sort(every[end - weight : end]) for end, weight in zip(ends, weights, strict=True)]


def _boxes(keys: Ints) -> list[Ints]:
    """Return the nodes of each switch or group, as indices into the allocation, sorted by the first of them."""
    return [np.flatnonzero(keys == key) for key in dict.fromkeys(keys.tolist())]


def _in_turn(units: Sequence[Ints], weights: Sequence[int]) -> list[Ints]:
    """Deal whole units to parts so that each has its share as early as can be; of equal ones the first is served.

    Raises InputError where a part gets no unit.
    """
    parts: list[list[Ints]] = [[] for _ in weights]
    dealt = np.zeros(len(weights))
    total, seen = math.fsum(weights), 0
    for unit in units:
        seen += len(unit)
        behind = np.asarray(weights) * seen / total - dealt
        chosen = int(np.argmax(np.round(behind, 9)))
        parts[chosen].append(unit)
        dealt[chosen] += len(unit)
    if any(not part for part in parts):
        raise InputError("division", "split", problem=f"{len(units)} units for {len(weights)} shares", valid=RULES)
    return [np.sort(np.concatenate(part)) for part in parts]
