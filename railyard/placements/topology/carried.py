"""Define link loads: the bytes on every link of one rail, their sums and mixtures."""

from __future__ import annotations

from dataclasses import dataclass

from railyard.placements.arrays import Floats, Ints, np

#: The most pairs of a router and a node for which a table of all pairs is faster than sorting the messages.
DENSE_PAIRS = 1 << 26
#: How often the share of a mixture is narrowed to two thirds.
_NARROWINGS = 48


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Carried:
    """Bytes of every link in the shape of `Topology.link_rates`, and the number of links on the longest way in use."""

    link_bytes: Floats
    longest: int

    def __add__(self, other: Carried) -> Carried:
        """Return the sum of both loads."""
        return Carried(link_bytes=self.link_bytes + other.link_bytes, longest=max(self.longest, other.longest))

    def scaled(self, part: float) -> Carried:
        """Return a part of the load."""
        return Carried(link_bytes=self.link_bytes * part, longest=self.longest if part else 0)


def added(place: Ints, sizes: Floats, count: int = 0) -> Floats:
    """Return the sum of the sizes of every place; shape (places,), at least `count` of them."""
    return np.bincount(place, sizes, count).astype(np.float64, copy=False)


def summed(source: Ints, node: Ints, sizes: Floats, nodes: int) -> tuple[Ints, Ints, Floats]:
    """Return messages with those of one router to one node added up, sorted by both."""
    if len(source) == 0:
        return source, node, sizes
    key = source.astype(np.int64) * nodes + node
    if (int(source.max()) + 1) * nodes <= DENSE_PAIRS:
        dense = added(key, sizes)
        filled = np.flatnonzero(dense).astype(np.int64)
        return filled // nodes, filled % nodes, dense[filled]
    pairs, place = np.unique(key, return_inverse=True)
    return pairs // nodes, pairs % nodes, added(place, sizes)


def best_between(rates: Floats, one: Carried, other: Carried) -> Carried:
    """Return the mixture of two loads whose busiest link takes the least time: one of the two, or between them."""
    low, high = 0.0, 1.0
    for _ in range(_NARROWINGS):
        third = (high - low) / 3
        nearer, farther = low + third, high - third
        if busiest(rates, _mixture(one, other, nearer)) <= busiest(rates, _mixture(one, other, farther)):
            high = farther
        else:
            low = nearer
    candidates = [one, other, _mixture(one, other, (low + high) / 2)]
    return min(candidates, key=lambda candidate: busiest(rates, candidate))


def busiest(rates: Floats, of: Carried) -> float:
    """Return the time of the busiest link, in nanoseconds; `rates` are GB/s, 0 where there is no link."""
    times = np.divide(of.link_bytes, rates, out=np.zeros_like(of.link_bytes), where=rates > 0)
    return float(times.max(initial=0))


def _mixture(one: Carried, other: Carried, part: float) -> Carried:
    return one.scaled(1 - part) + other.scaled(part)
