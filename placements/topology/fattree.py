"""A fat tree of two levels: leaf switches with nodes behind them, spines above, a cable from each leaf to each spine.

Routes go up to one spine and down, chosen by the destination alone: spine = slot of the destination modulo the spines,
as InfiniBand's fat-tree routing deals destinations over up-ports. So all traffic to a node meets at one spine, and
traffic to the nodes of a leaf is spread over all spines. Leaves out adaptive routing and trees of three levels.

A leaf's coordinate is (leaf, 0, 0), a spine's (spine, 0, 0) at level 1. Node order is leaf, then slot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placements.topology.base import Coordinate, Link, LinkClass, Router, Topology, rail_suffix


@dataclass(frozen=True, kw_only=True)
class FatTree(Topology):
    """`nodes_per_router` is the nodes of a leaf; `oversubscription` the nodes of a leaf for each of its spines."""

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
        """Rail by rail, the leaves and then the spines."""
        return tuple(
            Router(coordinate=(index, 0, 0), rail=rail, level=level)
            for rail in range(self.rails)
            for level, count in enumerate((self.leaves, self.spines))
            for index in range(count)
        )

    def router_name(self, router: Router) -> str:
        """`leaf3`, `spine2`."""
        return ("leaf", "spine")[router.level] + str(router.coordinate[0]) + rail_suffix(router.rail)

    def node_name(self, coordinate: Coordinate, slot: int = 0) -> str:
        """`nL-S`: leaf and slot."""
        return f"n{coordinate[0]}-{slot}"

    def links_from(self, router: Router) -> Iterator[Link]:
        """From a leaf to every spine, from a spine to every leaf."""
        for index in range(self.leaves if router.level else self.spines):
            yield self.link(router, index)

    def link(self, source: Router, index: int) -> Link:
        """The link from a leaf to the spine `index`, or from a spine to the leaf `index`."""
        target = Router(coordinate=(index, 0, 0), rail=source.rail, level=1 - source.level)
        direction = ("up", "down")[source.level]
        ends = [f"{('leaf', 'spine')[end.level]}{end.coordinate[0]}" for end in (source, target)]
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

    def spine_of(self, slot: int) -> int:
        """The spine through which traffic to a slot of any leaf goes."""
        return slot % self.spines

    def hops(self, sources: NDArray[np.int64], destinations: NDArray[np.int64]) -> NDArray[np.int64]:
        apart: NDArray[np.int64] = np.where(sources[..., 0] == destinations[..., 0], 0, 2)
        return apart

    def to_dict(self) -> dict[str, Any]:
        tree = {"leaves": self.leaves, "oversubscription": self.oversubscription, "tiles": self.link_tiles}
        return {**self._common(), "tree": tree}
