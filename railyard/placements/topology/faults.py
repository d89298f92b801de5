"""Describe the faults of a network: lanes lost, cables down, injection throttled, troubles; and the rates left.

A lane is a third of a Gemini tile (a quarter of an InfiniBand port). Lanes fail in one direction of a cable; a cable
that is down is down both ways. The rate of a link with lost lanes is linear in what is left: with `lanes` lost in
`tiles` of a link's tiles, 1 - (tiles / all tiles) (lanes / lanes of a tile).

Injection is the share of its rate at which a node's NICs may send (Ezell, CUG'13, section IV: balanced injection).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from railyard.base.errors import InputError
from railyard.placements.topology.base import Link, Node, Topology
from railyard.placements.topology.troubles import Trouble


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneLoss:
    """So many lanes lost in each of so many tiles of one directed link."""

    lanes: int
    tiles: int


@dataclass(frozen=True, kw_only=True)
class Faults:
    """Faults by name: lanes lost of directed links, those that are down, injection of nodes in percent, troubles."""

    lost: Mapping[str, LaneLoss] = field(default_factory=dict)
    down: frozenset[str] = frozenset()
    injection_percent: Mapping[str, float] = field(default_factory=dict)
    troubled: Mapping[str, Trouble] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.lost or self.down or self.injection_percent or self.troubled)

    def rate_gbyte_s(self, topology: Topology, link: Link) -> float:
        """Return what is left of a link's rate, lost lanes considered; a link that is down keeps its number."""
        loss = self.lost.get(link.name)
        if loss is None:
            return link.rate_gbyte_s
        return link.rate_gbyte_s * (1 - loss.tiles / link.tiles * loss.lanes / topology.lanes_per_tile)

    def injection_gbyte_s(self, topology: Topology, node: Node) -> float:
        """Return the rate at which each NIC of a node may send."""
        return topology.host_rate_gbyte_s * self.injection_percent.get(node.name, 100.0) / 100

    def lose_lanes(self, topology: Topology, link: Link, lanes: int, tiles: int) -> Faults:
        """Add lost lanes on a healthy link. InputError for one that has a fault, or has not as many lanes or tiles."""
        self._healthy(link)
        if not 1 <= lanes < topology.lanes_per_tile:
            raise InputError("--lanes-lost", "", lanes, f"1 to {topology.lanes_per_tile - 1}, of {link.name}")
        if not 1 <= tiles <= link.tiles:
            raise InputError("--of-tiles", "", tiles, f"1/{link.tiles} to {link.tiles}/{link.tiles}, of {link.name}")
        return replace(self, lost={**self.lost, link.name: LaneLoss(lanes=lanes, tiles=tiles)})

    def take_down(self, topology: Topology, link: Link) -> Faults:
        """Add both directions of a healthy link's cable that goes down. InputError when either has a fault."""
        both = (link, topology.reverse(link))
        self._healthy(*both)
        return replace(self, down=self.down | {direction.name for direction in both})

    def trouble(self, topology: Topology, link: Link, trouble: Trouble) -> Faults:
        """Add the trouble of a healthy link, on both directions of its cable if it falls silent."""
        directions = (link, topology.reverse(link)) if trouble.silent else (link,)
        self._healthy(*directions)
        return replace(self, troubled={**self.troubled, **{one.name: trouble for one in directions}})

    def throttle(self, nodes: tuple[Node, ...], percent: float) -> Faults:
        """Limit the injection of some nodes to a percentage of the host link's rate; 100 removes the limit."""
        others = {name: p for name, p in self.injection_percent.items() if name not in {n.name for n in nodes}}
        chosen = {node.name: percent for node in nodes} if percent < 100 else {}
        return replace(self, injection_percent={**others, **chosen})

    def restore(self, topology: Topology, link: Link) -> Faults:
        """Remove the faults of a link, both ways of a cable that is down or silent. InputError when it has none."""
        faulty = {*self.lost, *self.down, *self.troubled}
        if link.name not in faulty:
            raise InputError("--restore", "link", link.name, ", ".join(sorted(faulty)) or "no link has a fault")
        is_silent = link.name in self.troubled and self.troubled[link.name].silent
        healed = {link.name} | ({topology.reverse(link).name} if link.name in self.down or is_silent else set())
        return replace(
            self,
            lost={name: loss for name, loss in self.lost.items() if name not in healed},
            down=self.down - healed,
            troubled={name: trouble for name, trouble in self.troubled.items() if name not in healed},
        )

    def check_steady(self) -> None:
        """Raise InputError for a trouble, which the network `router` of a virtual torus alone has."""
        for name, trouble in self.troubled.items():
            raise InputError("fault", "", f"{name}: {trouble.text}", "lanes lost, a cable down, or network router")

    @cached_property
    def summary(self) -> tuple[str, ...]:
        """Return one line for people for each fault."""
        lines = [f"{name}: {loss.lanes} lane(s) lost in {loss.tiles} tile(s)" for name, loss in self.lost.items()]
        lines += [f"{name}: down" for name in sorted(self.down)]
        lines += [f"{name}: {trouble.text}" for name, trouble in self.troubled.items()]
        for percent in sorted(set(self.injection_percent.values())):
            names = [name for name, p in self.injection_percent.items() if p == percent]
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            lines.append(f"{', '.join(names[:3])}{more}: injection at {percent:g} %")
        return tuple(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the document that `parse` reads back."""
        return {
            "lost": {name: asdict(loss) for name, loss in self.lost.items()},
            "down": sorted(self.down),
            "injection_percent": dict(self.injection_percent),
            "troubled": {name: asdict(trouble) for name, trouble in self.troubled.items()},
        }

    def _healthy(self, *links: Link) -> None:
        states = (("down", self.down), ("degraded", self.lost), ("in trouble", self.troubled))
        for link, (state, names) in itertools.product(links, states):
            if link.name in names:
                raise InputError("fault", "link", link.name, f"a healthy link; this one is {state}: --restore it first")


def parse(document: Mapping[str, Any]) -> Faults:
    """Return what `Faults.to_dict` wrote."""
    return Faults(
        lost={name: LaneLoss(**loss) for name, loss in document["lost"].items()},
        down=frozenset(document["down"]),
        injection_percent=document["injection_percent"],
        troubled={name: Trouble(**trouble) for name, trouble in document.get("troubled", {}).items()},
    )


def find_link(topology: Topology, text: str) -> Link:
    """Return the link of a name (`X+ 0,0,0>1,0,0`, `up leaf0>spine1@1`), or of a torus's coordinates (`0,0,0>1,0,0`).

    Blanks and case do not count. InputError lists names like the one given.
    """

    def plain(text: str) -> str:
        return "".join(text.lower().split())

    topology.check_wired("link")
    wanted = plain(text)
    links = [link for link in topology.links() if wanted in (plain(link.name), plain(link.name.split(" ")[1]))]
    if len(links) == 1:
        return links[0]
    source = wanted.partition(">")[0].lstrip("xyz+-updown")
    names = list(topology.links_by_name)
    near = [name for name in names if source and plain(name).split(">")[0].endswith(source)]
    raise InputError("link", "", text, ", ".join(f"'{name}'" for name in (near or names)[:6]) + ", ...")


def find_node(topology: Topology, name: str) -> Node:
    """Return the node of a name; InputError shows what node names look like."""
    for node in topology.nodes:
        if node.name == name:
            return node
    first = ", ".join(node.name for node in topology.nodes[:4])
    raise InputError("node", "", name, f"{first}, ... of {topology.name}")
