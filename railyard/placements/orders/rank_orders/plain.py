"""The order `plain`: grid positions, the first dimension fastest, on the slots in order."""

from __future__ import annotations

from railyard.placements.arrays import Ints, np
from railyard.placements.orders.rank_orders.base import PlacementJob, RankOrder
from railyard.placements.orders.walks import row_major


def place(job: PlacementJob) -> Ints:
    """Return the node of each rank."""
    slots: Ints = job.slots[np.ravel_multi_index(tuple(row_major(job.grid).T), job.grid, order="F")]
    return slots


ORDER = RankOrder(
    name="plain",
    does="grid positions, first dimension fastest, take the slots in order",
    after='Peña et al., "Plain"',
    place=place,
    needs_grid=True,
    start=2,
)
