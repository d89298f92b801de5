"""The order `by-switch`: ranks on the nodes sorted by group and switch (a torus: by router)."""

from __future__ import annotations

from railyard.placements.arrays import np
from railyard.placements.orders.rank_orders.base import RankOrder

ORDER = RankOrder(
    name="by-switch",
    does="rank k takes slot k of the nodes sorted by group and switch",
    place=lambda job: job.along(np.argsort(job.allocation.switches, kind="stable")),
    needs_coordinates=True,
    start=7,
)
