"""A torus of routers with classes of links along its dimensions, as Cray's Gemini.

Routes are dimension order: X, then Y, then Z, the shortest way round in each. `rings.step` is the whole routing
function. Tie rule: a destination exactly half-way round an even dimension is reached in the plus direction from an even
coordinate and in the minus direction from an odd one, so that ties load both directions alike. After the first step of
a tie the rest is not a tie, so every router can decide alone.

Addresses in a rail: x.y.(8 z + slot), slot 7 for the router itself. So a router needs X - 1 routes of 16 bits, Y - 1 of
8 and Z - 1 of 3.

Detours: every pair of routers whose X-Y-Z route crosses a dead link tries the other dimension orders and, in each
dimension, the long way round (Ezell, CUG'13, section II.E: "dimension order retry"), in this order: fewest dimensions
the long way, then X-Y-Z before the other orders. Every pair is then walked through the tables, and dead links that
separate one are refused.

Leaves out virtual channels; chosen routes are in `chosen`.

Conventions, each tested in tests/placements/topology/test_topology.py:

- Coordinates are (x, y, z), counted from 0. Node order is X slowest, Z fastest, then the node's slot on its router.
- `pattern[i % len(pattern)]` is the class of the cable from coordinate i to i + 1 (modulo the extent).
- An extent of 2 has ONE cable between its two routers, that of coordinate 0 upwards. Plus and minus are two names for
  the same neighbour and the same link. An extent of 1 has no cable.

Rates: Pedretti et al., CUG'13, Table II and section III.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from railyard.base.errors import InputError, RunError
from railyard.placements.arrays import Floats, Ints, NDArray, np
from railyard.placements.topology import rings
from railyard.placements.topology.base import Topology, no_route
from railyard.placements.topology.carried import Carried
from railyard.placements.topology.chosen.rules import SHORTEST
from railyard.placements.topology.parts import Block, Coordinate, Destination, Detours, Link, Node, Router, Switch
from railyard.placements.topology.rings import step

DIMENSIONS = "XYZ"
#: The slot of a router's own address, after those of its nodes.
ROUTER_SLOT = 7
#: The largest extents of Y and Z that the addresses reach.
ADDRESSED = (256, 32)
#: Bits of an address below those of each dimension.
ADDRESS_BITS = (16, 8, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """One torus dimension: its length in routers, the tiles of each link, the classes along it."""

    extent: int
    tiles: int
    pattern: tuple[str, ...]

    def link_class(self, index: int) -> str:
        """Return the class of the cable between coordinates `index` and `index + 1`."""
        return self.pattern[index % len(self.pattern)]


@dataclass(frozen=True, kw_only=True)
class Torus(Topology):
    """One to three dimensions that close on themselves."""

    calibration: ClassVar[str] = "gemini"
    coordinate_names: ClassVar[tuple[str, ...]] = ("x", "y", "z")

    dimensions: tuple[Dimension, Dimension, Dimension]

    @property
    def extents(self) -> Coordinate:
        x, y, z = self.dimensions
        return x.extent, y.extent, z.extent

    @property
    def layout(self) -> str:
        return "x".join(map(str, self.extents)) + " routers"

    def node_name(self, coordinate: Coordinate, slot: int = 0) -> str:
        """Return `n0-1-2`; with several nodes per router `n0-1-2-s`."""
        name = super().node_name(coordinate, slot)
        return name if self.nodes_per_router > 1 else name.rpartition("-")[0]

    def links_from(self, router: Router) -> Iterator[Link]:
        """Yield the links X+ X- Y+ Y- Z+ Z-, without those that do not exist."""
        for dimension, extent in enumerate(self.extents):
            # With an extent of 2, plus and minus are one link.
            for sign in (1, -1)[: extent - 1]:
                yield self.link(router, dimension, sign)

    def link(self, source: Router, dimension: int, step: int) -> Link:
        """Return the link that leaves `source` along `dimension` in direction `step`."""
        along = self.dimensions[dimension]
        position = source.coordinate[dimension]
        if along.extent == 2:
            step = 1 if position == 0 else -1
        lower = position if step > 0 else (position - 1) % along.extent
        link_class = along.link_class(lower)
        there = (position + step) % along.extent
        target = (*source.coordinate[:dimension], there, *source.coordinate[dimension + 1 :])
        direction = DIMENSIONS[dimension] + ("+" if step > 0 else "-")
        ends = ">".join(",".join(map(str, at)) for at in (source.coordinate, target))
        return Link(
            source=source,
            target=Router(coordinate=target, rail=source.rail),
            dimension=dimension,
            step=step,
            link_class=link_class,
            tiles=along.tiles,
            rate_gbyte_s=along.tiles * self.tile_rates_gbyte_s[link_class],
            port=direction.lower(),
            name=f"{direction} {ends}" + (f"@{source.rail}" if source.rail else ""),
        )

    def reverse(self, link: Link) -> Link:
        return self.link(link.target, link.dimension, -link.step)

    def next_link(self, router: Router, destination: Destination) -> Link:
        for dimension, extent in enumerate(self.extents):
            move = rings.step(router.coordinate[dimension], destination.coordinate[dimension], extent)
            if move:
                return self.link(router, dimension, move)
        raise ValueError(f"{self.router_name(router)} is the destination")

    def closes_ring(self, link: Link) -> bool:
        """Return whether a link leads from the last coordinate of a ring to its first, or back."""
        last = self.extents[link.dimension] - 1
        return link.source.coordinate[link.dimension] == (last if link.step > 0 else 0)

    def waypoints(self, source: Coordinate, destination: Coordinate) -> Sequence[Coordinate]:
        """Return the corners of the route: after X, after Y, and the destination."""
        return [destination[: d + 1] + source[d + 1 :] for d in range(len(source))]

    def detours_around(self, gone: frozenset[str], rail: int) -> Detours:
        walker = _Walker(self, gone, rail)
        count = len(self.coordinates)
        source, target = (grid.ravel() for grid in np.indices((count, count)))
        usual = walker.first(source, target, USUAL).reshape(count, count)
        broken = walker.crosses(source, target, USUAL)
        source, target = source[broken], target[broken]
        table = usual.copy()
        for attempt in ATTEMPTS:
            bad = walker.crosses(source, target, attempt)
            good = ~bad
            table[source[good], target[good]] = walker.first(source[good], target[good], attempt)
            source, target = source[bad], target[bad]
            if len(source) == 0:
                break
        else:
            raise walker.no_way(source[0], target[0])
        walker.check(table)
        return {
            (walker.router(s), Destination(coordinate=self.coordinates[t])): walker.links[s, int(table[s, t])]
            for s, t in zip(*(ends.tolist() for ends in np.nonzero(table != usual)), strict=True)
        }

    def hops(self, sources: Ints, destinations: Ints) -> Ints:
        ahead = np.abs(sources - destinations)
        total: Ints = np.minimum(ahead, np.array(self.extents) - ahead).sum(axis=-1)
        return total

    def mean_hops(self) -> float:
        """Return the closed form: a ring of even n has the mean distance n / 4, of odd n (n n - 1) / (4 n)."""
        return sum(n / 4 if n % 2 == 0 else (n * n - 1) / (4 * n) for n in self.extents)

    @cached_property
    def link_rates(self) -> Floats:
        """Return GB/s of the links of the first rail, 0 where there is none; shape (X, Y, Z, 3, 2), as in `rings`."""
        rates = np.zeros((*self.extents, 3, 2))
        for dimension, extent in enumerate(self.extents):
            for position in range(extent):
                at = tuple(position if d == dimension else 0 for d in range(3))
                plane = tuple(position if d == dimension else slice(None) for d in range(3))
                for link in self.links_from(Router(coordinate=at)):
                    if link.dimension == dimension:
                        rates[(*plane, dimension, int(link.step < 0))] = link.rate_gbyte_s
        return rates

    def link_at(self, flat: int) -> Link:
        *at, dimension, direction = map(int, np.unravel_index(flat, self.link_rates.shape))
        return self.link(Router(coordinate=(at[0], at[1], at[2])), dimension, -1 if direction else 1)

    def carry_usual(self, source: Ints, node: Ints, sizes: Floats) -> Carried:
        at = self.node_coordinates.astype(np.int32).T
        return rings.carry(at, self.first_node[source], node, sizes, extents=self.extents)

    @property
    def rings(self) -> Coordinate:
        return self.extents

    @property
    def cut_weights(self) -> tuple[tuple[float, ...], ...]:
        """Return equal steps, and steps as long as the mean seconds per byte of a dimension's links."""
        rates = self.tile_rates_gbyte_s
        slowness = tuple(
            float(np.mean([10 / (d.tiles * rates[d.link_class(k)]) for k in range(d.extent)])) for d in self.dimensions
        )
        return (1.0, 1.0, 1.0), slowness

    @property
    def address_limits(self) -> Mapping[str, tuple[int, int]]:
        limits = zip(self.extents, (1 << self.space_bits - ADDRESS_BITS[0], *ADDRESSED), strict=True)
        return {f"dimensions.{name}.extent": limit for name, limit in zip(DIMENSIONS, limits, strict=True)}

    def node_offset(self, node: Node) -> int:
        return _address(node.coordinate) + node.slot

    def router_offset(self, router: Router) -> int:
        return _address(router.coordinate) + ROUTER_SLOT

    def block(self, destination: Destination) -> Block:
        return Block(offset=_address(destination.coordinate), bits=ADDRESS_BITS[-1])

    def prefixes(self, router: Router) -> Mapping[Block, Link]:
        """Return one block for each other X, each other Y at this X, each other Z at this X and Y."""
        prefixes = {}
        for dimension, bits in enumerate(ADDRESS_BITS):
            for target in range(self.extents[dimension]):
                if target != router.coordinate[dimension]:
                    at = (*router.coordinate[:dimension], target, 0, 0)[:3]
                    there = (*router.coordinate[:dimension], target, *router.coordinate[dimension + 1 :])
                    link = self.next_link(router, Destination(coordinate=there))
                    prefixes[Block(offset=_address(at), bits=bits)] = link
        return prefixes

    def direction(self, link: Link) -> str:
        return link.port.upper()

    def joins(self, link: Link) -> str:
        return DIMENSIONS[link.dimension]

    def switch_tree(self) -> Iterator[Switch]:
        """Yield a switch for each router, one for each X plane above them, one above all: a tree has no more."""
        yield from self.router_switches()
        planes: dict[int, list[str]] = {}
        for coordinate in self.coordinates:
            planes.setdefault(coordinate[0], []).append(self.router_name(Router(coordinate=coordinate)))
        for x, below in planes.items():
            yield Switch(name=f"x{x}", switches=tuple(below))
        yield Switch(name="torus", switches=tuple(f"x{x}" for x in planes))

    def lattice_links(self) -> Iterator[Link]:
        """Yield all links. A neighbour's only shortest way is its link, so rules that take those alone are allowed."""
        if self.routes.rule.by_part:
            raise InputError("topobw", "routes.choose", self.routes.choose, ", ".join(SHORTEST))
        yield from self.first_rail

    def to_dict(self) -> dict[str, Any]:
        dimensions = {
            name: {"extent": d.extent, "tiles": d.tiles, "pattern": [str(c) for c in d.pattern]}
            for name, d in zip(DIMENSIONS, self.dimensions, strict=True)
        }
        return {**self._common(), "dimensions": dimensions}


