"""The order `scheduler`: the nodes alone, for the launcher's own order. What a user gets who requests nothing."""

from __future__ import annotations

from railyard.placements.orders.rank_orders.base import RankOrder

ORDER = RankOrder(
    name="scheduler",
    does="the same as `cart-create`; the launcher gets the chosen nodes and fills them in its own block order",
    place=lambda job: job.slots,
    determined=False,
    by_launcher=True,
)
