"""Groups of switches with global cables between every pair of groups: what `dragonfly` and `dragonfly_plus` share.

Global cables. A pair of groups has `cables` of them. Group s numbers its global ports from 0, cable by cable; within
one cable it counts the other groups: in the order of their numbers (`consecutive`), or by their distance from s going
upwards and round (`palmtree`). With p ports in a group of n gates (the switches with global ports), port q is on gate
floor(q n / p): consecutive ports are on one gate, and gates differ by at most one port. They are intended as the
absolute and relative arrangements of the literature, which Z. Alzaid et al., "Global link arrangement for practical
Dragonfly", ICS'20, name in their abstract. The papers that define them were not read.

Minimal routes cross one global cable. Which of a pair's cables serves a node is its number in its group modulo the
cables, so equal parts of the traffic to a group use them.

Valiant's routes cross two: by way of a third group. `valiant_share` is the part of the traffic between groups that
takes them. With `spread: packets` this part of every message is spread evenly over all third groups and over all cables
on the way, as hardware does packet by packet; only the link-load model can do this. With `spread: nodes` it is that
part of the destination nodes, to which the third groups are dealt in turn; every router decides by the
destination alone, so the virtual and the simulated network do the same. Traffic from that third group is minimal.

With `spread: load` each pair of groups has a share of its own, chosen by load: `by_load`. Only the link-load model can
do this.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from railyard.base.errors import InputError
from railyard.placements.arrays import Ints, np
from railyard.placements.topology.parts import Block, Coordinate, Link, Router
from railyard.placements.topology.switched import LinkType, Switched, Wiring, check_classes, wire

Columns = dict[str, Ints]
GroupedKind = TypeVar("GroupedKind", bound="Grouped")

#: The document's fields of cables, and their defaults.
CABLES: Mapping[str, Any] = {"cables": 1, "arrangement": "consecutive", "local_tiles": 1, "global_tiles": 1}
LOCAL, GLOBAL = 0, 1
#: The value of `spread` with which loads decide.
BY_LOAD = "load"
GLOBAL_LENGTH = 16
#: Multiples of it, modulo 2 to the 32, are spread evenly (the golden ratio): the nodes below a share are chosen.
SCATTER = 2654435761


@dataclass(frozen=True, kw_only=True)
class Grouped(Switched):
    """Base of the kinds with groups: a kind defines how the switches of a group are joined.

    `leaves` are the switches of a group that nodes are on. `spines` are those without nodes, and come after them.
    `cables` are those of a pair of groups.
    """

    #: The document's key of the kind.
    key: ClassVar[str]
    #: Its fields of the numbers of switches of a group -> those of this class, and the switches of a group in words.
    sizes: ClassVar[Mapping[str, str]]
    group_text: ClassVar[str]
    local_joins: ClassVar[str]
    local_words: ClassVar[tuple[str, str]] = ("local", "local")

    group_count: int
    leaves: int
    spines: int = 0
    cables: int
    arrangement: str
    local_tiles: int
    global_tiles: int
    valiant_share: float
    spread: str

    @abstractmethod
    def local_pairs(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield (source, target, label of the port, whether up) of every directed link within a group."""

    @abstractmethod
    def towards(self, here: Ints, there: Ints, number: Ints) -> Ints:
        """Return the next switch of a group on the way from one of its switches to another.

        `number` is the destination's, by which equal ways are dealt.
        """

    @abstractmethod
    def gate_ways(self) -> Sequence[tuple[int, ...]]:
        """Return the equal ways between two gates of a group, each as the switches on the way."""

    @property
    def layout(self) -> str:
        group = self.group_text.format(leaves=self.leaves, spines=self.spines)
        return f"{self.group_count} groups of {group}, {self.cables} cable(s) per pair of groups"

    @property
    def link_types(self) -> tuple[LinkType, ...]:
        return (
            LinkType(words=self.local_words, link_class="local", tiles=self.local_tiles, joins=self.local_joins),
            LinkType(words=("global", "global"), link_class="global", tiles=self.global_tiles, joins="groups"),
        )

    def check_wired(self, what: str) -> None:
        """Raise InputError where packets are spread over third groups, or the load decides, for the model alone."""
        if self.spread != "nodes":
            valid = "spread: nodes; only the link-load model can spread packets or decide by load"
            raise InputError(what, f"{self.key}.routes.spread", self.spread, valid)

    @property
    def is_static(self) -> bool:
        return super().is_static and self.spread == "nodes"

    def link_length(self, link: Link) -> float:
        """Return more for a global cable than for any number of local links on a minimal way."""
        return float(GLOBAL_LENGTH if link.dimension == GLOBAL else 1)

    def part(self, router: Router) -> int:
        """Return the router's group."""
        return router.coordinate[0]

    def to_dict(self) -> dict[str, Any]:
        routes = dict[str, Any]()  # without routes where all are minimal
        if self.spread == BY_LOAD:
            routes = {"routes": {"spread": BY_LOAD}}
        elif self.valiant_share:
            routes = {"routes": {"valiant_share": self.valiant_share, "spread": self.spread}}
        part = {
            "groups": self.group_count,
            **{field: getattr(self, name) for field, name in self.sizes.items()},
            **{field: getattr(self, field) for field in CABLES},
            **routes,
        }
        return {**self._common(), self.key: part}

    @property
    def extents(self) -> Coordinate:
        return self.group_count, self.leaves, 1

    @property
    def members(self) -> int:
        """Return the switches of a group."""
        return self.leaves + self.spines

    @cached_property
    def plane(self) -> tuple[tuple[Coordinate, int], ...]:
        levels = [(member, level) for level, count in enumerate((self.leaves, self.spines)) for member in range(count)]
        return tuple(((group, at, 0), level) for group in range(self.group_count) for at, level in levels)

    @cached_property
    def gate(self) -> Ints:
        """Return the member of group s that has cable k to group t, at [s, t, k]; 0 where s is t.

        The gates are the last members of a group: its spines, or all where it has none.
        """
        count, pairs, gates = self.group_count, self.cables, self.spines or self.leaves
        s, t, k = np.meshgrid(np.arange(count), np.arange(count), np.arange(pairs), indexing="ij")
        other = (t - s - 1) % count if self.arrangement == "palmtree" else t - (t > s)
        port = k * (count - 1) + other
        at = self.members - gates + port * gates // max(1, pairs * (count - 1))
        return np.where(s == t, 0, at).astype(np.int64)

    @cached_property
    def wiring(self) -> Wiring:
        return self._wired[0]

    @property
    def local_link(self) -> Ints:
        """Return the link from member u to member v of group g, at [g, u, v]; -1 where there is none."""
        return self._wired[1]

    @property
    def global_link(self) -> Ints:
        """Return cable k from group s to group t, at [s, t, k]; -1 where s is t."""
        return self._wired[2]

    @cached_property
    def _wired(self) -> tuple[Wiring, Ints, Ints]:
        local, within = self._local_columns()
        far, across = self._global_columns(len(local["source"]))
        columns = {name: np.concatenate([local[name], far[name]]) for name in local}
        reverse = columns.pop("reverse")
        wiring, number = wire(columns, reverse)
        number = np.append(number, -1)
        return wiring, number[within], number[across]

    def _local_columns(self) -> tuple[Columns, Ints]:
        pairs = list(self.local_pairs())
        table = np.array(pairs, dtype=np.int64).reshape(-1, 4)
        group = np.arange(self.group_count, dtype=np.int64)[:, None]
        first = group * len(pairs)
        within = np.full((self.group_count, self.members, self.members), -1, dtype=np.int64)
        within[:, table[:, 0], table[:, 1]] = first + np.arange(len(pairs))
        columns = {
            "source": (group * self.members + table[:, 0]).ravel(),
            "target": (group * self.members + table[:, 1]).ravel(),
            "label": np.tile(table[:, 2], self.group_count),
            "up": np.tile(table[:, 3], self.group_count),
            "reverse": within[:, table[:, 1], table[:, 0]].ravel(),
        }
        zeros = np.zeros(len(columns["source"]), dtype=np.int64)
        return {**columns, "kind": zeros + LOCAL, "cable": zeros}, within

    def _global_columns(self, first: int) -> tuple[Columns, Ints]:
        cables = np.repeat(~np.eye(self.group_count, dtype=bool)[:, :, None], self.cables, axis=2)
        s, t, k = (at.astype(np.int64) for at in np.nonzero(cables))
        across = np.full(cables.shape, -1, dtype=np.int64)
        across[s, t, k] = first + np.arange(len(s))
        return {
            "source": s * self.members + self.gate[s, t, k],
            "target": t * self.members + self.gate[t, s, k],
            "label": t,
            "up": (s < t).astype(np.int64),
            "reverse": across[t, s, k],
            "kind": np.full(len(s), GLOBAL, dtype=np.int64),
            "cable": k,
        }, across

    # Routes.

    @cached_property
    def node_numbers(self) -> Ints:
        """Return every node's number in its group; shape (nodes,)."""
        group = self.groups[self.router_of_node]
        first = np.searchsorted(group, np.arange(self.group_count))
        return np.asarray(np.arange(len(group)) - first[group], dtype=np.int64)

    @cached_property
    def via(self) -> Ints:
        """Return the third group on the way to every node, or -1 where the way is minimal; shape (nodes,)."""
        count, share = self.group_count, self.valiant_share
        own = self.groups[self.router_of_node]
        if self.spread != "nodes" or not share:
            return np.full(len(own), -1, dtype=np.int64)
        chosen = np.arange(1, len(own) + 1, dtype=np.int64) * SCATTER % (1 << 32) < share * (1 << 32)
        third = own + 1 + (np.cumsum(chosen) - 1) % (count - 1)
        return np.where(chosen, third % count, -1).astype(np.int64)

    def steps(self, here: Ints, node: Ints) -> Ints:
        members = self.members
        end = self.hosts[self.router_of_node[node]]
        group, member, last = here // members, here % members, end // members
        via = self.via[node]
        aim = np.where((via >= 0) & (via != group) & (last != group), via, last)
        number = self.node_numbers[node]
        cable = number % self.cables
        goal = np.where(group == aim, end % members, self.gate[group, aim, cable])
        leaves = (group != aim) & (member == goal)
        step = np.where(leaves, member, self.towards(member, goal, number))
        return np.where(leaves, self.global_link[group, aim, cable], self.local_link[group, member, step])

    def prefixes(self, router: Router) -> Mapping[Block, Link]:
        place, node = self._place(router), np.arange(len(self.nodes))
        links = self.steps(np.full(len(node), place, dtype=np.int64), node)
        offset, bits, blocks = self._offsets, 0, dict[Block, Link]()
        is_left = self.hosts[self.router_of_node] != place
        while is_left.any():
            offset, links = offset[is_left], links[is_left]
            joined = np.flatnonzero(  # a block and the next one, to the same link, are one of twice the size
                ((offset[:-1] >> bits) % 2 == 0) & (np.diff(offset) == 1 << bits) & (np.diff(links) == 0)
            )
            is_left = np.zeros(len(offset), dtype=bool)
            is_left[joined] = is_left[joined + 1] = True
            for at, number in zip(offset[~is_left].tolist(), links[~is_left].tolist(), strict=True):
                blocks[Block(offset=at, bits=bits)] = self.link(number, router.rail)
            is_left[joined + 1] = False
            bits += 1
        return blocks

    @cached_property
    def _offsets(self) -> Ints:
        return np.array([self.node_offset(node) for node in self.nodes], dtype=np.int64)


def parsed(kind: type[GroupedKind], document: Mapping[str, Any], common: Mapping[str, Any], source: str) -> GroupedKind:
    """Return the network of a kind that a document describes; InputError names the field that is wrong."""
    entry = document[kind.key]
    routes = entry.get("routes", {})
    share = float(routes.get("valiant_share", 0))
    by_load_alone = routes.get("spread") == BY_LOAD
    if share and entry["groups"] < 3:
        raise InputError(source, "routes.valiant_share", share, "0 with fewer than three groups")
    if by_load_alone and (share or entry["groups"] < 3):
        raise InputError(source, "routes.spread", BY_LOAD, "no valiant_share with it, and three groups or more")
    topology = kind(
        **common,
        **{name: entry[field] for field, name in kind.sizes.items()},
        **{field: entry.get(field, default) for field, default in CABLES.items()},
        group_count=entry["groups"],
        valiant_share=share,
        spread=routes.get("spread", "nodes") if share or by_load_alone else "nodes",
    )
    check_classes(source, topology.link_types, common["tile_rates_gbyte_s"])
    return topology
