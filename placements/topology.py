"""A machine's topology: a torus of routers, the nodes behind each, the class and rate of every link, the rails.

Leaves out adaptive routing and virtual channels (see `routing` for the routes). A link is *directed*; a cable between
two routers is a pair of links.

Conventions, each tested in tests/test_topology.py:

- Coordinates are (x, y, z), counted from 0. Node order is X slowest, Z fastest, then the node's slot on its router.
- `pattern[i % len(pattern)]` is the class of the cable from coordinate i to i + 1 (modulo the extent).
- An extent of 2 has ONE cable between its two routers, that of coordinate 0 upwards. Plus and minus are two names for
  the same neighbour and the same link. An extent of 1 has no cable.

Rates are per direction: tiles x the class's rate per tile (Pedretti et al., CUG'13, Table II and section III).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from railyard import schemas
from railyard.errors import InputError

TOPOLOGIES = Path(__file__).parent / "topologies"
SCHEMA = TOPOLOGIES / "schema.json"
DIMENSIONS = "XYZ"

Coordinate = tuple[int, int, int]


class LinkClass(StrEnum):
    """What a link is made of."""

    MEZZANINE = "mezzanine"
    BACKPLANE = "backplane"
    CABLE = "cable"
    HOST = "host"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """One torus dimension: its length in routers, the tiles of each link, the classes along it."""

    extent: int
    tiles: int
    pattern: tuple[LinkClass, ...]

    def link_class(self, index: int) -> LinkClass:
        """The class of the cable between coordinates `index` and `index + 1`."""
        return self.pattern[index % len(self.pattern)]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Router:
    """One router of one rail."""

    coordinate: Coordinate
    rail: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Node:
    """One node: the router coordinate it hangs on (on every rail) and its slot there."""

    coordinate: Coordinate
    slot: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One directed link between neighbouring routers.

    `dimension` is 0, 1 or 2 and `step` +1 or -1, as seen from `source`. On an extent of 2 the step is +1 from
    coordinate 0 and -1 from coordinate 1.
    """

    source: Router
    target: Router
    dimension: int
    step: int
    link_class: LinkClass
    rate_gbyte_s: float

    @property
    def name(self) -> str:
        """For people, as `X+ 0,0,0>1,0,0`; on rail r > 0 followed by `@r`."""
        ends = ">".join(",".join(map(str, end.coordinate)) for end in (self.source, self.target))
        rail = f"@{self.source.rail}" if self.source.rail else ""
        return f"{DIMENSIONS[self.dimension]}{'+' if self.step > 0 else '-'} {ends}{rail}"


