"""Switches and groups without wiring: for a machine whose cables are not published.

It is enough to place by group and by switch. The distance between two switches is 0, 1 in the same group, or 2. What
needs links (loads, a virtual or simulated network, faults) is refused in one line.

A switch's coordinate is (group, switch, 0). Node order is group, then switch, then slot. Groups and switches may be
unequal: `nodes` has a list for each group, with the nodes of each of its switches.

Document: `groups: {groups, switches}` with `nodes_per_router`, or `groups: {nodes: [[16, 16, 8], [16, 16]]}`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from railyard.base.errors import InputError
from railyard.placements.arrays import Floats, Ints, NDArray, np
from railyard.placements.topology.base import Topology
from railyard.placements.topology.carried import Carried
from railyard.placements.topology.chosen.rules import FIXED
from railyard.placements.topology.parts import Coordinate, Link, Router


@dataclass(frozen=True, kw_only=True)
class Groups(Topology):
    """`counts[group][switch]` are the nodes of a switch; `nodes_per_router` is the largest of them.

    Where a group has fewer switches than another, its last ones have no nodes.
    """

    has_groups: ClassVar[bool] = True
    coordinate_names: ClassVar[tuple[str, ...]] = ("group", "switch")

    choices: ClassVar[tuple[str, ...]] = (FIXED,)

    counts: tuple[tuple[int, ...], ...]

    @property
    def extents(self) -> Coordinate:
        return len(self.counts), max(map(len, self.counts)), 1

    @property
    def layout(self) -> str:
        switches = sum(map(len, self.counts))
        return f"{len(self.counts)} groups with {switches} switches, wiring not known"

    def nodes_at(self, coordinate: Coordinate) -> int:
        own = self.counts[coordinate[0]]
        return own[coordinate[1]] if coordinate[1] < len(own) else 0

    def links_from(self, router: Router) -> Iterator[Link]:
        """Yield nothing: no cable is known."""
        return iter(())

    def reverse(self, link: Link) -> Link:
        raise self._unknown("links")

    def hops(self, sources: Ints, destinations: Ints) -> Ints:
        """Return the relation of two switches: 0 the same, 1 the same group, 2 another group."""
        group = sources[..., 0] != destinations[..., 0]
        hops: Ints = np.where(group, 2, (sources[..., 1] != destinations[..., 1]).astype(np.int64))
        return hops

    def carry_usual(self, source: Ints, node: Ints, sizes: Floats) -> Carried:
        raise self._unknown("link loads")

    def route_places(self, source: Ints, node: Ints) -> NDArray[np.int32]:
        raise self._unknown("routes")

    def check_wired(self, what: str) -> None:
        raise self._unknown(what)

    def to_dict(self) -> dict[str, Any]:
        return {**self._common(), "groups": {"nodes": [list(group) for group in self.counts]}}

    def _unknown(self, what: str) -> InputError:
        return InputError(what, "topology", self.name, "one with wiring; the kind groups has none")


def parse(document: Mapping[str, Any], common: Mapping[str, Any], source: str) -> Groups:
    """Return the groups of a topology document; InputError names the field that is wrong."""
    entry = document["groups"]
    if ("nodes" in entry) == ("groups" in entry or "switches" in entry):
        raise InputError(source, "groups", sorted(entry), "either nodes, or groups and switches")
    if "nodes" not in entry and not {"groups", "switches"} <= set(entry):
        raise InputError(source, "groups", sorted(entry), "groups and switches")
    if "nodes" in entry:
        counts = tuple(tuple(group) for group in entry["nodes"])
    else:
        counts = ((common["nodes_per_router"],) * entry["switches"],) * entry["groups"]
    most = max(max(group) for group in counts)
    if "nodes_per_router" in document and document["nodes_per_router"] != most:
        raise InputError(source, "nodes_per_router", document["nodes_per_router"], f"{most}, as groups.nodes has")
    return Groups(**{**common, "nodes_per_router": most}, counts=counts)
