"""The order `optimised`: a search (`railyard.placements.orders.optimiser`); the default traffic is a stencil's."""

from __future__ import annotations

from railyard.placements.arrays import Ints
from railyard.placements.orders.optimiser import optimised
from railyard.placements.orders.rank_orders import Effort, PlacementJob, RankOrder


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
