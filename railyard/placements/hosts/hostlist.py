"""Expand host lists as Slurm, Flux and PBS write them: `n[0-2,07],m1` is n0, n1, n2, n07, m1, in this order.

ClusterShell's NodeSet sorts names, and loses the order in which a scheduler fills nodes; it takes eight times as long.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import re
from collections.abc import Iterable, Sequence

from railyard.base.errors import InputError

#: The most names in the host lists of a text: the largest machine has a third of them.
MOST_NAMES = 1 << 19
#: First and last number and number of digits of each range in a bracket.
Ranges = tuple[tuple[int, int, int], ...]
RANGES = "numbers and ranges such as [0-3,7], the smaller number first, each bracket closed"
BRACKET = re.compile(r"\[([^\[\]]*)\]")
#: The brackets of one name, which multiply.
BRACKETS = re.compile(r"\[[0-9,\s-]*\](?:[^\s,\[\]]*\[[0-9,\s-]*\])*")


def expand(text: str) -> list[str]:
    """Return the names of a host list; several brackets multiply.

    Raises InputError for a bracket that is not closed or holds anything but numbers and ranges, and as `check`.
    """
    # Every second part of the split is what a bracket holds.
    parts = [BRACKET.split(part) for part in split_outside_brackets(text)]
    ranges = [[_ranges(inside) for inside in part[1::2]] for part in parts]
    _check_number("host list", map(_count, ranges))
    names: list[str] = []
    for part, own in zip(parts, ranges, strict=True):
        choices = [[text] for text in part]
        choices[1::2] = [
            [f"{k:0{width}d}" for first, last, width in one for k in range(first, last + 1)] for one in own
        ]
        names += map("".join, itertools.product(*choices))
    return names


def check(text: str, source: str) -> None:
    """Raise InputError for a text whose host lists have more names than any machine has nodes."""
    counts = []
    for brackets in BRACKETS.findall(text):
        with contextlib.suppress(InputError):  # `expand` refuses it before it makes any name
            counts.append(_count([_ranges(inside) for inside in BRACKET.findall(brackets)]))
    _check_number(source, (count for count in counts if count > 1))


def _check_number(source: str, counts: Iterable[int]) -> None:
    if any(count > MOST_NAMES for count in itertools.accumulate(counts)):
        raise InputError(source, "", problem="too many names in host lists", valid=f"at most {MOST_NAMES:,}")


def split_outside_brackets(text: str) -> list[str]:
    """Return the parts of a list with commas that are not inside brackets, without empty ones.

    Raises InputError for a bracket that is not closed.
    """
    if "[" in (rest := BRACKET.sub("", text)) or "]" in rest:
        raise InputError("host list", "", text, RANGES)
    return [part.strip() for part in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text) if part.strip()]


def _count(brackets: Sequence[Ranges]) -> int:
    """Return the number of names that brackets make of one."""
    return math.prod(sum(last - first + 1 for first, last, _ in bracket) for bracket in brackets)


@functools.lru_cache
def _ranges(inside: str) -> Ranges:
    """Return first and last number and number of digits of each range in a bracket."""
    ranges = []
    for one in inside.split(","):
        first, _, last = one.strip().partition("-")
        last = last or first
        if not all(re.fullmatch(r"[0-9]{1,9}", word) for word in (first, last)) or int(last) < int(first):
            raise InputError("host list", "", f"[{inside}]", RANGES)
        ranges.append((int(first), int(last), len(first)))
    return tuple(ranges)
