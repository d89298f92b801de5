"""The order `optimised`: a search (`railyard.placements.orders.optimiser`); the default traffic is a stencil's."""

from __future__ import annotations

from railyard.placements.orders.optimiser import optimised
from railyard.placements.orders.rank_orders import RankOrder

ORDER = RankOrder(
    name="optimised",
    does="a search for the placement whose slowest link takes the fewest seconds, on the very nodes granted",
    argument="SEED",
    example="1",
    place=optimised,
    needs_coordinates=True,
    determined=False,
    searches=True,
)
