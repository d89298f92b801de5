"""Topology files: `load` and `parse` turn a YAML document into a `Torus` or a `FatTree`.

A document with `dimensions` is a torus, one with `tree` a fat tree; its schema is topologies/schema.json.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from placements.topology.base import Coordinate, Link, LinkClass, Node, Router, Topology
from placements.topology.fattree import FatTree
from placements.topology.torus import DIMENSIONS, Dimension, Torus
from railyard import schemas, yaml_io
from railyard.checkout import TOPOLOGIES
from railyard.errors import InputError

__all__ = [
    "DIMENSIONS",
    "Coordinate",
    "Dimension",
    "FatTree",
    "Link",
    "LinkClass",
    "Node",
    "Router",
    "Topology",
    "Torus",
    "known",
    "load",
    "parse",
    "torus",
]

SCHEMA = TOPOLOGIES / "schema.json"

Rates = Mapping[LinkClass, float]


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
        document = yaml_io.read(path)
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
    document = _with_whole_numbers(document)
    schemas.validate(document, schemas.validator(SCHEMA), source)
    assert isinstance(document, dict)
    rates = {LinkClass(name): float(rate) for name, rate in document["tile_rates_gbyte_s"].items()}
    if ("dimensions" in document) == ("tree" in document):
        raise InputError(
            source, "dimensions, tree", sorted(document), "one of the two: a torus or a fat tree"
        )
    common = {
        "name": document["name"],
        "tile_rates_gbyte_s": rates,
        "host_tiles": document["host"]["tiles"],
        "nodes_per_router": document.get("nodes_per_router", 1),
        "rails": document.get("rails", 1),
        "sockets_per_node": document.get("sockets_per_node", 1),
        "lanes_per_tile": document.get("lanes_per_tile", 3),
        "hop_latency_us": float(document.get("hop_latency_us", 0)),
    }
    make = _torus if "dimensions" in document else _fat_tree
    return make(document, rates, common, source)


def _with_whole_numbers(part: object) -> object:
    """The document with 2 for 2.0: to JSON Schema both are integers, to Python only one is."""
    if isinstance(part, dict):
        return {key: _with_whole_numbers(value) for key, value in part.items()}
    if isinstance(part, list):
        return [_with_whole_numbers(value) for value in part]
    return int(part) if isinstance(part, float) and part.is_integer() else part


def torus(topology: Topology, what: str) -> Torus:
    """The topology as a torus; InputError when `what` is asked of another kind of network."""
    if not isinstance(topology, Torus):
        raise InputError(what, "topology", topology.name, "a torus")
    return topology


def _torus(document: dict[str, Any], rates: Rates, common: dict[str, Any], source: str) -> Torus:
    if common["nodes_per_router"] > 7:
        raise InputError(source, "nodes_per_router", common["nodes_per_router"], "at most 7 on a torus")
    x, y, z = (_dimension(document["dimensions"][name], name, rates, source) for name in DIMENSIONS)
    return Torus(**common, dimensions=(x, y, z))


def _dimension(entry: dict[str, Any], name: str, rates: Rates, source: str) -> Dimension:
    pattern = tuple(LinkClass(c) for c in entry["pattern"])
    for link_class in pattern:
        if link_class not in rates:
            valid = f"classes with a rate in tile_rates_gbyte_s: {', '.join(sorted(rates))}"
            raise InputError(source, f"dimensions.{name}.pattern", str(link_class), valid)
    return Dimension(extent=entry["extent"], tiles=entry["tiles"], pattern=pattern)


def _fat_tree(document: dict[str, Any], rates: Rates, common: dict[str, Any], source: str) -> FatTree:
    tree = document["tree"]
    if LinkClass.CABLE not in rates:
        raise InputError(source, "tile_rates_gbyte_s", sorted(rates), "a rate for the class cable")
    nodes, over = common["nodes_per_router"], tree.get("oversubscription", 1)
    if nodes % over:
        divisors = ", ".join(str(n) for n in range(1, nodes + 1) if nodes % n == 0)
        raise InputError(source, "tree.oversubscription", over, f"a divisor of nodes_per_router: {divisors}")
    return FatTree(**common, leaves=tree["leaves"], oversubscription=over, link_tiles=tree.get("tiles", 1))
