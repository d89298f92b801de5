"""The orders that take the slots of the nodes as they are, sorted, or in an order drawn from a seed."""

from __future__ import annotations

from railyard.base.errors import InputError
from railyard.placements.arrays import Ints, np
from railyard.placements.orders.rank_orders import PlacementJob, RankOrder
from railyard.placements.orders.walks import row_major


def plain(job: PlacementJob) -> Ints:
    """Return the node of each rank, grid positions with the first dimension fastest."""
    slots: Ints = job.slots[np.ravel_multi_index(tuple(row_major(job.grid).T), job.grid, order="F")]
    return slots


def shuffled(job: PlacementJob) -> Ints:
    """Return the node of each rank in an order drawn from a seed; InputError without one."""
    if job.seed is None:
        valid = "random:SEED, such as random:1, or --seed SEED"
        raise InputError("placement", "", problem="random has no seed", valid=valid)
    return np.random.default_rng(job.seed).permutation(job.slots)


ORDERS = (
    # A torus has no groups.
    RankOrder(
        name="by-group",
        does="rank k takes slot k of the nodes sorted by group; within a group the scheduler's order stays",
        place=lambda job: job.along(np.argsort(job.allocation.groups, kind="stable")),
        needs_coordinates=True,
        start=6,
    ),
    # On a torus, by router.
    RankOrder(
        name="by-switch",
        does="rank k takes slot k of the nodes sorted by group and switch",
        place=lambda job: job.along(np.argsort(job.allocation.switches, kind="stable")),
        needs_coordinates=True,
        start=7,
    ),
    RankOrder(
        name="cart-create",
        does="rank k takes slot k; MPI_Cart_create's own reordering is the identity in Open MPI, MPICH and SMPI",
        after='Peña et al., "Cart_create"',
        place=lambda job: job.slots,
        start=1,
    ),
    RankOrder(
        name="plain",
        does="grid positions, first dimension fastest, take the slots in order",
        after='Peña et al., "Plain"',
        place=plain,
        needs_grid=True,
        start=2,
    ),
    RankOrder(name="random", does="an order drawn from a seed", argument="SEED", example="1", place=shuffled),
    # What a user gets who requests nothing.
    RankOrder(
        name="scheduler",
        does="the same as `cart-create`; the launcher gets the chosen nodes and fills them in its own block order",
        place=lambda job: job.slots,
        determined=False,
        by_launcher=True,
    ),
)
