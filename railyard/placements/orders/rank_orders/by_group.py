"""The order `by-group`: ranks on the nodes sorted by group, in the scheduler's order within each. A torus has none."""

from __future__ import annotations

from railyard.placements.arrays import np
from railyard.placements.orders.rank_orders.base import RankOrder

ORDER = RankOrder(
    name="by-group",
    does="rank k takes slot k of the nodes sorted by group; within a group the scheduler's order stays",
    place=lambda job: job.along(np.argsort(job.allocation.groups, kind="stable")),
    needs_coordinates=True,
    start=6,
)
