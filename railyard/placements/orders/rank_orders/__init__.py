"""Rank orders, one module each: `ORDER` is a `RankOrder` of `base`. docs/placements.md shows what each does."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from railyard.base.members import members
from railyard.placements.arrays import Ints
from railyard.placements.orders.rank_orders.base import PlacementJob, RankOrder


@cache
def orders() -> Mapping[str, RankOrder]:
    """Return the rank orders by name."""
    return {order.name: order for order in members(__name__, "ORDER")}


def ordered(name: str, job: PlacementJob) -> Ints:
    """Return the node of each rank under an order; InputError for what the order cannot do."""
    return orders()[name].place(job)
