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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from railyard.base.errors import InputError
from railyard.placements.arrays import NDArray, np
from railyard.placements.topology.base import Topology, no_route
from railyard.placements.topology.chosen.rules import SHORTEST
from railyard.placements.topology.parts import Block, Coordinate, Destination, Detours, Link, LinkClass, Node, Router
from railyard.placements.topology.switched import check_divides

MOST_LEAVES = 200


@dataclass(frozen=True, kw_only=True)
class FatTree(Topology):
    """`nodes_per_router` is the nodes of a leaf; `oversubscription` the nodes of a leaf for each of its spines."""

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
    def routers(self) -> tuple[Router, ...]:
        """Return, rail by rail, the leaves and then the spines."""
        return tuple(
            Router(coordinate=(index, 0, 0), rail=rail, level=level)
            for rail in range(self.rails)
            for level, count in enumerate((self.leaves, self.spines))
            for index in range(count)
        )

    def links_from(self, router: Router) -> Iterator[Link]:
        """Yield the links from a leaf to every spine, or from a spine to every leaf."""
        for index in range(self.leaves if router.level else self.spines):
            yield self.link(router, index)

    def link(self, source: Router, index: int) -> Link:
        """Return the link from a leaf to the spine `index`, or from a spine to the leaf `index`."""
        target = Router(coordinate=(index, 0, 0), rail=source.rail, level=1 - source.level)
        direction = ("up", "down")[source.level]
        ends = [f"{self.level_words[end.level]}{end.coordinate[0]}" for end in (source, target)]
        return Link(
            source=source,
            target=target,
            dimension=0,
            step=1 - 2 * source.level,
            link_class=LinkClass.CABLE,
            tiles=self.link_tiles,
            rate_gbyte_s=self.link_tiles * self.tile_rates_gbyte_s[LinkClass.CABLE],
            port=f"{direction}{index}",
            name=f"{direction} {'>'.join(ends)}" + (f"@{source.rail}" if source.rail else ""),
        )

    def reverse(self, link: Link) -> Link:
        return self.link(link.target, link.source.coordinate[0])

    def destination(self, coordinate: Coordinate, slot: int = 0, rail: int = 0) -> Destination:
        """Return the leaf and the group of slots that one spine serves."""
        return Destination(coordinate=coordinate, group=slot % self.spines)

    def next_link(self, router: Router, destination: Destination) -> Link:
        return self.link(router, destination.coordinate[0] if router.level else destination.group)

    def detours_around(self, gone: frozenset[str], rail: int) -> Detours:
        """Return routes around dead links: instead of its spine, a leaf uses the next one that links both leaves.

        Raises InputError if no spine is linked to both leaves.
        """
        exceptions: dict[tuple[Router, Destination], Link] = {}
        for source, target in itertools.permutations(self.coordinates, 2):
            leaf = Router(coordinate=source, rail=rail)
            ups = [self.link(leaf, spine) for spine in range(self.spines)]
            downs = [self.link(up.target, target[0]) for up in ups]
            alive = [spine for spine in range(self.spines) if not gone & {ups[spine].name, downs[spine].name}]
            if not alive:
                raise no_route(f"{self.router_name(leaf)} to leaf{target[0]}")
            for group in range(self.spines):
                if group not in alive:
                    spine = min(alive, key=lambda s: (s - group) % self.spines)
                    exceptions[leaf, Destination(coordinate=target, group=group)] = ups[spine]
        return exceptions

    def hops(self, sources: NDArray[np.int64], destinations: NDArray[np.int64]) -> NDArray[np.int64]:
        hops: NDArray[np.int64] = np.where(sources[..., 0] == destinations[..., 0], 0, 2)
        return hops

    def check_addresses(self) -> None:
        limits = {"tree.leaves": (self.leaves, MOST_LEAVES), "spines": (self.spines, self._switches)}
        for field, (value, limit) in limits.items():
            if value > limit:
                raise InputError(self.name, field, value, f"at most {limit} in a virtual torus")

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
        return {Block(offset=_address(spine), bits=16): self.link(router, spine) for spine in range(self.spines)}

    def direction(self, link: Link) -> str:
        return "U+" if link.step > 0 else "U-"

    def joins(self, link: Link) -> str:
        return "leaf to spine"

    def to_dict(self) -> dict[str, Any]:
        tree = {"leaves": self.leaves, "oversubscription": self.oversubscription, "tiles": self.link_tiles}
        return {**self._common(), "tree": tree}


def parse(document: Mapping[str, Any], common: Mapping[str, Any], source: str) -> FatTree:
    """Return the fat tree of a topology document with `tree`; InputError names the field that is wrong."""
    tree, rates = document["tree"], common["tile_rates_gbyte_s"]
    if LinkClass.CABLE not in rates:
        raise InputError(source, "tile_rates_gbyte_s", sorted(rates), "a rate for the class cable")
    over = tree.get("oversubscription", 1)
    check_divides(over, common["nodes_per_router"], source, "tree.oversubscription")
    return FatTree(**common, leaves=tree["leaves"], oversubscription=over, link_tiles=tree.get("tiles", 1))


def _address(group: int, leaf: int = 0, slot: int = 0) -> int:
    return group << 16 | leaf << 8 | slot
