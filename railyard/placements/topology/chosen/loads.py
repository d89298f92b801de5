"""Compute the expected link loads of routes that the network chooses.

- `sprayed` and `minimal-adaptive`: every router divides what it forwards equally among its shortest ways. An adaptive
  network does so while its queues are alike; where they differ it does better.
- `hashed`: the mean over all hashes. A message goes straight on where that is a shortest way.
- `valiant`: a message goes to every part of the network but those of its ends with equal shares, then to its end.
- `ugal-local`, `ugal-global`: minimal and Valiant's ways, in the one share whose busiest link takes the least time.

Leaves out queues, and therefore what distinguishes the two kinds of UGAL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railyard.base.errors import InputError
from railyard.placements.arrays import Floats, Ints, np
from railyard.placements.topology.carried import Carried, added
from railyard.placements.topology.chosen.mixtures import best_between
from railyard.placements.topology.chosen.routes import BY_PART, HASHED
from railyard.placements.topology.chosen.ways import Ways, ways

if TYPE_CHECKING:
    from railyard.placements.topology.base import Topology

MOST_ROUTERS = 1024


def carry(
    topology: Topology, source: Ints, node: Ints, sizes: Floats, *, gone: frozenset[str] = frozenset()
) -> Carried:
    """Return the expected loads of messages on the first rail, as `Topology.carry` defines them.

    `gone` are the names of dead links. Raises InputError for more than `MOST_ROUTERS` routers.
    """
    count = sum(router.rail == 0 for router in topology.routers)
    if count > MOST_ROUTERS:
        raise InputError(topology.name, "routers", count, f"at most {MOST_ROUTERS} with chosen routes")
    chosen = ways(topology, gone) if gone else topology.shortest_ways
    at = np.array([i for i, router in enumerate(chosen.routers) if router.level == 0], dtype=np.int64)
    pair = at[source] * count + at[topology.router_of_node[node]]
    sent = added(pair, sizes, count * count).reshape(count, count)
    choose = topology.routes.choose
    minimal = _Loads(topology, chosen)
    if choose not in BY_PART:
        minimal.add(sent, chosen.distance, straight=choose == HASHED)
        return minimal.carried()
    third = _Loads(topology, chosen)
    third.add_by_parts(sent)
    if choose == "valiant":
        return third.carried()
    minimal.add(sent, chosen.distance)
    return best_between(topology.link_rates, minimal.carried(), third.carried())


class _Loads:
    """Bytes on the links of a rail, added up flow by flow; a flow is all from one router to one end."""

    def __init__(self, topology: Topology, chosen: Ways) -> None:
        self.topology, self.chosen = topology, chosen
        self.loads = np.zeros(len(chosen.links))
        self.by_hops = np.zeros(2 * len(chosen.routers) + 1)
        rings = np.array([2 * link.dimension + (link.step < 0) for link in chosen.links], dtype=np.int64)
        self.rings = rings

    def carried(self) -> Carried:
        """Return the loads in the shape of `Topology.link_rates`."""
        rates = self.topology.link_rates
        loads = np.zeros(rates.size)
        indices = {link.name: index for link, index in self.topology.link_places}
        loads[[indices[link.name] for link in self.chosen.links]] = self.loads
        last = int(np.flatnonzero(self.by_hops).max(initial=0))
        return Carried(link_bytes=loads.reshape(rates.shape), hops_bytes=self.by_hops[: last + 1])

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
