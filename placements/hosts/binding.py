"""What a rank is bound to on its node. Leaves out: which core or NUMA node that is (`placements.hosts.node`)."""

from __future__ import annotations

from enum import StrEnum


class Binding(StrEnum):
    """Nothing, the core of the rank's local number, or the NUMA node of that core."""

    NONE = "none"
    CORE = "core"
    NUMA = "numa"
