"""Compute the expected link loads of routes that the network chooses, one function for each way to choose.

Each takes the ways and the bytes by (router, router), and returns the bytes on the ways' links, in their order. Leaves
out queues, and therefore what distinguishes the two kinds of UGAL.
"""

from __future__ import annotations

from railyard.placements.arrays import Floats, Ints, np
from railyard.placements.topology.carried import Carried, added, best_between
from railyard.placements.topology.chosen.ways import Ways


def minimal(ways: Ways, sent: Floats) -> Carried:
    """Divide what a router forwards equally among its shortest ways.

    An adaptive network does so while its queues are alike; where they differ it does better.
    """
    flows = _Flows(ways)
    flows.add(sent, ways.distance)
    return flows.carried()


def straight(ways: Ways, sent: Floats) -> Carried:
    """Return the mean over all hashes; a message goes straight on where that is a shortest way."""
    flows = _Flows(ways)
    flows.add(sent, ways.distance, straight=True)
    return flows.carried()


def valiant(ways: Ways, sent: Floats) -> Carried:
    """Send a message to every part of the network but those of its ends with equal shares, then to its end."""
    flows = _Flows(ways)
    flows.add_by_parts(sent)
    return flows.carried()


def ugal(ways: Ways, sent: Floats) -> Carried:
    """Mix minimal and Valiant's ways in the one share whose busiest link takes the least time."""
    rates = np.array([link.rate_gbyte_s for link in ways.links])
    return best_between(rates, minimal(ways, sent), valiant(ways, sent))


class _Flows:
    """Bytes on the links of a rail, added up flow by flow; a flow is all from one router to one end."""

    def __init__(self, chosen: Ways) -> None:
        self.chosen = chosen
        self.loads = np.zeros(len(chosen.links))
        self.by_hops = np.zeros(2 * len(chosen.routers) + 1)
        self.rings = np.array([2 * link.dimension + (link.step < 0) for link in chosen.links], dtype=np.int64)

    def carried(self) -> Carried:
        """Return the loads, link by link."""
        last = int(np.flatnonzero(self.by_hops).max(initial=0))
        return Carried(link_bytes=self.loads, hops_bytes=self.by_hops[: last + 1])

    def add(self, sent: Floats, distance: Floats, *, straight: bool = False, count: bool = True) -> None:
        """Add flows of `sent[router, end]` bytes; `distance` has the same shape, 0 at an end.

        Flows are moved from the farthest routers to the nearest. With `straight` they also differ by the ring of the
        link that they came by, of which the last means none.
        """
        chosen = self.chosen
        hops = self._hops(distance)
        if count:
            self.by_hops += added(hops.ravel(), sent.ravel(), len(self.by_hops))
        shorter = chosen.towards(distance)
        rings = int(self.rings.max(initial=0)) + 2 if straight else 1
        flow = np.zeros((rings, *sent.shape))
        flow[-1] = np.where(np.isfinite(distance) & (distance > 0), sent, 0.0)
        for far in np.unique(distance[np.isfinite(distance) & (distance > 0)])[::-1]:
            here = shorter & (distance[chosen.source] == far)
            link, end = np.nonzero(here)
            router = chosen.source[link]
            for ring in range(rings):
                usable = np.ones(len(link), dtype=bool)
                if straight and ring < rings - 1:
                    onward = np.zeros(sent.shape, dtype=bool)
                    same = self.rings[link] == ring
                    onward[router[same], end[same]] = True
                    usable = ~onward[router, end] | same
                at, to, by = router[usable], end[usable], link[usable]
                ways_of = np.zeros(sent.shape)
                np.add.at(ways_of, (at, to), 1.0)
                moved = flow[ring][at, to] / ways_of[at, to]
                self.loads += added(by, moved, len(self.loads))
                into = self.rings[by] if straight else np.zeros(len(by), dtype=np.int64)
                np.add.at(flow, (into, chosen.target[by], to), moved)

    def add_by_parts(self, sent: Floats) -> None:
        """Add Valiant's ways of flows between different parts, and minimal ways within a part."""
        chosen, parts = self.chosen, self.chosen.parts
        own = chosen.part[:, None] == chosen.part[None, :]
        self.add(np.where(own, sent, 0.0), chosen.distance)
        share = np.where(own, 0.0, sent) / max(1, parts - 2)
        into = np.zeros((len(sent), parts))
        np.add.at(into.T, chosen.part, share.T)
        first = share.sum(axis=1)[:, None] - into
        first[np.arange(len(sent)), chosen.part] = 0.0
        self.add(first, chosen.part_distance, count=False)
        entry = self._entries()
        entry[own] = 0.0
        second = entry.T @ share
        second[own] = 0.0
        self.add(second, chosen.distance, count=False)
        between = np.where(own, 0.0, sent)
        self.by_hops[0] += 0.0 if parts > 2 else between.sum()
        self._count_by_parts(entry, share)

    def _entries(self) -> Floats:
        """Return the part of what goes from a router to a part that enters there at another router; shape (r, r)."""
        chosen = self.chosen
        entry = np.eye(len(chosen.routers))
        distance = chosen.part_distance
        shorter = chosen.towards(distance)
        for far in np.unique(distance[np.isfinite(distance) & (distance > 0)]):
            link, part = np.nonzero(shorter & (distance[chosen.source] == far))
            ways_of = np.zeros(distance.shape)
            np.add.at(ways_of, (chosen.source[link], part), 1.0)
            for number in np.unique(part).tolist():
                of = link[part == number]
                members = np.flatnonzero(chosen.part == number)
                rows = entry[chosen.target[of]][:, members] / ways_of[chosen.source[of], number][:, None]
                total = np.zeros((len(entry), len(members)))
                np.add.at(total, chosen.source[of], rows)
                entry[:, members] += total
        return entry

    def _count_by_parts(self, entry: Floats, share: Floats) -> None:
        """Count the bytes of Valiant's ways by their links."""
        chosen = self.chosen
        to_part = self._hops(chosen.part_distance)[:, chosen.part]
        onwards = self._hops(chosen.distance)
        for end in np.flatnonzero(share.sum(axis=0)).tolist():
            bytes_by = entry * share[:, end][:, None]
            bytes_by[:, chosen.part == chosen.part[end]] = 0.0
            lengths = to_part + onwards[:, end][None, :]
            self.by_hops += added(lengths.ravel(), bytes_by.ravel(), len(self.by_hops))

    def _hops(self, distance: Floats) -> Ints:
        """Return the links on a shortest way to each end; shape as `distance`."""
        chosen = self.chosen
        hops = np.zeros(distance.shape, dtype=np.int64)
        shorter = chosen.towards(distance)
        for far in np.unique(distance[np.isfinite(distance) & (distance > 0)]):
            link, end = np.nonzero(shorter & (distance[chosen.source] == far))
            hops[chosen.source[link], end] = hops[chosen.target[link], end] + 1
        return hops
