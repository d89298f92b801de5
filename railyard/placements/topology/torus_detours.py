"""Detours on a torus: dimension order retry.

Every pair of routers whose X-Y-Z route crosses a dead link tries the other dimension orders and, in each dimension,
the long way round (Ezell, CUG'13, section II.E: "dimension order retry"), in this order: fewest dimensions the long
way, then X-Y-Z before the other orders. Every pair is then walked through the tables, and dead links that separate one
are refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from railyard.base.errors import RunError
from railyard.placements.arrays import Ints, NDArray, np
from railyard.placements.topology.base import Topology, no_route
from railyard.placements.topology.parts import Destination, Detours, Link, Router
from railyard.placements.topology.rings import step

PORTS = 6
DELIVERED = -1
#: The dimensions in the order of a route, and those of them that it goes the long way round.
Attempt = tuple[tuple[int, ...], tuple[int, ...]]
USUAL: Attempt = (0, 1, 2), ()


def detours(torus: Topology, gone: frozenset[str], rail: int) -> Detours:
    """Return the exceptions to the usual routes of a rail; RunError as `Topology.detours_around`."""
    walker = _Walker(torus, gone, rail)
    count = len(torus.coordinates)
    source, target = (grid.ravel() for grid in np.indices((count, count)))
    usual = walker.first(source, target, USUAL).reshape(count, count)
    broken = walker.crosses(source, target, USUAL)
    source, target = source[broken], target[broken]
    table = usual.copy()
    for attempt in _attempts():
        bad = walker.crosses(source, target, attempt)
        good = ~bad
        table[source[good], target[good]] = walker.first(source[good], target[good], attempt)
        source, target = source[bad], target[bad]
        if len(source) == 0:
            break
    if len(source):
        raise walker.no_way(source[0], target[0])
    walker.check(table)
    return {
        (walker.router(s), Destination(coordinate=torus.coordinates[t])): walker.links[s, int(table[s, t])]
        for s, t in zip(*(ends.tolist() for ends in np.nonzero(table != usual)), strict=True)
    }


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
                # With an extent of 2 both directions are the one link.
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


def _attempts() -> Iterator[Attempt]:
    """Yield the attempts in the order in which they are tried."""
    for count in range(4):
        for order in itertools.permutations(range(3)):
            for long_way in itertools.combinations(range(3), count):
                yield order, long_way
