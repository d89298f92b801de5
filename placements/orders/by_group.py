"""Placement by group and by switch: which of the granted nodes a job takes, and along which walk.

Choices (`Choice`), each among the nodes that were granted:

one-switch            the nodes of one switch; of those with room for the job the one with the fewest granted nodes
one-group             the nodes of one group, likewise
half-routers:K        the first routers with two granted nodes, K of which give one node alone
few-groups:K          the K groups with the most granted nodes, each filled before the next
even-groups:K         the K groups with the most granted nodes, equally many nodes of each (one more of the first)
random-switches:SEED  switches in an order drawn from the seed, each filled before the next
random-groups:SEED    groups in an order drawn from the seed, each filled before the next

Ties go to the lower number. The chosen nodes stay in the scheduler's order. Walks: `by-switch` sorts nodes by group and
switch, `by-group` by group alone; within these the scheduler's order stays. A torus has switches (its routers) but no
groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from placements.arrays import Ints, np
from railyard.base.errors import InputError

if TYPE_CHECKING:
    from placements.orders.allocation import Allocation

#: Nodes of a Gemini router.
TWO = 2


def groups(allocation: Allocation) -> Ints:
    """Return the group of every chosen node; InputError for a topology without groups."""
    topology = allocation.topology
    return np.asarray(topology.groups[switches(allocation)], dtype=np.int64)


def switches(allocation: Allocation) -> Ints:
    """Return the switch of every chosen node, as a place in the topology's `coordinates`."""
    return np.asarray(allocation.topology.router_of_node[allocation.indices], dtype=np.int64)


def one(boxes: Ints, count: int, word: str) -> Ints:
    """Return places of `count` nodes that are in one box (a switch or a group); `boxes` is that of every node."""
    numbers, sizes = np.unique(boxes, return_counts=True)
    fitting = np.flatnonzero(sizes >= count)
    if not len(fitting):
        most = f"at most {sizes.max()}, the granted nodes of the fullest {word}"
        raise InputError("placement", f"nodes in one {word}", count, most)
    best = numbers[fitting[np.argmin(sizes[fitting])]]
    return np.flatnonzero(boxes == best)[:count]


def halved(boxes: Ints, count: int, halves: int) -> Ints:
    """Return places of `count` nodes of the first routers, `halves` of which, at equal steps, give one node of two.

    So Pedretti et al., CUG'13, had 8,192 nodes on 4,118 routers: 44 of them gave one node. Raises InputError where the
    numbers do not fit, or too few routers have two granted nodes.
    """
    numbers, sizes = np.unique(boxes, return_counts=True)
    both = numbers[sizes == TWO]
    routers = (count + halves) // TWO
    if (count + halves) % TWO or halves > routers or routers > len(both):
        valid = f"K with K + {count} even, and K + {count} at most twice the {len(both)} routers with two granted nodes"
        raise InputError("placement", "half-routers", halves, valid)
    walk = boxes[np.isin(boxes, both)]
    first = walk[np.sort(np.unique(walk, return_index=True)[1])][:routers]
    half = first[np.arange(halves) * routers // max(halves, 1)]
    kept = np.isin(boxes, first)
    seconds = np.array([np.flatnonzero(boxes == router)[1] for router in half.tolist()], dtype=np.int64)
    kept[seconds] = False
    return np.flatnonzero(kept)


def fill(boxes: Ints, order: Ints, count: int) -> Ints:
    """Return places of `count` nodes when boxes are filled one after another, sorted; fewer if there are too few."""
    rank = np.full(int(boxes.max()) + 1, len(boxes), dtype=np.int64)
    rank[order] = np.arange(len(order))
    usable = np.flatnonzero(rank[boxes] < len(boxes))
    walk = usable[np.argsort(rank[boxes[usable]], kind="stable")]
    return np.sort(walk[:count])


def few(boxes: Ints, count: int, most: int) -> Ints:
    """Return places of `count` nodes in the `most` fullest groups; InputError when these have fewer."""
    fullest, sizes = _fullest(boxes, most)
    if sizes.sum() < count:
        raise InputError(
            "placement", f"nodes in {most} groups", count, f"at most {sizes.sum()}, as were granted"
        )
    return fill(boxes, fullest, count)


def even(boxes: Ints, count: int, parts: int) -> Ints:
    """Return places of `count` nodes, equally many in each of the fullest groups; InputError where one has fewer."""
    fullest, sizes = _fullest(boxes, parts)
    wanted = np.array([count // parts + (k < count % parts) for k in range(parts)])
    if len(fullest) < parts or (sizes < wanted).any():
        have = ", ".join(map(str, sizes))
        raise InputError(
            "placement",
            f"nodes in each of {parts} groups",
            int(wanted[0]),
            f"at most as were granted: {have}",
        )
    parts_of = [np.flatnonzero(boxes == box)[:size] for box, size in zip(fullest, wanted, strict=True)]
    return np.sort(np.concatenate(parts_of))


def shuffled(boxes: Ints, count: int, seed: int) -> Ints:
    """Return places of `count` nodes when boxes are filled in an order drawn from a seed."""
    return fill(boxes, np.random.default_rng(seed).permutation(np.unique(boxes)), count)


def _fullest(boxes: Ints, most: int) -> tuple[Ints, Ints]:
    """Return the boxes with the most nodes and their sizes, the fullest first."""
    numbers, sizes = np.unique(boxes, return_counts=True)
    order = np.argsort(-sizes, kind="stable")[:most]
    return numbers[order], sizes[order]


def walk(allocation: Allocation, *, by_switch: bool) -> Ints:
    """Return places in the allocation, sorted by group and, if wanted, by switch."""
    keys = switches(allocation) if by_switch else groups(allocation)
    return np.argsort(keys, kind="stable")


def described(allocation: Allocation) -> Mapping[str, object] | None:
    """Return how many switches and groups the nodes are on, and the nodes per group; None without groups."""
    try:
        numbers, sizes = np.unique(groups(allocation), return_counts=True)
    except InputError:
        return None
    nodes = {str(number): size for number, size in zip(numbers.tolist(), sizes.tolist(), strict=True)}
    return {"switches": len(np.unique(switches(allocation))), "groups": len(nodes), "nodes_per_group": nodes}


def text(where: Mapping[str, object]) -> str:
    """Return `described` in words: `12 nodes on 6 switches in 2 groups (group 0: 8, group 3: 4)`."""
    nodes = where["nodes_per_group"]
    assert isinstance(nodes, dict)
    parts = ", ".join(f"group {group}: {count}" for group, count in nodes.items())
    return (
        f"{sum(nodes.values())} nodes on {where['switches']} switches in {where['groups']} groups ({parts})"
    )
