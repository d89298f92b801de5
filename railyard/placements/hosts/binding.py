"""Name the ways to bind a rank on its node.

Leaves out: which core or NUMA node that is (`railyard.placements.hosts.node`).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Binding(StrEnum):
    """Nothing, the core of the rank's local number, the NUMA node of that core, or the launcher's own default."""

    NONE = "none"
    CORE = "core"
    NUMA = "numa"
    LAUNCHER = "launcher"

    @property
    def is_known(self) -> bool:
        """Return whether railyard knows the processors of a rank before it runs."""
        return self in {Binding.CORE, Binding.NUMA}


#: What each binding is, for docs/placements.md.
BINDINGS: Mapping[Binding, str] = {
    Binding.NONE: "nothing; the system may move the rank",
    Binding.CORE: "the core of the rank's number on its node",
    Binding.NUMA: "a NUMA domain; the ranks of a node fill its domains in equal blocks",
    Binding.LAUNCHER: "what the launcher chooses: it gets no option that binds, and none that prevents binding",
}
