"""The order `optimised`: a search (`placements.orders.optimiser`) with a stencil's faces as the default traffic."""

from __future__ import annotations

from placements.arrays import Ints
from placements.orders.effort import Effort
from placements.orders.optimiser import optimised
from placements.orders.rank_orders.base import PlacementJob, RankOrder


def place(job: PlacementJob) -> Ints:
    """Return the node of each rank; InputError for traffic of other ranks than the job's."""
    return optimised(job, job.traffic, job.effort or Effort())


ORDER = RankOrder(
    name="optimised",
    does="a search for the placement whose slowest link takes the fewest seconds, on the very nodes granted",
    argument="SEED",
    example="1",
    place=place,
    needs_coordinates=True,
    determined=False,
    searches=True,
)