@dataclass(frozen=True, kw_only=True)
class Topology:
    """A torus. Rates in GB/s (1e9 bytes per second) per direction."""

    name: str
    dimensions: tuple[Dimension, Dimension, Dimension]
    tile_rates_gbyte_s: Mapping[LinkClass, float]
    host_tiles: int
    nodes_per_router: int = 1
    rails: int = 1

    @property
    def extents(self) -> Coordinate:
        x, y, z = self.dimensions
        return x.extent, y.extent, z.extent

    @property
    def host_rate_gbyte_s(self) -> float:
        """Rate of a node's link to its router, per direction, per rail."""
        return self.host_tiles * self.tile_rates_gbyte_s[LinkClass.HOST]

    @cached_property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """Every router coordinate, X slowest."""
        ex, ey, ez = self.extents
        return tuple((x, y, z) for x in range(ex) for y in range(ey) for z in range(ez))

    @cached_property
    def routers(self) -> tuple[Router, ...]:
        return tuple(Router(coordinate=c, rail=rail) for rail in range(self.rails) for c in self.coordinates)

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Every node, in the topology's order: X slowest, then Y, Z, slot."""
        return tuple(
            Node(coordinate=c, slot=slot, name=self.node_name(c, slot))
            for c in self.coordinates
            for slot in range(self.nodes_per_router)
        )

    @cached_property
    def node_coordinates(self) -> NDArray[np.int64]:
        """The router coordinate of every node; shape (nodes, 3), in the order of `nodes`."""
        return np.repeat(np.array(self.coordinates, dtype=np.int64), self.nodes_per_router, axis=0)

    def node_name(self, coordinate: Coordinate, slot: int = 0) -> str:
        """`n0-1-2`; with several nodes a router `n0-1-2-s`."""
        suffix = f"-{slot}" if self.nodes_per_router > 1 else ""
        return "n" + "-".join(map(str, coordinate)) + suffix

    def neighbour(self, coordinate: Coordinate, dimension: int, step: int) -> Coordinate:
        """The coordinate one step along `dimension` (0, 1, 2), round the torus."""
        moved = list(coordinate)
        moved[dimension] = (moved[dimension] + step) % self.extents[dimension]
        return moved[0], moved[1], moved[2]

    def links(self) -> Iterator[Link]:
        """Every directed link, by rail, then source router in order, then X+ X- Y+ Y- Z+ Z-."""
        for router in self.routers:
            yield from self.links_from(router)

    def links_from(self, router: Router) -> Iterator[Link]:
        """The directed links that leave one router, X+ X- Y+ Y- Z+ Z-, without those that do not exist."""
        for dimension, extent in enumerate(self.extents):
            for step in self._steps(router.coordinate[dimension], extent):
                yield self.link(router, dimension, step)

    def link(self, source: Router, dimension: int, step: int) -> Link:
        """The link that leaves `source` along `dimension` in direction `step`."""
        along = self.dimensions[dimension]
        position = source.coordinate[dimension]
        if along.extent == 2:
            step = 1 if position == 0 else -1
        lower = position if step > 0 else (position - 1) % along.extent
        link_class = along.link_class(lower)
        return Link(
            source=source,
            target=Router(coordinate=self.neighbour(source.coordinate, dimension, step), rail=source.rail),
            dimension=dimension,
            step=step,
            link_class=link_class,
            rate_gbyte_s=along.tiles * self.tile_rates_gbyte_s[link_class],
        )

    @staticmethod
    def _steps(position: int, extent: int) -> tuple[int, ...]:
        if extent == 1:
            return ()
        if extent == 2:
            return (1,) if position == 0 else (-1,)
        return (1, -1)

    @cached_property
    def sha256(self) -> str:
        """Of what the topology says, not of how its file is laid out."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """The document that `parse` reads back to an equal topology."""
        return {
            "name": self.name,
            "nodes_per_router": self.nodes_per_router,
            "rails": self.rails,
            "tile_rates_gbyte_s": {str(k): v for k, v in self.tile_rates_gbyte_s.items()},
            "dimensions": {
                name: {"extent": d.extent, "tiles": d.tiles, "pattern": [str(c) for c in d.pattern]}
                for name, d in zip(DIMENSIONS, self.dimensions, strict=True)
            },
            "host": {"tiles": self.host_tiles},
        }


def known() -> list[str]:
    """The names of the topologies that ship with railyard."""
    return sorted(p.stem for p in TOPOLOGIES.glob("*.yml"))


def load(name_or_path: str) -> Topology:
    """The topology of a shipped name (`gemini-4x4x4`) or of a YAML file.

    Raises InputError, in one line, for a name or file that is not there, not YAML, or not a topology.
    """
    path = Path(name_or_path)
    if path.suffix not in {".yml", ".yaml"}:
        path = TOPOLOGIES / f"{name_or_path}.yml"
        if not path.is_file():
            raise InputError(
                "topology", "", name_or_path, f"{', '.join(known())}, or the path of a .yml file"
            )
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError("topology", "", str(path), f"a readable file ({error.strerror})") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        where = getattr(error, "problem_mark", None)
        line = f"line {where.line + 1}" if where else ""
        raise InputError(
            str(path), line, getattr(error, "problem", None) or "text", "a YAML document"
        ) from error
    return parse(document, source=str(path))


def parse(document: object, *, source: str) -> Topology:
    """The topology that a loaded YAML document says; InputError names the field, the value and the valid ones."""
    schemas.validate(document, schemas.validator(SCHEMA), source)
    assert isinstance(document, dict)
    rates = {LinkClass(name): float(rate) for name, rate in document["tile_rates_gbyte_s"].items()}
    x, y, z = (_dimension(document["dimensions"][name], name, rates, source) for name in DIMENSIONS)
    if LinkClass.HOST not in rates:
        raise InputError(source, "tile_rates_gbyte_s", sorted(rates), "a rate for the class host")
    return Topology(
        name=document["name"],
        dimensions=(x, y, z),
        tile_rates_gbyte_s=rates,
        host_tiles=document["host"]["tiles"],
        nodes_per_router=document.get("nodes_per_router", 1),
        rails=document.get("rails", 1),
    )


def _dimension(entry: dict[str, Any], name: str, rates: Mapping[LinkClass, float], source: str) -> Dimension:
    pattern = tuple(LinkClass(c) for c in entry["pattern"])
    for link_class in pattern:
        if link_class not in rates:
            valid = f"classes with a rate in tile_rates_gbyte_s: {', '.join(sorted(rates))}"
            raise InputError(source, f"dimensions.{name}.pattern", str(link_class), valid)
    return Dimension(extent=entry["extent"], tiles=entry["tiles"], pattern=pattern)
