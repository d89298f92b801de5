"""A topology kind that no product module knows: a mesh with two coordinates and unequal numbers of nodes.

It defines what a kind must and nothing else, so whatever works on it works by `Topology`'s defaults.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from railyard.placements.topology.base import Coordinate, Link, Router, Topology

RATES = {"fibre": 2.0, "host": 1.0}


@dataclass(frozen=True, kw_only=True)
class Mesh(Topology):
    """Routers in a rectangle; the router at the origin has one node less than the others."""

    rows: int
    columns: int

    @property
    def extents(self) -> Coordinate:
        return self.rows, self.columns

    @property
    def layout(self) -> str:
        return f"a mesh of {self.rows}x{self.columns} routers"

    def nodes_at(self, coordinate: Coordinate) -> int:
        return self.nodes_per_router - (coordinate == (0, 0))

    def links_from(self, router: Router) -> Iterator[Link]:
        for dimension, extent in enumerate(self.extents):
            for step in (1, -1):
                if 0 <= router.coordinate[dimension] + step < extent:
                    yield self._link(router, dimension, step)

    def reverse(self, link: Link) -> Link:
        return self._link(link.target, link.dimension, -link.step)

    def to_dict(self) -> dict[str, Any]:
        return {**self._common(), "mesh": {"rows": self.rows, "columns": self.columns}}

    def _link(self, source: Router, dimension: int, step: int) -> Link:
        at = list(source.coordinate)
        at[dimension] += step
        target = Router(coordinate=tuple(at), rail=source.rail)
        port = "ab"[dimension] + ("+" if step > 0 else "-")
        return Link(
            source=source,
            target=target,
            dimension=dimension,
            step=step,
            link_class="fibre",
            tiles=1,
            rate_gbyte_s=self.tile_rates_gbyte_s["fibre"],
            port=port,
            name=f"{port} {self.router_name(source)}>{self.router_name(target)}",
        )


def mesh(rows: int, columns: int, nodes_per_router: int = 2, rails: int = 1) -> Mesh:
    """Return a mesh."""
    return Mesh(
        name="mesh",
        tile_rates_gbyte_s=RATES,
        host_tiles=1,
        nodes_per_router=nodes_per_router,
        rails=rails,
        rows=rows,
        columns=columns,
    )
