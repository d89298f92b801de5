"""A torus of routers with classes of links along its dimensions, as Cray's Gemini.

Leaves out adaptive routing and virtual channels (see `routing` for the routes).

Conventions, each tested in tests/test_topology.py:

- Coordinates are (x, y, z), counted from 0. Node order is X slowest, Z fastest, then the node's slot on its router.
- `pattern[i % len(pattern)]` is the class of the cable from coordinate i to i + 1 (modulo the extent).
- An extent of 2 has ONE cable between its two routers, that of coordinate 0 upwards. Plus and minus are two names for
  the same neighbour and the same link. An extent of 1 has no cable.

Rates: Pedretti et al., CUG'13, Table II and section III.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placements.topology.base import Coordinate, Link, LinkClass, Router, Topology, rail_suffix

DIMENSIONS = "XYZ"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """One torus dimension: its length in routers, the tiles of each link, the classes along it."""

    extent: int
    tiles: int
    pattern: tuple[LinkClass, ...]

    def link_class(self, index: int) -> LinkClass:
        """The class of the cable between coordinates `index` and `index + 1`."""
        return self.pattern[index % len(self.pattern)]


@dataclass(frozen=True, kw_only=True)
class Torus(Topology):
    """One to three dimensions that close on themselves."""

    dimensions: tuple[Dimension, Dimension, Dimension]

    @property
    def extents(self) -> Coordinate:
        x, y, z = self.dimensions
        return x.extent, y.extent, z.extent

    @property
    def layout(self) -> str:
        return "x".join(map(str, self.extents)) + " routers"

    @cached_property
    def routers(self) -> tuple[Router, ...]:
        return tuple(Router(coordinate=c, rail=rail) for rail in range(self.rails) for c in self.coordinates)

    def router_name(self, router: Router) -> str:
        """`r0-1-2`."""
        return "r" + "-".join(map(str, router.coordinate)) + rail_suffix(router.rail)

    def node_name(self, coordinate: Coordinate, slot: int = 0) -> str:
        """`n0-1-2`; with several nodes a router `n0-1-2-s`."""
        suffix = f"-{slot}" if self.nodes_per_router > 1 else ""
        return "n" + "-".join(map(str, coordinate)) + suffix

    def neighbour(self, coordinate: Coordinate, dimension: int, step: int) -> Coordinate:
        """The coordinate one step along `dimension` (0, 1, 2), round the torus."""
        moved = list(coordinate)
        moved[dimension] = (moved[dimension] + step) % self.extents[dimension]
        return moved[0], moved[1], moved[2]

    def links_from(self, router: Router) -> Iterator[Link]:
        """X+ X- Y+ Y- Z+ Z-, without those that do not exist."""
        for dimension, extent in enumerate(self.extents):
            for step in _steps(router.coordinate[dimension], extent):
                yield self.link(router, dimension, step)

    def link(self, source: Router, dimension: int, step: int) -> Link:
        """The link that leaves `source` along `dimension` in direction `step`."""
        along = self.dimensions[dimension]
        position = source.coordinate[dimension]
        if along.extent == 2:
            step = 1 if position == 0 else -1
        lower = position if step > 0 else (position - 1) % along.extent
        link_class = along.link_class(lower)
        target = self.neighbour(source.coordinate, dimension, step)
        direction = f"{DIMENSIONS[dimension]}{'+' if step > 0 else '-'}"
        ends = ">".join(",".join(map(str, end)) for end in (source.coordinate, target))
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

    def hops(self, sources: NDArray[np.int64], destinations: NDArray[np.int64]) -> NDArray[np.int64]:
        return hops(sources, destinations, self.extents)

    def to_dict(self) -> dict[str, Any]:
        dimensions = {
            name: {"extent": d.extent, "tiles": d.tiles, "pattern": [str(c) for c in d.pattern]}
            for name, d in zip(DIMENSIONS, self.dimensions, strict=True)
        }
        return {**self._common(), "dimensions": dimensions}


def hops(
    sources: NDArray[np.int64], destinations: NDArray[np.int64], extents: Coordinate
) -> NDArray[np.int64]:
    """Links between routers on a shortest route round a torus, which a dimension-order route is.

    `sources` and `destinations` have shape (..., 3) and broadcast; the result has the shape without the last axis.
    """
    ahead = np.abs(sources - destinations)
    total: NDArray[np.int64] = np.minimum(ahead, np.array(extents) - ahead).sum(axis=-1)
    return total


def _steps(position: int, extent: int) -> tuple[int, ...]:
    if extent == 1:
        return ()
    if extent == 2:
        return (1,) if position == 0 else (-1,)
    return (1, -1)
