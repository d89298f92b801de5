"""Match host names with and without their domains.

Below all rooms, because commands on records match names and start without the libraries of topologies.
"""

from __future__ import annotations

from collections.abc import Iterable


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
