"""Name the ways to bind a rank on its node. Leaves out: which core or NUMA node that is (`placements.hosts.node`)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Binding(StrEnum):
    """Nothing, the core of the rank's local number, or the NUMA node of that core."""

    NONE = "none"
    CORE = "core"
    NUMA = "numa"


#: What each binding is, for docs/placements.md.
BINDINGS: Mapping[Binding, str] = {
    Binding.NONE: "nothing; the system may move the rank",
    Binding.CORE: "the core of the rank's number on its node",
    Binding.NUMA: "a NUMA domain; the ranks of a node fill its domains in equal blocks",
}
