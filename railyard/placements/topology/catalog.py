"""Topology files: `load` and `parse` turn a YAML document into a `Topology` of the kind that one of its keys names.

`KINDS` has a row for each kind. The documents' schema is topologies/schema.json, to which the names of the rules that
choose routes are added.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from railyard.base import schemas, yaml_io
from railyard.base.checkout import TOPOLOGIES
from railyard.base.errors import InputError
from railyard.placements.topology import fattree, fattree_levels, rail_optimised, torus
from railyard.placements.topology.base import Topology
from railyard.placements.topology.chosen import rules
from railyard.placements.topology.dragonflies import dragonfly, groups

SCHEMA = TOPOLOGIES / "schema.json"

#: Reads a document, its fields that all kinds share, and the name of its source.
Parse = Callable[[Mapping[str, Any], Mapping[str, Any], str], Topology]
#: The key of a document that only this kind has -> the function that reads such a document.
KINDS: Mapping[str, Parse] = {
    "dimensions": torus.parse,
    "tree": fattree.parse,
    "fat_tree": fattree_levels.parse,
    "dragonfly": dragonfly.parse,
    "dragonfly_plus": dragonfly.parse_plus,
    "rail_optimised": rail_optimised.parse,
    "groups": groups.parse,
}


def known() -> list[str]:
    """Return the names of the topologies that ship with railyard."""
    return sorted(p.stem for p in TOPOLOGIES.glob("*.yml"))


def load(name_or_path: str) -> Topology:
    """Return the topology of a shipped name (`gemini-4x4x4`) or of a YAML file.

    `NAME+CHOOSE` is that topology with routes that it chooses by this rule (`gemini-4x4x4+sprayed`), whatever its file
    has.

    Raises InputError, in one line, for a name or file that is not there, not YAML, or not a topology.
    """
    base, plus, choose = name_or_path.rpartition("+")
    if plus:  # chosen routes are part of the name, and replace the routes of the file
        own = load(base).to_dict()
        (kind,) = KINDS.keys() & own.keys()
        part = {key: value for key, value in own[kind].items() if key != "routes"}
        own |= {"name": f"{own['name']}+{choose}", kind: part, "routes": {"choose": choose}}
        return parse(own, source=name_or_path)
    path = Path(name_or_path)
    if path.suffix not in {".yml", ".yaml"}:
        path = TOPOLOGIES / f"{name_or_path}.yml"
        if not path.is_file():
            raise InputError("topology", "", name_or_path, f"{', '.join(known())}, or the path of a .yml file")
    try:
        document = yaml_io.read(path)
    except OSError as error:
        raise InputError("topology", "", str(path), f"a readable file ({error.strerror})") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        where = getattr(error, "problem_mark", None)
        line = f"line {where.line + 1}" if where else ""
        raise InputError(str(path), line, getattr(error, "problem", None) or "text", "a YAML document") from error
    return parse(document, source=str(path))


def parse(document: object, *, source: str) -> Topology:
    """Return the topology that a loaded YAML document describes; InputError names what is wrong."""
    document = _with_whole_numbers(document)
    schemas.validate(document, _validator(), source)
    assert isinstance(document, dict)
    rates = {str(name): float(rate) for name, rate in document["tile_rates_gbyte_s"].items()}
    keys = [key for key in KINDS if key in document]
    if len(keys) != 1:
        kinds = ((key, kind.__module__.rpartition(".")[2]) for key, kind in KINDS.items())
        valid = ", ".join(f"{key} ({module})" for key, module in kinds)
        raise InputError(source, ", ".join(KINDS), sorted(document), f"exactly one of {valid}")
    common = {
        "name": document["name"],
        "tile_rates_gbyte_s": rates,
        "host_tiles": document["host"]["tiles"],
        "nodes_per_router": document.get("nodes_per_router", 1),
        "rails": document.get("rails", 1),
        "sockets_per_node": document.get("sockets_per_node", 1),
        "lanes_per_tile": document.get("lanes_per_tile", 3),
        "hop_latency_us": float(document.get("hop_latency_us", 0)),
        "routes": rules.parse(document.get("routes", {}), source),
        "fair": "arbitration" not in document,
    }
    topology = KINDS[keys[0]](document, common, source)
    choose = topology.routes.choose
    if choose not in topology.choices:
        raise InputError(source, "routes.choose", choose, ", ".join(topology.choices))
    if choose != rules.FIXED and "routes" in document[keys[0]]:
        raise InputError(source, "routes.choose", choose, "fixed with routes of the kind's own (valiant_share, spread)")
    by_part = topology.routes.rule.by_part
    if by_part and len({topology.part(router) for router in topology.routers}) < 3:
        raise InputError(source, "routes.choose", choose, "a minimal rule with fewer than three groups or routers")
    return topology


@cache
def _validator() -> schemas.Validator:
    """Return the validator of topology documents, with the names of all rules that choose routes."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    schema["properties"]["routes"]["properties"]["choose"]["enum"] = list(rules.RULES)
    return schemas.compiled(schema)


def _with_whole_numbers(part: object) -> object:
    """Return the document with 2 for 2.0: to JSON Schema both are integers, to Python only one is."""
    if isinstance(part, dict):
        return {key: _with_whole_numbers(value) for key, value in part.items()}
    if isinstance(part, list):
        return [_with_whole_numbers(value) for value in part]
    return int(part) if isinstance(part, float) and part.is_integer() else part


def as_torus(topology: Topology, what: str) -> torus.Torus:
    """Return the topology as a torus; InputError when `what` is requested of another kind of network."""
    if not isinstance(topology, torus.Torus):
        raise InputError(what, "topology", topology.name, "a torus")
    return topology