def parse(document: Mapping[str, Any], common: Mapping[str, Any], source: str) -> Torus:
    """Return the torus of a topology document with `dimensions`; InputError names the field that is wrong."""
    if common["nodes_per_router"] > ROUTER_SLOT:
        raise InputError(source, "nodes_per_router", common["nodes_per_router"], "at most 7 on a torus")
    rates = common["tile_rates_gbyte_s"]
    entries = [document["dimensions"][name] for name in DIMENSIONS]
    for name, entry in zip(DIMENSIONS, entries, strict=True):
        for link_class in entry["pattern"]:
            if link_class not in rates:
                valid = f"classes with a rate in tile_rates_gbyte_s: {', '.join(sorted(rates))}"
                raise InputError(source, f"dimensions.{name}.pattern", link_class, valid)
    x, y, z = (Dimension(extent=e["extent"], tiles=e["tiles"], pattern=tuple(e["pattern"])) for e in entries)
    return Torus(**common, dimensions=(x, y, z))


def _address(coordinate: Coordinate) -> int:
    """Return the first address of a router's block."""
    return sum(at << bits for at, bits in zip(coordinate, ADDRESS_BITS, strict=True))


PORTS = 6
DELIVERED = -1
#: The dimensions in the order of a route, and those of them that it goes the long way round.
Attempt = tuple[tuple[int, ...], tuple[int, ...]]
USUAL: Attempt = (0, 1, 2), ()
#: All attempts, in the order in which they are tried.
ATTEMPTS: list[Attempt] = [
    (order, long_way)
    for count in range(4)
    for order in itertools.permutations(range(3))
    for long_way in itertools.combinations(range(3), count)
]


