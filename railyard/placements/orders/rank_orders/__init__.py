"""Rank orders: functions that assign each rank of a grid to a slot of the chosen nodes; no side effects.

A module of this folder that defines `ORDER`, or several in a tuple `ORDERS`, is found by `orders`; nothing else must be
edited to add one. A slot is room for one rank; the slots of a node are consecutive. docs/placements.md shows what each
order does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from railyard.base.members import members
from railyard.placements.arrays import Ints, np
from railyard.placements.linkload.background import Background
from railyard.placements.linkload.rails import RankNics
from railyard.placements.linkload.traffic import Traffic
from railyard.placements.orders.allocation import Allocation
from railyard.placements.orders.walks import Grid
from railyard.placements.orders.word import Word
from railyard.placements.topology.base import Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """Limits of a search, the load of other jobs (`background`), and the ranks' NICs.

    `progress(done, slowest_s)` is called after every round, `done` from 0 to 1.
    """

    trials_per_rank: int = 300
    most_trials: int = 6_000_000
    time_limit_s: float = 60.0
    progress: Callable[[float, float], None] | None = None
    background: Background | None = None
    nics: RankNics | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlacementJob:
    """The ranks of a grid that are to be placed on an allocation.

    `argument` is that of the placement's name. `traffic` and `effort` are for an order that searches.
    """

    allocation: Allocation
    grid: Grid
    ranks_per_node: int
    seed: int | None = None
    argument: str = ""
    traffic: Traffic | None = None
    effort: Effort | None = None

    @property
    def ranks(self) -> int:
        """Return the number of ranks."""
        return math.prod(self.grid)

    @property
    def slots(self) -> Ints:
        """Return the node of each slot, one slot per rank, in the scheduler's order."""
        return np.repeat(self.allocation.indices, self.ranks_per_node)[: self.ranks]

    def along(self, walk: Ints) -> Ints:
        """Return the node of each slot with the nodes in the order of `walk` (positions in the allocation)."""
        return np.repeat(self.allocation.indices[walk], self.ranks_per_node)[: self.ranks]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankOrder(Word):
    """One rank order.

    `place` returns the node of each rank (index into `topology.nodes`); it raises InputError for what it cannot place.
    `after` is the work that the order comes from. A record determines what a `determined` order does on its nodes.
    The result of one that `needs_grid` depends on the shape of the grid, of one that `needs_routers` on which nodes
    share a router. One with `all_nodes` places on every granted node, unless a node choice is named. With
    `by_launcher` the launcher gets the nodes alone and fills them in its own order. One that `searches` uses traffic
    and effort. `start` numbers the orders with which `optimised` begins (0: not among them). `unfit` returns why no
    nodes of a machine take a grid at so many ranks per node (empty: some do), for an order that refuses some grids.
    """

    place: Callable[[PlacementJob], Ints]
    after: str = ""
    determined: bool = True
    needs_grid: bool = False
    needs_routers: bool = False
    all_nodes: bool = False
    by_launcher: bool = False
    searches: bool = False
    start: int = 0
    unfit: Callable[[Topology, Grid, int], str] | None = None


@cache
def orders() -> Mapping[str, RankOrder]:
    """Return the rank orders by name."""
    ordered = sorted(members(__name__, "ORDER", "ORDERS"), key=str)
    return {order.name: order for order in ordered}
