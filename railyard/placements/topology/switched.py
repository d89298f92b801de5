"""Networks of switches as tables: the base of the fat trees, of the dragonflies and of `rail_optimised`.

A kind defines its wiring as arrays and one function, `steps`, that gives the next link of many packets at once. Names,
links, hops, detours, addresses and link loads follow from these two. Every node is a destination of its own, so that a
kind can spread destinations over equal ways by their numbers.

A switch's coordinate has three numbers, and the nodes are on switches of level 0. The rails are equal planes, so the
arrays describe one of them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from railyard.base.errors import InputError
from railyard.placements.arrays import Floats, Ints, NDArray, np
from railyard.placements.topology.base import Topology
from railyard.placements.topology.carried import Carried, added, summed
from railyard.placements.topology.parts import Block, Coordinate, Destination, Link, Router


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkType:
    """What the links of one type have in common: class, tiles, what they join, and how names begin.

    `words` are those of the two directions of a cable, of which one leads up by default; ports begin with so many of
    their letters.
    """

    link_class: str
    tiles: int
    joins: str
    words: tuple[str, str] = ("up", "down")
    port_letters: int = 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Wiring:
    """The directed links of one rail, sorted by source; every array has shape (links,).

    `kind` is an index into the topology's `link_types`, `cable` the number of a cable among those that are parallel,
    `label` what the port's name ends in, `reverse` the link of the same cable in the other direction. `up` is True for
    one of the two links of each cable.
    """

    source: Ints
    target: Ints
    kind: Ints
    cable: Ints
    label: Ints
    up: NDArray[np.bool_]
    reverse: Ints


def wire(columns: Mapping[str, Ints], reverse: Ints) -> tuple[Wiring, Ints]:
    """Return the wiring of links in any order, sorted by source, and the new number of every link given.

    The order of a switch's links is that in which they are given.
    """
    order = np.argsort(columns["source"], kind="stable")
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    sorted_columns = {name: values[order] for name, values in columns.items()}
    up = sorted_columns.pop("up").astype(bool)
    return Wiring(**sorted_columns, up=up, reverse=number[reverse[order]]), number


def wire_tree(lower: Ints, upper: Ints, *, labels: tuple[Ints, Ints], kind: Ints | int = 0) -> Wiring:
    """Return the wiring of single cables between lower and upper switches; a switch's links down precede those up.

    `labels` are those of the ports down and of the ports up. All arrays have shape (cables,).
    """
    count = len(lower)
    columns = {
        "source": np.concatenate([upper, lower]),
        "target": np.concatenate([lower, upper]),
        "label": np.concatenate(labels),
        "kind": np.tile(np.zeros(count, dtype=np.int64) + kind, 2),
        "cable": np.zeros(2 * count, dtype=np.int64),
        "up": np.repeat(np.array([0, 1], dtype=np.int64), count),
    }
    return wire(columns, np.roll(np.arange(2 * count, dtype=np.int64), count))[0]


@dataclass(frozen=True, kw_only=True)
class Switched(Topology):
    """Base of the kinds whose network is a table of switches and cables."""

    has_groups: ClassVar[bool] = True
    coordinate_names: ClassVar[tuple[str, ...]] = ("group", "switch")

    @property
    @abstractmethod
    def link_types(self) -> tuple[LinkType, ...]:
        """Return the types of the links."""

    @property
    @abstractmethod
    def wiring(self) -> Wiring:
        """Return the links of one rail."""

    @property
    @abstractmethod
    def plane(self) -> tuple[tuple[Coordinate, int], ...]:
        """Return coordinate and level of every switch of one rail."""

    @abstractmethod
    def steps(self, here: Ints, node: Ints) -> Ints:
        """Return the link that packets take at switches `here` (indices in `plane`) to nodes (indices in `ends`).

        What it returns for packets that have arrived has no meaning. All arrays have the same shape.
        """

    @cached_property
    def hosts(self) -> Ints:
        """Return the index in `plane` of the switch of every coordinate; shape (coordinates,).

        Where all NICs are on one network these are the switches of each rail in turn.
        """
        return np.flatnonzero([level == 0 for _, level in self.plane]).astype(np.int64)

    @cached_property
    def routers(self) -> tuple[Router, ...]:
        """Return every switch, rail by rail, in the order of `plane`."""
        return tuple(
            Router(coordinate=at, rail=rail, level=level) for rail in range(self.rails) for at, level in self.plane
        )

    def links_from(self, router: Router) -> Iterator[Link]:
        index = self._place(router)
        first, last = np.searchsorted(self.wiring.source, [index, index + 1])
        for number in range(first, last):
            yield self.link(number, self.plane_of(router))

    def link(self, number: int, rail: int = 0) -> Link:
        """Return the link with a number in `wiring`, on a rail that is a network of its own."""
        if (number, rail) in self._links:
            return self._links[number, rail]
        wiring, count = self.wiring, len(self.plane)
        source, target = (self.routers[rail * count + end[number]] for end in (wiring.source, wiring.target))
        kind, cable = int(wiring.kind[number]), int(wiring.cable[number])
        of = self.link_types[kind]
        names = [self.router_name(Router(coordinate=e.coordinate, level=e.level)) for e in (source, target)]
        own = max(source.rail, target.rail)
        suffix = (f"#{cable}" if cable else "") + (f"@{own}" if own else "")
        back = int(not wiring.up[number])
        link = self._links[number, rail] = Link(
            source=source,
            target=target,
            dimension=kind,
            step=1 if wiring.up[number] else -1,
            link_class=of.link_class,
            tiles=of.tiles,
            rate_gbyte_s=of.tiles * self.tile_rates_gbyte_s[of.link_class],
            port=f"{of.words[back][: of.port_letters]}{wiring.label[number]}" + (f"c{cable}" if cable else ""),
            name=f"{of.words[back]} {'>'.join(names)}{suffix}",
        )
        return link

    def reverse(self, link: Link) -> Link:
        return self.link(int(self.wiring.reverse[self._numbers[link.name]]), self.plane_of(link.source))

    # Routes.

    def destination(self, coordinate: Coordinate, slot: int = 0, rail: int = 0) -> Destination:
        """Return the node itself: equal ways are dealt to nodes."""
        return Destination(coordinate=coordinate, group=slot)

    def next_link(self, router: Router, destination: Destination) -> Link:
        row = self._rows.get(destination)
        if row is None:
            every = np.arange(len(self.plane), dtype=np.int64)
            node = np.full(len(every), self._node_index(destination), dtype=np.int64)
            row = self._rows[destination] = self.steps(every, node)
        return self.link(int(row[self._place(router)]), self.plane_of(router))

    def last_switches(self, here: Ints, node: Ints) -> Ints:
        """Return the switches (indices in `plane`) of nodes, for packets that are at switches `here`."""
        return np.asarray(self.hosts[self.router_of_node[node]])

    def concerned(self, gone: frozenset[str]) -> Sequence[Destination]:
        dead = np.zeros(len(self.wiring.source), dtype=bool)
        dead[[self._numbers[name] for name in gone]] = True
        every = np.arange(len(self.plane), dtype=np.int64)
        return [
            destination
            for index, destination in enumerate(self.destinations)
            if any(dead[link].any() for _, link in self._hop_by_hop(every, np.full_like(every, index)))
        ]

    def _hop_by_hop(self, here: Ints, node: Ints) -> Iterator[tuple[Ints, Ints]]:
        """Yield, hop by hop, the indices of the packets that have not arrived yet, and the link that each takes."""
        end, at = self.last_switches(here, node), here.copy()
        while len(on := np.flatnonzero(at != end)):
            link = self.steps(at[on], node[on])
            yield on, link
            at[on] = self.wiring.target[link]

    def hops(self, sources: Ints, destinations: Ints) -> Ints:
        """Return the links on the usual route to the first node of a switch."""
        source, target = np.broadcast_arrays(self.indices_of(sources), self.indices_of(destinations))
        places = self.route_places(source.ravel(), self.first_node[target.ravel()])
        return np.asarray((places >= 0).sum(axis=1).reshape(source.shape), dtype=np.int64)

    # Link loads.

    @cached_property
    def link_rates(self) -> Floats:
        """Return GB/s of every link of the first rail, in the order of `wiring`."""
        rates = np.array([t.tiles * self.tile_rates_gbyte_s[t.link_class] for t in self.link_types])
        return np.asarray(rates[self.wiring.kind], dtype=np.float64)

    def link_at(self, flat: int) -> Link:
        return self.link(flat)

    def carry_usual(self, source: Ints, node: Ints, sizes: Floats) -> Carried:
        source, node, sizes = summed(source, node, sizes, len(self.ends))
        return self.carry_along(self.hosts[source], node, sizes)

    def carry_along(self, at: Ints, node: Ints, sizes: Floats) -> Carried:
        """Return the bytes of packets that follow `steps` from switches to nodes."""
        loads, longest = np.zeros(len(self.wiring.source)), 0
        for on, link in self._hop_by_hop(at, node):
            loads += added(link, sizes[on], len(loads))
            longest += bool(sizes[on].any())
        return Carried(link_bytes=loads, longest=longest)

    @property
    def cut_weights(self) -> tuple[tuple[float, ...], ...]:
        """Return weights that make a bisection cut between groups until each part has one group."""
        return ((1e6, 1.0, 1.0),) if self.has_groups else super().cut_weights

    def route_places(self, source: Ints, node: Ints) -> NDArray[np.int32]:
        columns: list[NDArray[np.int32]] = []
        for on, link in self._hop_by_hop(self.hosts[source], node):
            columns.append(np.full(len(node), -1, dtype=np.int32))
            columns[-1][on] = link
        return np.stack(columns, axis=1) if columns else np.zeros((len(node), 0), dtype=np.int32)

    # Addresses, and views for people.

    def block(self, destination: Destination) -> Block:
        """Return the address of one node."""
        return Block(offset=super().block(destination).offset + destination.group, bits=0)

    def direction(self, link: Link) -> str:
        return self.link_types[link.dimension].words[0][0].upper() + ("+" if link.step > 0 else "-")

    def joins(self, link: Link) -> str:
        return self.link_types[link.dimension].joins

    # Places in tables.

    def _place(self, router: Router) -> int:
        """Return a switch's index in `plane`."""
        return self.router_indices[router] - self.plane_of(router) * len(self.plane)

    def _node_index(self, destination: Destination) -> int:
        return int(self.first_node[self.router_numbers[destination.coordinate]]) + destination.group

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """Return the number in `wiring` of every link by its name, on whichever rail."""
        count = len(self.wiring.source)
        planes = range(1 if self.is_fabric else self.rails)
        return {self.link(k, plane).name: k for plane in planes for k in range(count)}

    @cached_property
    def _links(self) -> dict[tuple[int, int], Link]:
        return {}

    @cached_property
    def _rows(self) -> dict[Destination, Ints]:
        return {}


def check_classes(source: str, types: tuple[LinkType, ...], rates: Mapping[str, Any]) -> None:
    """Raise InputError when a type of link has a class without a rate."""
    for of in types:
        if of.link_class not in rates:
            raise InputError(source, "tile_rates_gbyte_s", sorted(rates), f"a rate for the class {of.link_class}")


def check_divides(over: int, nodes: int, source: str, field: str) -> None:
    """Raise InputError for an oversubscription that does not divide the nodes of a leaf."""
    if nodes % over:
        divisors = ", ".join(str(n) for n in range(1, nodes + 1) if nodes % n == 0)
        raise InputError(source, field, over, f"a divisor of nodes_per_router: {divisors}")