class _Walker:
    """All pairs of routers at once: a router is its index in `coordinates`, a port 2 * dimension + (minus)."""

    def __init__(self, torus: Topology, gone: frozenset[str], rail: int) -> None:
        self.torus, self.rail = torus, rail
        self.at = np.array(torus.coordinates, dtype=np.int64)
        self.next = np.full((len(self.at), PORTS), DELIVERED, dtype=np.int64)
        self.dead = np.zeros((len(self.at), PORTS), dtype=bool)
        self.links: dict[tuple[int, int], Link] = {}
        for index in range(len(self.at)):
            for link in torus.links_from(self.router(index)):
                plus = 2 * link.dimension
                two = torus.extents[link.dimension] == 2
                for port in (plus, plus + 1) if two else (plus + (link.step < 0),):
                    self.links[index, port] = link
                    self.next[index, port] = torus.router_numbers[link.target.coordinate]
                    self.dead[index, port] = link.name in gone
        self.moves = [
            np.array([[step(here, there, extent) for there in range(extent)] for here in range(extent)])
            for extent in torus.extents
        ]

    def _ports(self, here: Ints, target: Ints, dimension: int, attempt: Attempt) -> Ints:
        """Return the ports towards the target along one dimension; DELIVERED at its position."""
        move = self.moves[dimension][self.at[here, dimension], self.at[target, dimension]]
        if dimension in attempt[1]:
            move = -move
        return np.where(move == 0, DELIVERED, 2 * dimension + (move < 0))

    def first(self, source: Ints, target: Ints, attempt: Attempt) -> Ints:
        """Return the first port of every pair's route."""
        port = np.full(len(source), DELIVERED, dtype=np.int64)
        for dimension in attempt[0]:
            port = np.where(port == DELIVERED, self._ports(source, target, dimension, attempt), port)
        return port

    def crosses(self, source: Ints, target: Ints, attempt: Attempt) -> NDArray[np.bool_]:
        """Return whether each route uses a dead link; a direction once taken is kept to the end."""
        here, crossed = source.copy(), np.zeros(len(source), dtype=bool)
        for dimension in attempt[0]:
            port = self._ports(here, target, dimension, attempt)
            for _ in range(self.torus.extents[dimension] - 1):
                on = (port != DELIVERED) & (self.at[here, dimension] != self.at[target, dimension])
                crossed[on] |= self.dead[here[on], port[on]]
                here[on] = self.next[here[on], port[on]]
        return crossed

    def check(self, table: Ints) -> None:
        """Follow every pair through the tables; a pair that reaches a dead link or a circle has no route."""
        source, target = (grid.ravel() for grid in np.indices(table.shape))
        here = source.copy()
        for _ in range(sum(self.torus.extents)):
            on = here != target
            port = table[here[on], target[on]]
            if self.dead[here[on], port].any():
                break
            here[on] = self.next[here[on], port]
        lost = np.flatnonzero(here != target)
        if len(lost):
            raise self.no_way(source[lost[0]], target[lost[0]])

    def no_way(self, source: np.int64, target: np.int64) -> RunError:
        """Return the error for a pair of routers, by their indices."""
        return no_route(" to ".join(self.torus.router_name(self.router(int(end))) for end in (source, target)))

    def router(self, index: int) -> Router:
        """Return the router of an index, on this rail."""
        return Router(coordinate=self.torus.coordinates[index], rail=self.rail)
