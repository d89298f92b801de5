"""The order `random`: ranks on the slots in an order drawn from a seed."""

from __future__ import annotations

from railyard.base.errors import InputError
from railyard.placements.arrays import Ints, np
from railyard.placements.orders.rank_orders.base import PlacementJob, RankOrder


def place(job: PlacementJob) -> Ints:
    """Return the node of each rank; InputError without a seed."""
    if job.seed is None:
        valid = "random:SEED, such as random:1, or --seed SEED"
        raise InputError("placement", "", problem="random has no seed", valid=valid)
    return np.random.default_rng(job.seed).permutation(job.slots)


ORDER = RankOrder(name="random", does="an order drawn from a seed", argument="SEED", example="1", place=place)
