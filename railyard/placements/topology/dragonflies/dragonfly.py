"""A dragonfly and a dragonfly+: groups of switches, and global cables between every pair of groups.

The groups of a dragonfly are routers that are joined all to all. A minimal route is at most three links: within the
group to the router that has the cable, over the cable, within the group to the destination. After J. Kim et al.,
"Technology-driven, highly-scalable dragonfly topology", ISCA'08 (its abstract was read). A router's coordinate is
(group, router, 0). Node order is group, then router, then slot. All routers have as many nodes.

The groups of a dragonfly+ are leaf and spine switches, every leaf joined to every spine, with cables between spines.
Nodes are on leaves. A minimal route between groups is three links: up to the spine that has the cable, over the cable,
down to the leaf. Within a group it is up and down, by the spine with the number of the destination node modulo the
spines. A packet that must go from one spine of a third group to another goes down to a leaf and up again: the leaf with
that number modulo the leaves. After A. Shpiner et al., "Dragonfly+: low cost topology for scaling datacenters",
HiPINEB'17 (its abstract was read). A leaf's coordinate is (group, leaf, 0) at level 0, a spine's (group, spine, 0) at
level 1. Node order is group, then leaf, then slot.

Cables and Valiant's routes of both: `grouped`. Link classes are `local` and `global`. Documents:

    dragonfly: {groups, routers, cables, arrangement, local_tiles, global_tiles, routes}
    dragonfly_plus: {groups, leaves, spines, cables, arrangement, local_tiles, global_tiles, routes}
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from railyard.placements.arrays import Ints, np
from railyard.placements.topology.dragonflies.by_load import GroupedLoads
from railyard.placements.topology.dragonflies.grouped import parsed


@dataclass(frozen=True, kw_only=True)
class Dragonfly(GroupedLoads):
    """`leaves` are the routers of a group."""

    key: ClassVar[str] = "dragonfly"
    sizes: ClassVar[Mapping[str, str]] = {"routers": "leaves"}
    group_text: ClassVar[str] = "{leaves} routers"
    local_joins: ClassVar[str] = "routers of a group"

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
    return parsed(Dragonfly, document, common, source)


@dataclass(frozen=True, kw_only=True)
class DragonflyPlus(GroupedLoads):
    """`leaves` and `spines` are the switches of a group."""

    key: ClassVar[str] = "dragonfly_plus"
    sizes: ClassVar[Mapping[str, str]] = {"leaves": "leaves", "spines": "spines"}
    group_text: ClassVar[str] = "{leaves} leaf and {spines} spine switches"
    local_joins: ClassVar[str] = "leaf to spine"
    local_words: ClassVar[tuple[str, str]] = ("up", "down")
    level_words: ClassVar[tuple[str, ...]] = ("leaf", "spine")

    def local_pairs(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield every pair of a leaf and a spine, both ways."""
        for leaf in range(self.leaves):
            for spine in range(self.spines):
                yield leaf, self.leaves + spine, spine, 1
                yield self.leaves + spine, leaf, leaf, 0

    def towards(self, here: Ints, there: Ints, number: Ints) -> Ints:
        """Return the other end of the next link: the destination itself, or a stop at the other level."""
        is_spine = here >= self.leaves
        neighbours = is_spine != (there >= self.leaves)
        stop = np.where(is_spine, number % self.leaves, self.leaves + number % self.spines)
        return np.where(neighbours, there, stop)

    def gate_ways(self) -> Sequence[tuple[int, ...]]:
        """Return the ways by each of the leaves."""
        return tuple((leaf,) for leaf in range(self.leaves))


def parse_plus(document: Mapping[str, Any], common: Mapping[str, Any], source: str) -> DragonflyPlus:
    """Return the dragonfly+ of a topology document; InputError names the field that is wrong."""
    return parsed(DragonflyPlus, document, common, source)
