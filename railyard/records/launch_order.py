"""Draw the order of a job's launches from its seed alone, and the seed from the buyer's challenge.

Every combination of placement, NIC policy and software is launched once per round. Each round has its own random order,
so that drift of the machine affects all combinations alike. A checker can reproduce the order from the record.

A challenge is a word that is published with the tender and unknown before: a record whose seed follows from it was made
for this tender and after its publication, and its seed was not selected among many. Leaves out: keeping it secret.
"""

from __future__ import annotations

import hashlib
import itertools
import random
import re
from collections.abc import Iterator, Sequence

from railyard.base.errors import InputError
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


_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


def seed_of(challenge: str, check: str, otherwise: int) -> int:
    """Return the seed of a check, 31 bits, derived from the challenge; `otherwise` if the challenge is empty.

    Raises InputError for a challenge with characters other than letters, digits, `.`, `_` and `-`.
    """
    if not challenge:
        return otherwise
    if not _WORD.fullmatch(challenge):
        raise InputError("challenge", "", challenge, "letters, digits, '.', '_' and '-', at most 200")
    return int.from_bytes(hashlib.sha256(f"{challenge}\n{check}".encode()).digest()[:4]) >> 1
