"""The order of a job's launches: pure, so that a checker draws from a record's seed what the job drew.

Every combination of a placement, a NIC policy and a software is launched once in each round, and each round has its own
order: drift of the machine spares none of them.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

from railyard.records.record import Software


def in_rounds(
    placements: Sequence[str],
    nic_policies: Sequence[str],
    software: Sequence[Software],
    *,
    rounds: int,
    seed: int,
) -> Iterator[tuple[int, str, str, Software]]:
    """Yield repeat, placement, NIC policy and software of each launch."""
    shuffle = random.Random(seed)
    combinations = list(itertools.product(placements, nic_policies, software))
    for repeat in range(rounds):
        for placement, policy, whose in shuffle.sample(combinations, len(combinations)):
            yield repeat, placement, policy, whose
