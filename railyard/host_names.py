"""Match host names with and without their domains, and fold lists of them.

Below all rooms, because commands on records match names and start without the libraries of topologies.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

#: A name's part before its last number (that of the host, not of the domain), the number, and the rest.
_NUMBERED = re.compile(r"([^.]*?)(0|[1-9][0-9]{0,8})([^.0-9]*(?:\..*)?)", re.DOTALL)


def folded(names: Iterable[str]) -> list[str]:
    """Return names in their order as a Slurm host list: neighbours that differ in a number are one, `n[0-3,7]`."""
    lists: list[str] = []
    around, numbers = ("", ""), [0][:0]
    for name in [*names, ""]:
        match = _NUMBERED.fullmatch(name)
        if match and numbers and (match[1], match[3]) == around:
            numbers.append(int(match[2]))
            continue
        if numbers:
            middle = f"[{_ranges(numbers)}]" if len(numbers) > 1 else str(numbers[0])
            lists.append(f"{around[0]}{middle}{around[1]}")
        around, numbers = ((match[1], match[3]), [int(match[2])]) if match else (("", ""), [])
        if name and not match:
            lists.append(name)
    return lists


def _ranges(numbers: Sequence[int]) -> str:
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(f"{first}-{last}" if last > first else str(first) for first, last in parts)


def matched(names: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """Return name -> the same host's name in a source: equal, or one of the two with its domain.

    A short name that two hosts of the source begin with matches neither.
    """
    exact = set(known)
    by_short: dict[str, list[str]] = {}
    for other in exact:
        by_short.setdefault(other.partition(".")[0], []).append(other)
    found: dict[str, str] = {}
    for name in names:
        others = by_short.get(name.partition(".")[0], [])
        alike = [other for other in others if other.startswith(f"{name}.") or name.startswith(f"{other}.")]
        if name in exact:
            found[name] = name
        elif len(alike) == 1:
            found[name] = alike[0]
    return found
