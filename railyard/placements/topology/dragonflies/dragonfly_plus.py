"""A dragonfly+: groups of leaf and spine switches, every leaf joined to every spine, global cables between spines.

Nodes are on leaves. A minimal route between groups is three links: up to the spine that has the cable, over the cable,
down to the leaf. Within a group it is up and down, by the spine with the number of the destination node modulo the
spines. A packet that must go from one spine of a third group to another goes down to a leaf and up again: the leaf with
that number modulo the leaves. Cables and Valiant's routes: `grouped`. After A. Shpiner et al., "Dragonfly+: low cost
topology for scaling datacenters", HiPINEB'17 (its abstract was read).

A leaf's coordinate is (group, leaf, 0) at level 0, a spine's (group, spine, 0) at level 1. Node order is group, then
leaf, then slot.

Document: `dragonfly_plus: {groups, leaves, spines, cables, arrangement, local_tiles, global_tiles, routes}`; link
classes `local` and `global`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from railyard.placements.arrays import Ints, np
from railyard.placements.topology.dragonflies.by_load import GroupedLoads
from railyard.placements.topology.dragonflies.grouped import cables_of
from railyard.placements.topology.switched import check_classes


@dataclass(frozen=True, kw_only=True)
class DragonflyPlus(GroupedLoads):
    """`group_leaves` and `group_spines` are the switches of a group."""

    key: ClassVar[str] = "dragonfly_plus"
    local_joins: ClassVar[str] = "leaf to spine"
    local_words: ClassVar[tuple[str, str]] = ("up", "down")
    local_letters: ClassVar[tuple[str, str]] = ("u", "d")
    level_words: ClassVar[tuple[str, ...]] = ("leaf", "spine")

    group_leaves: int
    group_spines: int

    @property
    def layout(self) -> str:
        return (
            f"{self.group_count} groups of {self.group_leaves} leaf and {self.group_spines} spine switches, "
            f"{self.cables.pairs} cable(s) per pair of groups"
        )

    @property
    def shape(self) -> Mapping[str, int]:
        return {"leaves": self.group_leaves, "spines": self.group_spines}

    @property
    def members(self) -> int:
        return self.group_leaves + self.group_spines

    @property
    def leaves(self) -> int:
        return self.group_leaves

    @property
    def first_gate(self) -> int:
        return self.group_leaves

    def local_pairs(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield every pair of a leaf and a spine, both ways."""
        for leaf in range(self.group_leaves):
            for spine in range(self.group_spines):
                yield leaf, self.group_leaves + spine, spine, 1
                yield self.group_leaves + spine, leaf, leaf, 0

    def towards(self, here: Ints, there: Ints, number: Ints) -> Ints:
        """Return the other end of the next link: the destination itself, or a stop at the other level."""
        is_spine = here >= self.group_leaves
        neighbours = is_spine != (there >= self.group_leaves)
        stop = np.where(is_spine, number % self.group_leaves, self.group_leaves + number % self.group_spines)
        return np.where(neighbours, there, stop)

    def gate_ways(self) -> Sequence[tuple[int, ...]]:
        """Return the ways by each of the leaves."""
        return tuple((leaf,) for leaf in range(self.group_leaves))


def parse(document: Mapping[str, Any], common: Mapping[str, Any], source: str) -> DragonflyPlus:
    """Return the dragonfly+ of a topology document; InputError names the field that is wrong."""
    entry = document["dragonfly_plus"]
    topology = DragonflyPlus(
        **common,
        group_count=entry["groups"],
        group_leaves=entry["leaves"],
        group_spines=entry["spines"],
        cables=cables_of(entry, source),
    )
    check_classes(source, topology.link_types, common["tile_rates_gbyte_s"])
    return topology
