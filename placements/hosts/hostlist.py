"""Expand host lists as Slurm, Flux and PBS write them: `n[0-2,07],m1` is n0, n1, n2, n07, m1."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from railyard.base.errors import InputError

#: The most names in a host list; no machine has as many nodes.
MOST_NAMES = 1 << 20
RANGES = "numbers and ranges such as [0-3,7], the smaller number first, each bracket closed"


def expand(text: str) -> list[str]:
    """Return the names of a host list; several brackets multiply.

    Raises InputError for a bracket that is not closed or holds anything but numbers and ranges.
    """
    names = (name for part in split_outside_brackets(text) for name in _expand_one(part))
    expanded = list(itertools.islice(names, MOST_NAMES + 1))
    if len(expanded) > MOST_NAMES:
        raise InputError("host list", "", text[:60], f"at most {MOST_NAMES:,} names")
    return expanded


def split_outside_brackets(text: str) -> list[str]:
    """Return the parts of a list with commas that are not inside brackets, without empty ones.

    Raises InputError for a bracket that is not closed.
    """
    if text.count("[") != text.count("]"):
        raise InputError("host list", "", text[:60], RANGES)
    return [part.strip() for part in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text) if part.strip()]


def _expand_one(part: str) -> Iterator[str]:
    bracket = re.match(r"([^\[]*)\[([^\]]*)\](.*)", part)
    if not bracket:
        yield part
        return
    before, ranges, after = bracket.groups()
    for number in _numbers(ranges):
        for rest in _expand_one(after):
            yield f"{before}{number}{rest}"


def _numbers(ranges: str) -> Iterator[str]:
    for one in ranges.split(","):
        first, _, last = one.strip().partition("-")
        last = last or first
        if not all(re.fullmatch(r"[0-9]{1,9}", word) for word in (first, last)) or int(last) < int(first):
            raise InputError("host list", "", f"[{ranges[:60]}]", RANGES)
        for value in range(int(first), int(last) + 1):
            yield f"{value:0{len(first)}d}"
