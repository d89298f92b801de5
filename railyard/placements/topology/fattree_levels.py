"""A fat tree with any number of levels of switches: leaves with nodes, and above each level another.

`levels` describes, from the leaves upwards, how one level is joined to the next: `children` switches of the level below
make a block, and each of them has `parents` links up. So a switch of the next level exists for every block and every
combination of the parents chosen on the way up (the extended generalised fat tree of S. Öhring et al., IPPS'95). The
links of a level have a class and tiles of their own; leaves may have unequal numbers of nodes.

Routes go up and then down. The spine rule is D-mod-k: of its w parents a switch of level i takes the one with the
number (d / W) mod w. Here d is the destination's number among the nodes (leaves counted as full) and W the product of
the parents on the levels below. So the traffic to one node uses one spine, whatever the source, and the nodes of a
leaf are spread over all of them (E. Zahavi, "D-Mod-K routing", 2010). A dead link sends a
route by other spines (`base`): a shortest way over live links, which is up and down while one is left.

A leaf's coordinate is (block, leaf, 0) with blocks of the first level; a switch above has (block, number, 0) with the
blocks of its own level. Placement by group means these first blocks, often called pods.

Document: `fat_tree: {levels: [{children, parents or oversubscription, tiles, class}, ...], leaf_nodes: [...]}`.
`oversubscription` gives the parents as the links down (nodes, for a leaf) divided by it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from railyard.base.errors import InputError
from railyard.placements.arrays import Ints, np
from railyard.placements.topology.chosen.rules import SHORTEST
from railyard.placements.topology.parts import Coordinate, LinkClass
from railyard.placements.topology.switched import LinkType, Switched, Wiring, check_classes, wire_tree

MOST_SWITCHES = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """How a level is joined to the next: switches of a block, links up of each, tiles and class of a link."""

    children: int
    parents: int
    tiles: int = 1
    link_class: str = LinkClass.CABLE


@dataclass(frozen=True, kw_only=True)
class FatTreeLevels(Switched):
    """`leaf_nodes` are the nodes of every leaf; `nodes_per_router` is the largest of them."""

    level_words: ClassVar[tuple[str, ...]] = ("leaf", "spine")
    choices: ClassVar[tuple[str, ...]] = SHORTEST

    levels: tuple[Level, ...]
    leaf_nodes: tuple[int, ...]

    @property
    def group_blocks(self) -> tuple[int, ...]:
        return tuple(level.children for level in self.levels[1:])

    @property
    def leaf_count(self) -> int:
        return len(self.leaf_nodes)

    @property
    def extents(self) -> Coordinate:
        pod = self.levels[0].children
        return self.leaf_count // pod, pod, 1

    @property
    def layout(self) -> str:
        counts = " + ".join(str(self.blocks(level) * self.width(level)) for level in range(self.height))
        return f"{counts} switches on {self.height} levels, oversubscription {self.oversubscription()}"

    @property
    def height(self) -> int:
        """Return the levels of switches."""
        return len(self.levels) + 1

    def oversubscription(self) -> str:
        """Return the rate down over the rate up of every level but the top, as text: `1:1, 2:1`."""
        rates = self.tile_rates_gbyte_s
        down, texts = self.nodes_per_router * self.host_rate_gbyte_s, []
        for level in self.levels:
            link_rate = level.tiles * rates[level.link_class]
            texts.append(f"{down / (level.parents * link_rate):.3g}:1")
            down = level.children * link_rate
        return ", ".join(texts)

    def width(self, level: int) -> int:
        """Return the switches of one block of a level."""
        return math.prod(below.parents for below in self.levels[:level])

    def blocks(self, level: int) -> int:
        """Return the blocks of a level: for the leaves, the leaves."""
        return math.prod(above.children for above in self.levels[level:])

    def nodes_at(self, coordinate: Coordinate) -> int:
        return self.leaf_nodes[coordinate[0] * self.levels[0].children + coordinate[1]]

    @cached_property
    def firsts(self) -> tuple[int, ...]:
        """Return the index in `plane` of the first switch of every level, and the number of all switches."""
        counts = [self.blocks(level) * self.width(level) for level in range(self.height)]
        return tuple(int(first) for first in np.cumsum([0, *counts]))

    @cached_property
    def plane(self) -> tuple[tuple[Coordinate, int], ...]:
        leaves = [(at, 0) for at in self.coordinates]
        above = [
            ((block, number, 0), level)
            for level in range(1, self.height)
            for block in range(self.blocks(level))
            for number in range(self.width(level))
        ]
        return (*leaves, *above)

    @property
    def link_types(self) -> tuple[LinkType, ...]:
        return tuple(
            LinkType(
                link_class=level.link_class,
                tiles=level.tiles,
                joins="leaf to spine" if number == 0 else f"level {number} to {number + 1}",
            )
            for number, level in enumerate(self.levels)
        )

    @cached_property
    def wiring(self) -> Wiring:
        ups = [self._up_links(level) for level in range(len(self.levels))]
        lower, upper, child, digit, kind = (np.concatenate(parts) for parts in zip(*ups, strict=True))
        return wire_tree(lower, upper, labels=(child, digit), kind=kind)

    @cached_property
    def _first_links(self) -> tuple[Ints, Ints]:
        """Return the first link down and the first link up of every switch."""
        down = np.searchsorted(self.wiring.source, np.arange(self.firsts[-1])).astype(np.int64)
        fans = [0, *(level.children for level in self.levels)]
        return down, down + np.repeat(np.array(fans, dtype=np.int64), np.diff(self.firsts))

    def _up_links(self, level: int) -> tuple[Ints, ...]:
        """Return (lower switch, upper switch, child's number, parent's number, type) of the links above a level."""
        joint, width = self.levels[level], self.width(level)
        grid = np.indices((self.blocks(level), width, joint.parents), dtype=np.int64).reshape(3, -1)
        block, number, digit = grid
        lower = self.firsts[level] + block * width + number
        above = block // joint.children * (width * joint.parents) + number + digit * width
        order = np.lexsort((digit, block % joint.children, block // joint.children))
        columns = (lower, self.firsts[level + 1] + above, block % joint.children, digit)
        kind = np.full(len(block), level, dtype=np.int64)
        return (*(column[order] for column in columns), kind)

    def steps(self, here: Ints, node: Ints) -> Ints:
        first_down, first_up = self._first_links
        leaf = self.router_of_node[node]
        number = leaf * self.nodes_per_router + self.slots[node]
        link = np.zeros(len(here), dtype=np.int64)
        for level in range(self.height):
            on = np.flatnonzero((here >= self.firsts[level]) & (here < self.firsts[level + 1]))
            at, to = here[on], leaf[on]
            block = (at - self.firsts[level]) // self.width(level)
            size = self.leaf_count // self.blocks(level)
            if level < len(self.levels):
                digit = number[on] // self.width(level) % self.levels[level].parents
                link[on] = first_up[at] + digit
            if level:
                below = size // self.levels[level - 1].children
                inside = to // size == block
                link[on] = np.where(inside, first_down[at] + to // below % self.levels[level - 1].children, link[on])
        return link

    def to_dict(self) -> dict[str, Any]:
        levels = [
            {"children": k.children, "parents": k.parents, "tiles": k.tiles, "class": str(k.link_class)}
            for k in self.levels
        ]
        part: dict[str, Any] = {"levels": levels}
        if set(self.leaf_nodes) != {self.nodes_per_router}:
            part["leaf_nodes"] = list(self.leaf_nodes)
        return {**self._common(), "fat_tree": part}


def parse(document: Mapping[str, Any], common: Mapping[str, Any], source: str) -> FatTreeLevels:
    """Return the fat tree of a topology document with `fat_tree`; InputError names the field that is wrong."""
    entry = document["fat_tree"]
    levels = tuple(_levels(entry["levels"], common["nodes_per_router"], source))
    leaves = math.prod(level.children for level in levels)
    nodes = tuple(entry.get("leaf_nodes", (common["nodes_per_router"],) * min(leaves, MOST_SWITCHES)))
    if len(nodes) != leaves:
        valid = f"{leaves}, as levels give, at most {MOST_SWITCHES}"
        raise InputError(source, "fat_tree.leaf_nodes", f"{len(nodes)} leaves", valid)
    if max(nodes) != common["nodes_per_router"]:
        valid = f"at most nodes_per_router: {common['nodes_per_router']}, once at least"
        raise InputError(source, "fat_tree.leaf_nodes", max(nodes), valid)
    topology = FatTreeLevels(**common, levels=levels, leaf_nodes=nodes)
    if topology.firsts[-1] > MOST_SWITCHES:
        raise InputError(source, "fat_tree.levels", f"{topology.firsts[-1]} switches", f"at most {MOST_SWITCHES}")
    check_classes(source, topology.link_types, common["tile_rates_gbyte_s"])
    return topology


def _levels(entries: list[Mapping[str, Any]], nodes: int, source: str) -> Iterator[Level]:
    down = nodes
    for number, entry in enumerate(entries):
        field = f"fat_tree.levels[{number}]"
        if ("parents" in entry) == ("oversubscription" in entry):
            raise InputError(source, field, sorted(entry), "either parents or oversubscription")
        over = entry.get("oversubscription", 1)
        if down % over:
            raise InputError(source, f"{field}.oversubscription", over, f"a divisor of the {down} links down")
        yield Level(
            children=entry["children"],
            parents=entry.get("parents", down // over),
            tiles=entry.get("tiles", 1),
            link_class=entry.get("class", LinkClass.CABLE),
        )
        down = entry["children"]
