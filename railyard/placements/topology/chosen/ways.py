"""Compute the ways among which a network chooses: the links of each router that shorten the way to another one.

A way is shortest by the sum of its links' lengths (`Topology.link_length`): 1, and more for a global cable of a
dragonfly, so that a minimal way crosses as few of them as possible. Towards a part of the network (`Topology.part`) a
way leads to the nearest router of that part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from railyard.placements.arrays import Floats, Ints, NDArray, np
from railyard.placements.topology.parts import Link, Router


@dataclass(frozen=True, kw_only=True, eq=False)
class Ways:
    """The routers and live links of one rail as arrays, and the distances between routers.

    `source`, `target` and `length` have shape (links,), `part` shape (routers,), `distance` (routers, routers); a
    router is its index in `routers`, and an infinite distance means that dead links separate two routers.
    """

    routers: Sequence[Router]
    links: Sequence[Link]
    source: Ints
    target: Ints
    length: Floats
    part: Ints
    distance: Floats

    def towards(self, distance: Floats) -> NDArray[np.bool_]:
        """Return which links shorten distances to some ends; shape (links, ends). `distance` has (routers, ends)."""
        finite = np.where(np.isfinite(distance), distance, np.nan).astype(np.float32)  # lengths are small whole numbers
        rest = finite[self.target]
        rest += self.length[:, None].astype(np.float32)
        shorter: NDArray[np.bool_] = rest == finite[self.source]
        return shorter

    @cached_property
    def parts(self) -> int:
        """Return the number of parts that a way may go by first."""
        return int(self.part.max()) + 1

    @cached_property
    def part_distance(self) -> Floats:
        """Return the distance of every router to the nearest router of every part; shape (routers, parts)."""
        columns = [self.distance[:, self.part == part].min(axis=1) for part in range(self.parts)]
        return np.stack(columns, axis=1)

    def sets(self, distance: Floats) -> Iterator[tuple[int, int, list[int]]]:
        """Yield (router, end, links) for every router and end with a way, sorted by both."""
        link, end = np.nonzero(self.towards(distance))
        order = np.lexsort((link, end, self.source[link]))
        link, end, router = link[order], end[order], self.source[link][order]
        starts = np.flatnonzero(np.diff(router, prepend=-1) | np.diff(end, prepend=-1))
        for first, links in zip(starts.tolist(), np.split(link, starts[1:]), strict=True):
            yield int(router[first]), int(end[first]), links.tolist()


def ways(routers: Sequence[Router], links: Sequence[Link], lengths: Sequence[float], parts: Sequence[int]) -> Ways:
    """Return the ways over the live links of a rail; `lengths` are by link, `parts` by router."""
    from scipy.sparse import csr_array  # imported here: takes half of a command's start
    from scipy.sparse.csgraph import dijkstra

    number = {router: index for index, router in enumerate(routers)}
    source = np.array([number[link.source] for link in links], dtype=np.int64)
    target = np.array([number[link.target] for link in links], dtype=np.int64)
    length = np.array(lengths, dtype=np.float64)
    shortest = np.full((len(routers), len(routers)), np.inf)
    np.minimum.at(shortest, (source, target), length)
    return Ways(
        routers=routers,
        links=links,
        source=source,
        target=target,
        length=length,
        part=np.array(parts, dtype=np.int64),
        distance=dijkstra(csr_array(np.where(np.isfinite(shortest), shortest, 0.0))),
    )
