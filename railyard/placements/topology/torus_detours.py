"""Detours on a torus: dimension order retry.

Every pair of routers whose X-Y-Z route crosses a dead link tries the other dimension orders and, in each dimension,
the long way round (Ezell, CUG'13, section II.E: "dimension order retry"), in this order: fewest dimensions the long
way, then X-Y-Z before the other orders. `Walker` walks every pair through the tables and refuses dead links that
separate one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from railyard.base.errors import RunError
from railyard.placements.arrays import NDArray, np
from railyard.placements.topology import defaults
from railyard.placements.topology.parts import Destination, Detours, Link, Router

if TYPE_CHECKING:
    from railyard.placements.topology.torus import Torus

PORTS = 6
DELIVERED = -1


class Walker:
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
        self.moves = [_moves(torus, dimension) for dimension in range(3)]

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
        """Return the usual first port of every pair; shape (routers, routers)."""
        source, target = (grid.ravel() for grid in np.indices((self.count, self.count)))
        return self._first(source, target, (0, 1, 2), ()).reshape(self.count, self.count)

    def _ports(
        self, here: NDArray[np.int64], target: NDArray[np.int64], dimension: int, long_way: bool
    ) -> NDArray[np.int64]:
        """Return the ports towards the target along one dimension; DELIVERED at its position."""
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
        """Return whether the route in that order uses a dead link; a direction once taken is kept to the end."""
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
        return defaults.no_route(" to ".join(ends))

    def _router(self, index: int) -> Router:
        return Router(coordinate=self.torus.coordinates[index], rail=self.rail)

    def _link(self, index: int, port: int) -> Link:
        return self.torus.link(self._router(index), int(port) // 2, -1 if port % 2 else 1)


def _moves(torus: Torus, dimension: int) -> NDArray[np.int64]:
    """Return the step of the usual route between every pair of positions in one dimension; shape (extent, extent)."""
    extent = torus.extents[dimension]
    moves = np.zeros((extent, extent), dtype=np.int64)
    for here, there in itertools.permutations(range(extent), 2):
        source, target = ([0, 0, 0] for _ in range(2))
        source[dimension], target[dimension] = here, there
        link = torus.next_link(Router(coordinate=tuple(source)), Destination(coordinate=tuple(target)))
        moves[here, there] = link.step
    return moves


def _attempts() -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield (dimension order, dimensions that go the long way), in the order in which they are tried."""
    for count in range(4):
        for order in itertools.permutations(range(3)):
            for long_way in itertools.combinations(range(3), count):
                yield order, long_way
