"""A fat tree of two levels: leaf switches with nodes behind them, spines above, a cable from each leaf to each spine.

Routes go up to one spine and down, chosen by the destination alone: spine = slot of the destination modulo the spines,
as InfiniBand's fat-tree routing deals destinations over up-ports. So all traffic to a node meets at one spine, and
traffic to the nodes of a leaf is spread over all spines. Leaves out trees of three levels.

A leaf's coordinate is (leaf, 0, 0), a spine's (spine, 0, 0) at level 1. Node order is leaf, then slot.

Addresses in a rail: spine.leaf.slot, where `spine` is the one that serves the slot; 63.index.(253 + level) for a switch
itself, which others do not reach (31 or 15 with more than four or eight rails). So a leaf needs one route of 16 bits
for each spine, a spine one of 8 bits for each leaf and group of slots.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from railyard.placements.arrays import Ints, np
from railyard.placements.topology.base import no_route
from railyard.placements.topology.chosen.rules import SHORTEST
from railyard.placements.topology.parts import Block, Coordinate, Destination, Detours, Link, LinkClass, Node, Router
from railyard.placements.topology.switched import LinkType, Switched, Wiring, check_classes, check_divides, wire_tree

MOST_LEAVES = 200


@dataclass(frozen=True, kw_only=True)
class FatTree(Switched):
    """`nodes_per_router` is the nodes of a leaf; `oversubscription` the nodes of a leaf for each of its spines."""

    has_groups: ClassVar[bool] = False
    coordinate_names: ClassVar[tuple[str, ...]] = ("leaf",)
    level_words: ClassVar[tuple[str, ...]] = ("leaf", "spine")
    top_name: ClassVar[str] = "spine"
    choices: ClassVar[tuple[str, ...]] = SHORTEST

    leaves: int
    oversubscription: int = 1
    link_tiles: int = 1

    @property
    def spines(self) -> int:
        return self.nodes_per_router // self.oversubscription

    @property
    def extents(self) -> Coordinate:
        return self.leaves, 1, 1

    @property
    def layout(self) -> str:
        return f"{self.leaves} leaf and {self.spines} spine switches"

    @cached_property
    def plane(self) -> tuple[tuple[Coordinate, int], ...]:
        """Return the leaves and then the spines."""
        counts = enumerate((self.leaves, self.spines))
        return tuple(((index, 0, 0), level) for level, count in counts for index in range(count))

    @property
    def link_types(self) -> tuple[LinkType, ...]:
        return (LinkType(link_class=LinkClass.CABLE, tiles=self.link_tiles, joins="leaf to spine", port_letters=4),)

    @cached_property
    def wiring(self) -> Wiring:
        leaf, spine = np.indices((self.leaves, self.spines), dtype=np.int64).reshape(2, -1)
        return wire_tree(leaf, self.leaves + spine, labels=(leaf, spine))

    def steps(self, here: Ints, node: Ints) -> Ints:
        up = here * self.spines + self.slots[node] % self.spines
        down = self.leaves * self.spines + (here - self.leaves) * self.leaves + self.router_of_node[node]
        return np.asarray(np.where(here < self.leaves, up, down))

    def destination(self, coordinate: Coordinate, slot: int = 0, rail: int = 0) -> Destination:
        """Return the leaf and the group of slots that one spine serves."""
        return Destination(coordinate=coordinate, group=slot % self.spines)

    def detours_around(self, gone: frozenset[str], rail: int) -> Detours:
        """Return routes around dead links: instead of its spine, a leaf uses the next one that links both leaves.

        Raises InputError if no spine is linked to both leaves.
        """
        exceptions: dict[tuple[Router, Destination], Link] = {}
        ups = [self._ups(leaf, rail) for leaf in range(self.leaves)]
        live = [[link.name not in gone for link in own] for own in ups]
        arrives = [[self.reverse(link).name not in gone for link in own] for own in ups]
        for source, target in itertools.permutations(range(self.leaves), 2):
            alive = [spine for spine in range(self.spines) if live[source][spine] and arrives[target][spine]]
            leaf = ups[source][0].source
            if not alive:
                raise no_route(f"{self.router_name(leaf)} to leaf{target}")
            for group in (group for group in range(self.spines) if group not in alive):
                spine = min(alive, key=lambda s: (s - group) % self.spines)
                exceptions[leaf, Destination(coordinate=(target, 0, 0), group=group)] = ups[source][spine]
        return exceptions

    def _ups(self, leaf: int, rail: int) -> list[Link]:
        """Return the links from a leaf to every spine."""
        return [self.link(leaf * self.spines + spine, rail) for spine in range(self.spines)]

    @property
    def address_limits(self) -> Mapping[str, tuple[int, int]]:
        return {"tree.leaves": (self.leaves, MOST_LEAVES), "spines": (self.spines, self._switches)}

    def node_offset(self, node: Node) -> int:
        return _address(node.slot % self.spines, node.coordinate[0], node.slot)

    def router_offset(self, router: Router) -> int:
        return _address(self._switches, router.coordinate[0], 253 + router.level)

    @property
    def _switches(self) -> int:
        """Return the number in an address that marks a switch itself, one beyond the most spines."""
        return (1 << self.space_bits - 16) - 1

    def block(self, destination: Destination) -> Block:
        return Block(offset=_address(destination.group, destination.coordinate[0]), bits=8)

    def prefixes(self, router: Router) -> Mapping[Block, Link]:
        """Return a leaf's routes by spine; a spine's to every group of slots, because detours bring it others' too."""
        if router.level:
            return {self.block(to): self.next_link(router, to) for to in self.destinations}
        ups = self._ups(router.coordinate[0], router.rail)
        return {Block(offset=_address(spine), bits=16): link for spine, link in enumerate(ups)}

    def to_dict(self) -> dict[str, Any]:
        tree = {"leaves": self.leaves, "oversubscription": self.oversubscription, "tiles": self.link_tiles}
        return {**self._common(), "tree": tree}


def parse(document: Mapping[str, Any], common: Mapping[str, Any], source: str) -> FatTree:
    """Return the fat tree of a topology document with `tree`; InputError names the field that is wrong."""
    tree = document["tree"]
    over = tree.get("oversubscription", 1)
    topology = FatTree(**common, leaves=tree["leaves"], oversubscription=over, link_tiles=tree.get("tiles", 1))
    check_classes(source, topology.link_types, common["tile_rates_gbyte_s"])
    check_divides(over, common["nodes_per_router"], source, "tree.oversubscription")
    return topology


def _address(group: int, leaf: int = 0, slot: int = 0) -> int:
    return group << 16 | leaf << 8 | slot
