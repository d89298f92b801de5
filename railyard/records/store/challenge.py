"""The buyer's challenge: a word that nobody knows before the tender, from which the seed of every order is made.

Models: records with the seed of a challenge were made after it was known, for this tender alone, and not chosen among
many seeds. Leaves out: keeping the challenge secret until the tender opens.
"""

from __future__ import annotations

import hashlib
import re

from railyard.base.errors import InputError

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


def seed_of(challenge: str, check: str, otherwise: int) -> int:
    """Return the seed of a check under a challenge, 31 bits; without a challenge the one that was given.

    Raises InputError for a challenge that is no word.
    """
    if not challenge:
        return otherwise
    if not _WORD.fullmatch(challenge):
        raise InputError("challenge", "", challenge, "letters, digits, '.', '_' and '-', at most 200")
    return int.from_bytes(hashlib.sha256(f"{challenge}\n{check}".encode()).digest()[:4]) >> 1
