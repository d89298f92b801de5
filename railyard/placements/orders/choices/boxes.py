"""Nodes of an allocation that share a switch or a group: a box of nodes. `boxes` has the box of every granted node.

Every function returns positions in the allocation, in the scheduler's order. Ties go to the lower number of a box.
"""

from __future__ import annotations

from railyard.base.errors import InputError
from railyard.placements.arrays import Ints, np


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
