"""Slurm's topology.yaml (topology.yaml(5)): several topologies, each a tree, blocks, a torus, a ring or flat.

    - topology: default
      cluster_default: true
      tree:
        switches:
          - {switch: spine, children: "leaf[0-1]"}
          - {switch: leaf0, nodes: "n[0-3]"}

The one with `cluster_default: true` is read, or else the first that has coordinates. The nodes of a torus are listed
with x fastest (Slurm's torus3d_record.c), those of a ring in its order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from railyard.base import yaml_io
from railyard.base.errors import InputError, quoted
from railyard.placements.hosts.sources import trees
from railyard.placements.hosts.sources.located import CoordinateSource, NodeCoordinates, OddLineError, Reading

KINDS = ("tree", "block", "torus3d", "ring")


def parse(text: str, source: str) -> NodeCoordinates:
    """Return name -> coordinate of one of the topologies; InputError for a document that is broken or has none."""
    topologies = [one for one in documents(text, source) if isinstance(one, dict) and "topology" in one]
    able = [one for one in topologies if any(kind in one for kind in KINDS)]
    if not able:
        kinds = ", ".join(KINDS)
        raise InputError(source, "", problem="no topology with coordinates", valid=f"a topology of {kinds}")
    chosen = next((one for one in able if str(one.get("cluster_default")).lower() == "true"), able[0])
    nodes = Reading(source)
    nodes.odd = [
        OddLineError(source, f"topology {one['topology']}", problem="not read", valid=f"{chosen['topology']}")
        for one in topologies
        if one is not chosen
    ]
    (kind,) = [kind for kind in KINDS if kind in chosen][:1]
    reader = {"tree": _tree, "block": _blocks, "torus3d": _torus, "ring": _ring}[kind]
    try:
        return reader(chosen[kind], nodes)
    except OddLineError as error:
        problem = f"topology {chosen['topology']}: {error.problem or quoted(error.value)}"
        raise InputError(source, "", problem=problem, valid=error.valid) from error


def documents(text: str, source: str) -> Sequence[Any]:
    """Return the items of a YAML document that is a list, or the document itself as the only item."""
    try:
        document = yaml_io.loads(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}" if mark else ""
        raise InputError(source, line, getattr(error, "problem", None) or "text", "a YAML document") from error
    return document if isinstance(document, list) else [document]


def items(document: Any, key: str, source: str) -> list[Mapping[str, Any]]:
    """Return the list of mappings below a key; InputError where it is something else."""
    several = document.get(key) if isinstance(document, dict) else None
    if not isinstance(several, list) or not all(isinstance(one, dict) for one in several):
        raise InputError(source, key, problem="no list of mappings", valid=f"{key}: with an item for each")
    return several


def names(value: Any, nodes: Reading) -> list[str]:
    """Return the names of a host list, or of a list of host lists; none for no value."""
    if isinstance(value, list):
        return [name for one in value for name in names(one, nodes)]
    return trees.names(str(value), nodes) if value is not None else []


def _tree(document: Any, nodes: Reading) -> NodeCoordinates:
    tree = trees.Tree()
    for one in items(document, "switches", nodes.source):
        switch = str(one.get("switch"))
        if "children" in one:
            tree.joined.extend((lower, switch) for lower in names(one["children"], nodes))
        elif "nodes" in one:
            tree.nodes.setdefault(switch, []).extend(names(one["nodes"], nodes))
    return trees.from_file(tree, nodes)


def _blocks(document: Any, nodes: Reading) -> NodeCoordinates:
    tree = trees.Tree()
    for one in items(document, "blocks", nodes.source):
        tree.nodes.setdefault(str(one.get("block")), []).extend(names(one.get("nodes"), nodes))
    return trees.from_file(tree, nodes)


def _torus(document: Any, nodes: Reading) -> NodeCoordinates:
    torus = _only(document, "toruses", "a torus", nodes.source)
    x, y, z = (_extent(torus, name, nodes.source) for name in "xyz")
    listed = names(torus.get("nodes"), nodes)
    if len(listed) != x * y * z:
        problem = f"torus {torus.get('name')}: {len(listed)} nodes for {x}x{y}x{z} places"
        valid = "`nodes` with one for each place; regions are not read"
        raise InputError(nodes.source, "", problem=problem, valid=valid)
    for index, name in enumerate(listed):
        nodes.put(name, (index % x, index // x % y, index // (x * y)))
    return nodes.located(extents=(x, y, z))


def _ring(document: Any, nodes: Reading) -> NodeCoordinates:
    ring = _only(document, "rings", "a ring", nodes.source)
    listed = names(ring.get("nodes"), nodes)
    for index, name in enumerate(listed):
        nodes.put(name, (index, 0, 0))
    return nodes.located(extents=(len(listed), 1, 1), dimensions=("x", "", ""))


def _only(document: Any, key: str, what: str, source: str) -> Mapping[str, Any]:
    """Return the only item of a list; InputError for several, because each has its own coordinates."""
    several = items(document, key, source)
    if len(several) != 1:
        raise InputError(source, key, problem=f"{len(several)} items", valid=f"one: only {what} has coordinates")
    return several[0]


def _extent(torus: Mapping[str, Any], name: str, source: str) -> int:
    value = torus.get(name)
    if not isinstance(value, int) or not 0 < value < 1 << 16:
        raise InputError(source, name, value, "a whole number from 1")
    return value


SOURCE = CoordinateSource(
    name="slurm-yaml",
    does="topology.yaml",
    precedence=32,
    matches=re.compile(r"^[ \t]*-[ \t]+(?:\{[ \t]*)?[\"']?topology[\"']?\s*:", re.M).search,
    parse=parse,
)
