"""Routes round dead links, as tables: which link each router takes to each destination instead of its usual one.

On a torus every pair of routers whose X-Y-Z route crosses a dead link tries the other dimension orders and, in each
dimension, the long way round (Ezell, CUG'13, section II.E: "dimension order retry"), in this order: fewest dimensions
the long way, then X-Y-Z before the other orders. In a fat tree the next spine that is linked to both leaves serves.

Forwarding is by destination alone, so the tables of all routers must agree; `detours` walks every pair through them
and refuses dead links that leave a pair apart, which is Gemini's "unrouteable" state.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placements.topology.base import Coordinate, Link, Router, Topology
from placements.topology.fattree import FatTree
from placements.topology.routing import step
from placements.topology.torus import Torus
from railyard.errors import RunError

PORTS = 6
DELIVERED = -1


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Destination:
    """What one route leads to: a router of a torus, or the nodes of a leaf that one spine usually serves."""

    coordinate: Coordinate
    group: int = 0


Detours = Mapping[tuple[Router, Destination], Link]


def detours(topology: Topology, dead: Collection[Link], rail: int) -> Detours:
    """The exceptions to the usual routes on one rail; empty when nothing is dead.

    Raises RunError that names the first pair of routers without a way.
    """
    gone = frozenset(link.name for link in dead if link.source.rail == rail)
    if not gone:
        return {}
    if isinstance(topology, FatTree):
        return _other_spines(topology, gone, rail)
    assert isinstance(topology, Torus)
    return _Walker(topology, gone, rail).detours()


def _other_spines(tree: FatTree, gone: frozenset[str], rail: int) -> Detours:
    found: dict[tuple[Router, Destination], Link] = {}
    for source, target in itertools.permutations(tree.coordinates, 2):
        leaf = Router(coordinate=source, rail=rail)
        alive = [spine for spine in range(tree.spines) if _joined(tree, leaf, target, spine, gone)]
        if not alive:
            raise _apart(f"{tree.router_name(leaf)} to leaf{target[0]}")
        for group in range(tree.spines):
            if group not in alive:
                spine = min(alive, key=lambda s: (s - group) % tree.spines)
                found[leaf, Destination(coordinate=target, group=group)] = tree.link(leaf, spine)
    return found


def _joined(tree: FatTree, leaf: Router, target: Coordinate, spine: int, gone: frozenset[str]) -> bool:
    up = tree.link(leaf, spine)
    return up.name not in gone and tree.link(up.target, target[0]).name not in gone


def _apart(pair: str) -> RunError:
    return RunError(f"no route from {pair}: every way that the routers know meets a dead link")


class _Walker:
    """All pairs of routers at once: a router is its index in `coordinates`, a port 2 * dimension + (minus)."""

    def __init__(self, torus: Torus, gone: frozenset[str], rail: int) -> None:
        self.torus, self.rail = torus, rail
        self.at = np.array(torus.coordinates, dtype=np.int64)
        self.count = len(self.at)
        self.next = np.full((self.count, PORTS), DELIVERED, dtype=np.int64)
        self.dead = np.zeros((self.count, PORTS), dtype=bool)
        for index, coordinate in enumerate(torus.coordinates):
            for dimension, move in itertools.product(range(3), (1, -1)):
                if torus.extents[dimension] > 1:
                    link = torus.link(Router(coordinate=coordinate, rail=rail), dimension, move)
                    port = 2 * dimension + (move < 0)
                    self.next[index, port] = np.ravel_multi_index(link.target.coordinate, torus.extents)
                    self.dead[index, port] = link.name in gone
        self.moves = [_moves(extent) for extent in torus.extents]

    def detours(self) -> Detours:
        usual = self._table()
        source, target = (grid.ravel() for grid in np.indices((self.count, self.count)))
        broken = self._crosses(source, target, (0, 1, 2), ())
        source, target = source[broken], target[broken]
        table = usual.copy()
        for order, long_way in _attempts():
            if len(source) == 0:
                break
            bad = self._crosses(source, target, order, long_way)
            good = ~bad
            table[source[good], target[good]] = self._first(source[good], target[good], order, long_way)
            source, target = source[bad], target[bad]
        if len(source):
            raise self._no_way(source[0], target[0])
        self._check(table)
        return {
            (self._router(s), Destination(coordinate=self.torus.coordinates[t])): self._link(s, table[s, t])
            for s, t in zip(*np.nonzero(table != usual), strict=True)
        }

    def _table(self) -> NDArray[np.int64]:
        """The usual first port of every pair; shape (routers, routers)."""
        source, target = (grid.ravel() for grid in np.indices((self.count, self.count)))
        return self._first(source, target, (0, 1, 2), ()).reshape(self.count, self.count)

    def _ports(
        self, here: NDArray[np.int64], target: NDArray[np.int64], dimension: int, long_way: bool
    ) -> NDArray[np.int64]:
        """Towards the target along one dimension; DELIVERED where already there."""
        move = self.moves[dimension][self.at[here, dimension], self.at[target, dimension]]
        if long_way:
            move = -move
        return np.where(move == 0, DELIVERED, 2 * dimension + (move < 0))

    def _first(
        self,
        source: NDArray[np.int64],
        target: NDArray[np.int64],
        order: tuple[int, ...],
        long_way: tuple[int, ...],
    ) -> NDArray[np.int64]:
        port = np.full(len(source), DELIVERED, dtype=np.int64)
        for dimension in order:
            port = np.where(
                port == DELIVERED, self._ports(source, target, dimension, dimension in long_way), port
            )
        return port

    def _crosses(
        self,
        source: NDArray[np.int64],
        target: NDArray[np.int64],
        order: tuple[int, ...],
        long_way: tuple[int, ...],
    ) -> NDArray[np.bool_]:
        """Whether the route in that order uses a dead link; a direction once taken is kept to the end."""
        here, crossed = source.copy(), np.zeros(len(source), dtype=bool)
        for dimension in order:
            port = self._ports(here, target, dimension, dimension in long_way)
            for _ in range(self.torus.extents[dimension] - 1):
                on = (port != DELIVERED) & (self.at[here, dimension] != self.at[target, dimension])
                crossed[on] |= self.dead[here[on], port[on]]
                here[on] = self.next[here[on], port[on]]
        return crossed

    def _check(self, table: NDArray[np.int64]) -> None:
        """Follow every pair through the tables; one that meets a dead link or goes round in a circle has no way."""
        source, target = (grid.ravel() for grid in np.indices((self.count, self.count)))
        here = source.copy()
        for _ in range(sum(self.torus.extents)):
            on = here != target
            port = table[here[on], target[on]]
            if self.dead[here[on], port].any():
                break
            here[on] = self.next[here[on], port]
        lost = np.flatnonzero(here != target)
        if len(lost):
            raise self._no_way(source[lost[0]], target[lost[0]])

    def _no_way(self, source: np.int64, target: np.int64) -> RunError:
        ends = [self.torus.router_name(self._router(int(end))) for end in (source, target)]
        return _apart(" to ".join(ends))

    def _router(self, index: int) -> Router:
        return Router(coordinate=self.torus.coordinates[index], rail=self.rail)

    def _link(self, index: int, port: int) -> Link:
        return self.torus.link(self._router(index), int(port) // 2, -1 if port % 2 else 1)


def _moves(extent: int) -> NDArray[np.int64]:
    """`routing.step` for every pair of positions; shape (extent, extent)."""
    return np.array([[step(p, d, extent) for d in range(extent)] for p in range(extent)], dtype=np.int64)


def _attempts() -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """(dimension order, dimensions that go the long way), in the order in which they are tried."""
    for count in range(4):
        for order in itertools.permutations(range(3)):
            for long_way in itertools.combinations(range(3), count):
                yield order, long_way
