"""Match host names with and without their domains, and fold lists of them.

It is in this room because commands on records match names and must start without numpy.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable

#: A name's part before its last number (that of the host, not of the domain), the number, and the rest.
_NUMBERED = re.compile(r"([^.]*?)(0|[1-9][0-9]{0,8})([^.0-9]*(?:\..*)?)", re.DOTALL)
#: A name without its domain.
_SHORT = re.compile(r"[^.]*(?:\.[0-9]+(?![^.]))*")


def folded(names: Iterable[str]) -> list[str]:
    """Return names as a Slurm host list, in order; neighbours that differ in a number are one entry, `n[0-3,7]`."""
    lists: list[str] = []
    affixes = ("", "")
    numbers: list[int] = []
    for name in [*names, ""]:
        match = _NUMBERED.fullmatch(name)
        if match and numbers and (match[1], match[3]) == affixes:
            numbers.append(int(match[2]))
            continue
        if numbers:
            by_run = itertools.groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])
            runs = [[number for _, number in run] for _, run in by_run]
            ranges = ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
            middle = f"[{ranges}]" if len(numbers) > 1 else ranges
            lists.append(f"{affixes[0]}{middle}{affixes[1]}")
        affixes, numbers = ((match[1], match[3]), [int(match[2])]) if match else (("", ""), [])
        if name and not match:
            lists.append(name)
    return lists


def short(name: str) -> str:
    """Return a host's name without its domain; a part of digits alone, as of an address, numbers the host itself."""
    return _SHORT.match(name)[0]  # type: ignore[index]  # it matches every text


def matched(names: Iterable[str], source_names: Iterable[str]) -> dict[str, str]:
    """Return name -> the name of the same host in `source_names`: the equal one, or one that differs in its domain.

    Either of the two may lack the domain. Two different domains match only if no other name on either side has the same
    short name. A short name that two names of the source begin with matches neither. Names without a match are left
    out.
    """
    exact, names = set(source_names), list(names)
    matches = {name: name for name in names if name in exact}
    others = [name for name in names if name not in exact]
    return matches | (_alike(others, names, exact) if others else {})


def _alike(others: Iterable[str], names: Iterable[str], source_names: Iterable[str]) -> dict[str, str]:
    """Return each of `others` that has one match -> that name of the source, which differs in its domain."""
    by_label: dict[str, list[str]] = {}
    for name in source_names:
        by_label.setdefault(name.partition(".")[0], []).append(name)
    counts = Counter(map(short, set(names)))
    matches: dict[str, str] = {}
    for name in others:
        candidates = by_label.get(name.partition(".")[0], [])
        alike = [one for one in candidates if one.startswith(f"{name}.") or name.startswith(f"{one}.")]
        if len(alike) == 1:
            matches[name] = alike[0]
        elif len(candidates) == counts[short(name)] == 1 and short(candidates[0]) == short(name):
            matches[name] = candidates[0]
    return matches


def natural(text: str) -> tuple[tuple[int, str], ...]:
    """Return a sort key in which numbers count as numbers: mlx5_2 before mlx5_10."""
    parts = re.findall(r"0*([0-9]+)|([^0-9]+)", text)
    return tuple((len(digits) or -1, digits or word) for digits, word in parts)
