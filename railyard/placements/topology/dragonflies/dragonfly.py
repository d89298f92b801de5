"""A dragonfly: groups of routers that are joined all to all, and global cables between every pair of groups.

A minimal route is at most three links: within the group to the router that has the cable, over the cable, within the
group to the destination. Cables and Valiant's routes: `grouped`. After J. Kim et al., "Technology-driven,
highly-scalable dragonfly topology", ISCA'08 (its abstract was read).

A router's coordinate is (group, router, 0). Node order is group, then router, then slot. All
routers have as many nodes.

Document: `dragonfly: {groups, routers, cables, arrangement, local_tiles, global_tiles, routes}`; link classes `local`
and `global`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from railyard.placements.arrays import Ints
from railyard.placements.topology.dragonflies.by_load import GroupedLoads
from railyard.placements.topology.dragonflies.grouped import parsed


@dataclass(frozen=True, kw_only=True)
class Dragonfly(GroupedLoads):
    """`leaves` are the routers of a group."""

    key: ClassVar[str] = "dragonfly"
    local_joins: ClassVar[str] = "routers of a group"

    @property
    def layout(self) -> str:
        size = f"{self.group_count} groups of {self.leaves} routers"
        return f"{size}, {self.cables.pairs} cable(s) per pair of groups"

    @property
    def shape(self) -> Mapping[str, int]:
        return {"routers": self.leaves}

    def local_pairs(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield every pair of routers."""
        for source, target in itertools.permutations(range(self.leaves), 2):
            yield source, target, target, int(source < target)

    def towards(self, here: Ints, there: Ints, number: Ints) -> Ints:
        """Return the other router: every two are neighbours."""
        return there

    def gate_ways(self) -> Sequence[tuple[int, ...]]:
        """Return the one way without a stop."""
        return ((),)


def parse(document: Mapping[str, Any], common: Mapping[str, Any], source: str) -> Dragonfly:
    """Return the dragonfly of a topology document; InputError names the field that is wrong."""
    entry = document["dragonfly"]
    return parsed(Dragonfly, entry, common, source, leaves=entry["routers"])
