"""The order `cart-create`: what MPI_Cart_create does, whose reordering is the identity in the MPIs named below."""

from __future__ import annotations

from railyard.placements.orders.rank_orders.base import RankOrder

ORDER = RankOrder(
    name="cart-create",
    does="rank k takes slot k; MPI_Cart_create's own reordering is the identity in Open MPI, MPICH and SMPI",
    after='Peña et al., "Cart_create"',
    place=lambda job: job.slots,
    start=1,
)
