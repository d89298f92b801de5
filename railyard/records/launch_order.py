"""Draw the order of a job's launches from the seed alone, so that a checker can reproduce it from the record.

Every combination of placement, NIC policy and software is launched once per round. Each round has its own random order,
so that drift of the machine affects all combinations alike.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

from railyard.records.record import Software


def in_rounds(
    placements: Sequence[str], nic_policies: Sequence[str], software: Sequence[Software], *, rounds: int, seed: int
) -> Iterator[tuple[int, str, str, Software]]:
    """Yield (repeat, placement, NIC policy, software) of each launch in order; `repeat` is the round, from 0."""
    shuffle = random.Random(seed)
    combinations = list(itertools.product(placements, nic_policies, software))
    for repeat in range(rounds):
        for placement, policy, whose in shuffle.sample(combinations, len(combinations)):
            yield repeat, placement, policy, whose
