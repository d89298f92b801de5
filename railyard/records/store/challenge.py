"""Derive seeds from the buyer's challenge: a word that is published with the tender and unknown before.

Models: a record whose seed follows from the challenge was made for this tender and after its publication, and its seed
was not selected among many. Leaves out: keeping the challenge secret until the tender opens.
"""

from __future__ import annotations

import hashlib
import re

from railyard.base.errors import InputError

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
