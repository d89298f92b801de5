"""The choice `half-routers:K`: the first routers with two granted nodes, K of which provide one node.

Pedretti et al., CUG'13, had 8,192 nodes on 4,118 routers: 44 of them provided one node.
"""

from __future__ import annotations

from railyard.base.errors import InputError
from railyard.placements.arrays import Ints, np
from railyard.placements.orders.allocation import Allocation
from railyard.placements.orders.choices.base import NodeChoice

#: Nodes of a Gemini router.
TWO = 2


def take(allocation: Allocation, count: int, halves: int) -> Ints:
    """Return positions of `count` nodes; the `halves` routers with one node are at equal steps.

    Raises InputError where the numbers do not fit, or too few routers have two granted nodes.
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


CHOICE = NodeChoice(
    name="half-routers",
    does="the first routers, of which K give one of their two nodes",
    argument="K",
    needs_argument=True,
    needs_coordinates=True,
    take=take,
)
