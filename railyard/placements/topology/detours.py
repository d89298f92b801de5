"""Routes round dead links, as tables: which link each router takes to each destination instead of its usual one.

Forwarding is by destination alone, so the tables of all routers must agree. Dead links that separate a pair of routers
are refused, which is Gemini's "unrouteable" state. The rule is the kind's (`Topology.detours`).
"""

from __future__ import annotations

from collections.abc import Collection

from railyard.placements.topology.base import Topology
from railyard.placements.topology.parts import Detours, Link


def detours(topology: Topology, dead: Collection[Link], rail: int) -> Detours:
    """Return the exceptions to the usual routes on one rail; empty when nothing is dead.

    Raises RunError that names the first pair of routers without a route.
    """
    gone = frozenset(link.name for link in dead if link.source.rail == rail)
    return topology.detours(gone, rail) if gone else {}
