"""Define what a network is made of: routers, nodes attached to them, directed links with class and rate, rails.

`Network` is the base class of `Topology` (`base`), which adds how packets travel. A kind must define its routers, its
links and their names. Nodes are attached to a box of routers (`extents`): every router of a torus, the leaves of a fat
tree.

Rates are per direction: tiles x the class's rate per tile. A tile is the unit that links are made of: on Gemini one
of the router's 48 ports with three lanes (Ezell, CUG'13, section II.D), on InfiniBand a port with four lanes.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from railyard.base.errors import InputError
from railyard.placements.arrays import Floats, Ints, np
from railyard.placements.topology.parts import (
    ALL_BITS,
    MOST_BITS,
    Coordinate,
    Link,
    LinkClass,
    Node,
    Router,
    Switch,
    rail_suffix,
)


@dataclass(frozen=True, kw_only=True)
class Network(ABC):
    """Routers, nodes and links of every kind. Rates in GB/s (1e9 bytes per second) per direction.

    `names` are the names of the nodes that do not have the topology's own, by coordinate and slot; they are not part of
    the topology's document. `nodes_per_router` is the most nodes of a router; a kind with unequal numbers overrides
    `nodes_at`.
    """

    #: The calibration of a simulation on this kind (`railyard.torus.simulated.calibration`) when none is named.
    calibration: ClassVar[str] = "plain"
    #: The axis of a coordinate along which the nodes of one router get separate lattice positions (`cells`).
    slot_axis: ClassVar[int] = 1
    #: What the numbers of a node's coordinate are, without those that are always 0; empty if the kind does not name it.
    coordinate_names: ClassVar[tuple[str, ...]] = ()
    #: Whether the first number of a coordinate is the number of a group.
    has_groups: ClassVar[bool] = False
    #: What the routers of each level are called in names, and the switch above all in `switch_tree`.
    level_words: ClassVar[tuple[str, ...]] = ("r",)
    top_name: ClassVar[str] = "network"

    name: str
    tile_rates_gbyte_s: Mapping[str, float]
    host_tiles: int
    nodes_per_router: int = 1
    rails: int = 1
    sockets_per_node: int = 1
    lanes_per_tile: int = 3
    names: Mapping[tuple[Coordinate, int], str] = field(default_factory=dict)

    # What a kind must define.

    @property
    @abstractmethod
    def extents(self) -> Coordinate:
        """Return the extents of the box of routers to which nodes are attached."""

    @property
    @abstractmethod
    def layout(self) -> str:
        """Describe the routers in a few words, for people."""

    @abstractmethod
    def links_from(self, router: Router) -> Iterator[Link]:
        """Yield the directed links that leave a router, in the order of its ports."""

    @abstractmethod
    def reverse(self, link: Link) -> Link:
        """Return the link of the same cable in the other direction."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the document that `catalog.parse` reads back to an equal topology."""

    # What a kind defines otherwise if it has routers without nodes, or other names.

    @cached_property
    def routers(self) -> tuple[Router, ...]:
        """Return every router, rail by rail: by default those with nodes alone."""
        return tuple(Router(coordinate=c, rail=rail) for rail in range(self.rails) for c in self.coordinates)

    def router_name(self, router: Router) -> str:
        """Return the router's name as a host: `r3-5`, or `leaf3-5`, `spine3-5` and `spine2-3-5` where levels differ.

        On rail r > 0 it ends in `.r`.
        """
        words, level = self.level_words, router.level
        word = words[level] if level < len(words) else f"{words[-1]}{level}-"
        return word + "-".join(self._numbers_of(router.coordinate)) + rail_suffix(router.rail)

    def node_name(self, coordinate: Coordinate, slot: int = 0) -> str:
        """Return the name of the node in a slot of a router: `n3-5-0`, the router's coordinate and the slot."""
        return "n" + "-".join([*self._numbers_of(coordinate), str(slot)])

    def _numbers_of(self, coordinate: Coordinate) -> list[str]:
        """Return the numbers of a coordinate without those that are always 0."""
        return list(map(str, coordinate[: len(self.coordinate_names) or None]))

    # A kind may override the following, if its rails are joined in another way.

    @property
    def is_fabric(self) -> bool:
        """Return whether links, loads and routes are those of all rails; otherwise of the first of equal rails."""
        return False

    @property
    def planes(self) -> int:
        """Return how many networks the rails are dealt over: rail r is on network r modulo planes.

        A packet stays on the network of the NIC that sends it. There it goes to the NIC that has its address, or to
        the one in the same place (`arrives`).
        """
        return self.rails

    def plane_of(self, router: Router) -> int:
        """Return the rail of a router, or 0 where one table has all rails."""
        return 0 if self.is_fabric else router.rail

    def arrives(self, rail: int, sender: int) -> int:
        """Return the rail on which a packet for an address of `rail` arrives that a NIC of rail `sender` sends."""
        return rail - rail % self.planes + sender % self.planes

    def reached(self, rail: int) -> Sequence[int]:
        """Return the rails whose addresses lead to the NICs of a rail."""
        first = rail - rail % self.planes
        return range(first, first + self.planes)

    # What a kind may define otherwise: views for people, schedulers and benchmarks.

    def direction(self, link: Link) -> str:
        """Return the link's dimension and direction as two characters, as counters show them: `X+`."""
        return "L+" if link.step > 0 else "L-"

    def joins(self, link: Link) -> str:
        """Return what the link joins, in words for a table: a dimension, or two kinds of switch."""
        return "routers"

    def switch_tree(self) -> Iterator[Switch]:
        """Yield the network as a tree of switches, each after those below it.

        These are the routers with nodes, a switch for each group of them where there are groups, and one above all.
        """
        names: dict[int, list[str]] = {}
        groups = self.groups.tolist() if self.has_groups else [0] * len(self.coordinates)
        for group, switch in zip(groups, self.router_switches(), strict=True):
            if switch.nodes or not self.has_groups:
                yield switch
                names.setdefault(group, []).append(switch.name)
        if self.has_groups:
            for group, switches in names.items():
                yield Switch(name=f"group{group}", switches=tuple(switches))
            names = {0: [f"group{group}" for group in names]}
        yield Switch(name=self.top_name, switches=tuple(names[0]))

    def lattice_links(self) -> Iterator[Link]:
        """Yield the links that `topobw` measures as a lattice; none where `link_tests` lists its tests instead."""
        return iter(())

    # What a kind may define otherwise: groups of routers, and the table of links.

    @property
    def group_blocks(self) -> tuple[int, ...]:
        """Return how many groups a block of groups has, how many such blocks one of the next level has, and so on."""
        return ()

    @cached_property
    def groups(self) -> Ints:
        """Return the group of every router with nodes, in the order of `coordinates`; InputError without groups."""
        if not self.has_groups:
            raise InputError("groups", "topology", self.name, "a dragonfly, a fat tree, or another kind with groups")
        return np.array([at[0] for at in self.coordinates], dtype=np.int64)

    @cached_property
    def link_rates(self) -> Floats:
        """Return GB/s of the links of the first rail, 0 where there is none; the shape is the kind's."""
        return np.array([link.rate_gbyte_s for link in self.first_rail], dtype=np.float64)

    def link_at(self, flat: int) -> Link:
        """Return the link at an index into `link_rates` in row-major order."""
        return self.first_rail[flat]

    @cached_property
    def link_places(self) -> Mapping[str, int]:
        """Return name -> index into `link_rates`, in row-major order, of every link of the first rail."""
        return {self.link_at(index).name: index for index in np.flatnonzero(self.link_rates).tolist()}

    # What follows from the above.

    @cached_property
    def first_rail(self) -> tuple[Link, ...]:
        """Return the links of the first rail, or of the one network of all rails, in the order of `links`."""
        return tuple(link for link in self.links() if self.plane_of(link.source) == 0)

    @property
    def space_bits(self) -> int:
        """Return the base-2 logarithm of the number of addresses of one rail."""
        return min(MOST_BITS, ALL_BITS - (self.rails - 1).bit_length())

    @property
    def host_rate_gbyte_s(self) -> float:
        """Return the rate of a node's link to its router, per direction, per rail."""
        return self.host_tiles * self.tile_rates_gbyte_s[LinkClass.HOST]

    @cached_property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """Return the coordinate of every router with nodes, in row-major order."""
        return tuple(itertools.product(*map(range, self.extents)))

    @cached_property
    def router_numbers(self) -> Mapping[Coordinate, int]:
        """Return coordinate -> index in `coordinates`."""
        return {coordinate: number for number, coordinate in enumerate(self.coordinates)}

    @cached_property
    def router_indices(self) -> Mapping[Router, int]:
        """Return router -> index in `routers`."""
        return {router: index for index, router in enumerate(self.routers)}

    def nodes_at(self, coordinate: Coordinate) -> int:
        """Return the number of nodes of a router."""
        return self.nodes_per_router

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Return every node, in the topology's order: the first number of its coordinate slowest, its slot fastest."""
        return tuple(
            Node(coordinate=c, slot=slot, name=self.names.get((c, slot)) or self.node_name(c, slot))
            for c in self.coordinates
            for slot in range(self.nodes_at(c))
        )

    @cached_property
    def router_of_node(self) -> Ints:
        """Return the index in `coordinates` of every node's router; shape (nodes,)."""
        counts = [self.nodes_at(c) for c in self.coordinates]
        return np.repeat(np.arange(len(counts), dtype=np.int64), counts)

    @cached_property
    def first_node(self) -> Ints:
        """Return the index of the first node of every router; shape (coordinates,)."""
        return np.searchsorted(self.router_of_node, np.arange(len(self.coordinates))).astype(np.int64)

    @cached_property
    def slots(self) -> Ints:
        """Return every node's slot; shape (nodes,)."""
        slots: Ints = np.arange(len(self.router_of_node), dtype=np.int64) - self.first_node[self.router_of_node]
        return slots

    @cached_property
    def node_coordinates(self) -> Ints:
        """Return the router coordinate of every node; shape (nodes, dimensions), in the order of `nodes`."""
        at = np.array(self.coordinates, dtype=np.int64).reshape(-1, len(self.extents))
        return at[self.router_of_node]

    def cells(self, indices: Ints) -> Ints:
        """Return the lattice positions of nodes, where those of one router are consecutive along `slot_axis` (Y).

        `indices` are indices into `nodes`; the result has shape (indices, dimensions).
        """
        at = self.node_coordinates[indices].copy()
        axis = min(self.slot_axis, at.shape[1] - 1)
        at[:, axis] = at[:, axis] * self.nodes_per_router + self.slots[indices]
        return at

    def indices_of(self, coordinates: Ints) -> Ints:
        """Return the indices in the box of routers; shape (...) for coordinates of shape (..., dimensions)."""
        return np.asarray(np.ravel_multi_index(tuple(np.moveaxis(coordinates, -1, 0)), self.extents))

    def nodes_in(self, cells: Ints) -> Ints:
        """Return the nodes at lattice positions, as indices into `nodes`: the inverse of `cells`; shape (cells,)."""
        at = cells.copy()
        axis = min(self.slot_axis, at.shape[1] - 1)
        slots = at[:, axis] % self.nodes_per_router
        at[:, axis] //= self.nodes_per_router
        return np.asarray(self.first_node[self.indices_of(at)] + slots, dtype=np.int64)

    def box_of_cells(self, block: Sequence[int]) -> tuple[int, ...]:
        """Return the extents in lattice positions of a block of routers."""
        box = list(block)
        box[min(self.slot_axis, len(box) - 1)] *= self.nodes_per_router
        return tuple(box)

    def links(self) -> Iterator[Link]:
        """Yield every directed link, sorted by router, then by port."""
        for router in self.routers:
            yield from self.links_from(router)

    @cached_property
    def links_by_name(self) -> Mapping[str, Link]:
        """Return name -> directed link."""
        return {link.name: link for link in self.links()}

    def router_switches(self) -> Iterator[Switch]:
        """Yield the routers of the first rail that have nodes, as switches."""
        names: dict[Coordinate, list[str]] = {coordinate: [] for coordinate in self.coordinates}
        for node in self.nodes:
            names[node.coordinate].append(node.name)
        for coordinate, below in names.items():
            yield Switch(name=self.router_name(Router(coordinate=coordinate)), nodes=tuple(below))
