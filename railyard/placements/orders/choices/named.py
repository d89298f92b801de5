"""The node choices of railyard, each a row; some are by box: nodes of an allocation that share a switch or a group.

`boxes` has the box of every granted node. Every function returns positions in the allocation, in the scheduler's order.
Ties go to the lower number of a box.
"""

from __future__ import annotations

from railyard.base.errors import InputError
from railyard.placements.arrays import Ints, np
from railyard.placements.orders.allocation import Allocation
from railyard.placements.orders.choices import NodeChoice

#: Nodes of a Gemini router.
TWO = 2


def one(boxes: Ints, count: int, word: str) -> Ints:
    """Return `count` nodes in one box, of those with room the one with the fewest granted nodes."""
    numbers, sizes = np.unique(boxes, return_counts=True)
    fitting = np.flatnonzero(sizes >= count)
    if not len(fitting):
        most = f"at most {sizes.max()}, the granted nodes of the fullest {word}"
        raise InputError("placement", f"nodes in one {word}", count, most)
    best = numbers[fitting[np.argmin(sizes[fitting])]]
    return np.flatnonzero(boxes == best)[:count]


def fill(boxes: Ints, order: Ints, count: int) -> Ints:
    """Return `count` nodes, filling one box after another in `order`; fewer if the boxes have fewer."""
    rank = np.full(int(boxes.max()) + 1, len(boxes), dtype=np.int64)
    rank[order] = np.arange(len(order))
    usable = np.flatnonzero(rank[boxes] < len(boxes))
    walk = usable[np.argsort(rank[boxes[usable]], kind="stable")]
    return np.sort(walk[:count])


def shuffled(boxes: Ints, count: int, seed: int) -> Ints:
    """Return `count` nodes when boxes are filled in an order drawn from a seed."""
    return fill(boxes, np.random.default_rng(seed).permutation(np.unique(boxes)), count)


def fullest(boxes: Ints, most: int) -> tuple[Ints, Ints]:
    """Return the `most` boxes with the most nodes and their sizes, the fullest first."""
    numbers, sizes = np.unique(boxes, return_counts=True)
    order = np.argsort(-sizes, kind="stable")[:most]
    return numbers[order], sizes[order]


def few_groups(allocation: Allocation, count: int, most: int) -> Ints:
    """Take the `most` fullest groups, each filled before the next; InputError when these have fewer nodes."""
    numbers, sizes = fullest(allocation.groups, most)
    if sizes.sum() < count:
        raise InputError("placement", f"nodes in {most} groups", count, f"at most {sizes.sum()}, as were granted")
    return fill(allocation.groups, numbers, count)


def even_groups(allocation: Allocation, count: int, parts: int) -> Ints:
    """Take equally many nodes of the groups with the most granted nodes, one more in the first groups if need be.

    Raises InputError if a group has fewer.
    """
    groups = allocation.groups
    numbers, sizes = fullest(groups, parts)
    shares = np.array([count // parts + (k < count % parts) for k in range(parts)])
    if len(numbers) < parts or (sizes < shares).any():
        valid = f"at most as were granted: {', '.join(map(str, sizes))}"
        raise InputError("placement", f"nodes in each of {parts} groups", int(shares[0]), valid)
    nodes = [np.flatnonzero(groups == group)[:share] for group, share in zip(numbers, shares, strict=True)]
    return np.sort(np.concatenate(nodes))


def half_routers(allocation: Allocation, count: int, halves: int) -> Ints:
    """Take the first routers with two granted nodes; `halves` of them, at equal steps, provide one node.

    Pedretti et al., CUG'13, had 8,192 nodes on 4,118 routers: 44 of them provided one node. Raises InputError where the
    numbers do not fit, or too few routers have two granted nodes.
    """
    boxes = allocation.switches
    numbers, sizes = np.unique(boxes, return_counts=True)
    both = numbers[sizes == TWO]
    routers = (count + halves) // TWO
    if (count + halves) % TWO or halves > routers or routers > len(both):
        valid = f"K with K + {count} even, and K + {count} at most twice the {len(both)} routers with two granted nodes"
        raise InputError("placement", "half-routers", halves, valid)
    walk = boxes[np.isin(boxes, both)]
    first = walk[np.sort(np.unique(walk, return_index=True)[1])][:routers]
    half = first[np.arange(halves) * routers // max(halves, 1)]
    chosen = np.isin(boxes, first)
    seconds = np.array([np.flatnonzero(boxes == router)[1] for router in half.tolist()], dtype=np.int64)
    chosen[seconds] = False
    return np.flatnonzero(chosen)


CHOICES = (
    NodeChoice(
        name="one-switch",
        does="the nodes of one switch",
        needs_coordinates=True,
        take=lambda allocation, count, number: one(allocation.switches, count, "switch"),
    ),
    NodeChoice(
        name="one-group",
        does="the nodes of one group",
        needs_coordinates=True,
        take=lambda allocation, count, number: one(allocation.groups, count, "group"),
    ),
    NodeChoice(
        name="few-groups",
        does="the K fullest groups, one after another",
        argument="K",
        needs_argument=True,
        needs_coordinates=True,
        take=few_groups,
    ),
    NodeChoice(
        name="even-groups",
        does="equally many nodes of K groups",
        argument="K",
        needs_argument=True,
        needs_coordinates=True,
        take=even_groups,
    ),
    NodeChoice(
        name="half-routers",
        does="the first routers, of which K give one of their two nodes",
        argument="K",
        needs_argument=True,
        needs_coordinates=True,
        take=half_routers,
    ),
    NodeChoice(
        name="random-switches",
        does="whole switches in an order drawn from a seed",
        argument="SEED",
        needs_coordinates=True,
        take=lambda allocation, count, number: shuffled(allocation.switches, count, number),
    ),
    NodeChoice(
        name="random-groups",
        does="whole groups in an order drawn from a seed",
        argument="SEED",
        needs_coordinates=True,
        take=lambda allocation, count, number: shuffled(allocation.groups, count, number),
    ),
    NodeChoice(
        name="by-router",
        does="one node of every router before the second of any",
        needs_coordinates=True,
        take=lambda allocation, count, number: np.sort(
            np.argsort(allocation.topology.slots[allocation.indices], kind="stable")[:count]
        ),
    ),
    NodeChoice(name="contiguous", does="the first", take=lambda allocation, count, number: np.arange(count)),
    NodeChoice(
        name="random",
        does="nodes drawn from a seed",
        argument="SEED",
        take=lambda allocation, count, number: np.sort(
            np.random.default_rng(number).permutation(len(allocation.indices))[:count]
        ),
    ),
    NodeChoice(
        name="scattered",
        does="nodes at equal steps",
        take=lambda allocation, count, number: np.arange(count) * len(allocation.indices) // count,
    ),
)
