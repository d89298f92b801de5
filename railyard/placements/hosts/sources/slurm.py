"""Trees in files: Slurm's topology.conf and topology.yaml, and a model file of NVIDIA's topograph.

Slurm's topology.conf, and what `scontrol show topology` prints (topology.conf(5)): trees and blocks.

    SwitchName=leaf0 Nodes=n[0-3]              BlockName=b0 Nodes=n[0-17]
    SwitchName=spine Switches=leaf[0-1]        BlockSizes=18,36

A leaf's or a block's nodes are at one place; the levels above give pods (`trees`). In what scontrol prints a switch of
switches lists all nodes below it and is not a leaf; aggregated blocks are made of blocks. A torus or a ring has no
order of nodes in these texts.

Slurm's topology.yaml (topology.yaml(5)): several topologies, each a tree, blocks, a torus, a ring or flat.

    - topology: default
      cluster_default: true
      tree:
        switches:
          - {switch: spine, children: "leaf[0-1]"}
          - {switch: leaf0, nodes: "n[0-3]"}

The one with `cluster_default: true` is read, or else the first that has coordinates. The nodes of a torus are listed
with x fastest (Slurm's torus3d_record.c), those of a ring in its order.

A model file of topograph: switches, the switches below them, and the nodes of a capacity block or switch.

    switches:
      spine: {switches: [leaf0, leaf1]}          in newer files; `- {name: spine, switches: [...]}` in older ones
      leaf0: {nodes: ["n[0-3]"]}
    blocks:
      - {switch: leaf1, nodes: ["n[4-7]"]}

A leaf's nodes are listed at the switch, in a block that names it, or in `capacity_blocks`, which the switch names.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import yaml

from railyard.base import yaml_io
from railyard.base.errors import InputError, quoted
from railyard.placements.hosts.sources import trees
from railyard.placements.hosts.sources.located import CoordinateSource, NodeCoordinates, OddLineError, Reading
from railyard.placements.hosts.text import content_lines

Reader = Callable[[Any, Reading], NodeCoordinates]
YAML_ITEM = re.compile(r"^[ \t]*-[ \t]+(?:\{[ \t]*)?[\"']?topology[\"']?\s*:", re.M)
MODEL_LINE = re.compile(r"^switches:\s*$", re.M)


def parse_yaml(text: str, source: str) -> NodeCoordinates:
    """Return name -> coordinate of one of the topologies; InputError for a document that is broken or has none."""
    topologies = [one for one in documents(text, source) if isinstance(one, dict) and "topology" in one]
    blocks: Reader = functools.partial(_tree, key="blocks", name="block")
    readers: dict[str, Reader] = {"tree": _tree, "block": blocks, "torus3d": _torus, "ring": _ring}
    able = [one for one in topologies if not readers.keys().isdisjoint(one)]
    if not able:
        valid = f"a topology of {', '.join(readers)}"
        raise InputError(source, "", problem="no topology with coordinates", valid=valid)
    chosen = next((one for one in able if str(one.get("cluster_default")).lower() == "true"), able[0])
    nodes = Reading(source)
    nodes.odd = [
        OddLineError(source, f"topology {one['topology']}", problem="not read", valid=f"{chosen['topology']}")
        for one in topologies
        if one is not chosen
    ]
    kind = next(kind for kind in readers if kind in chosen)
    try:
        return readers[kind](chosen[kind], nodes)
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


def names_in(value: Any, nodes: Reading) -> list[str]:
    """Return the names of a host list, or of a list of host lists; none for no value."""
    if isinstance(value, list):
        return [name for one in value for name in names_in(one, nodes)]
    return trees.names(str(value), nodes) if value is not None else []


def _tree(document: Any, nodes: Reading, key: str = "switches", name: str = "switch") -> NodeCoordinates:
    """Return the coordinates of a tree, or of blocks, which have no children."""
    tree = trees.Tree()
    for one in items(document, key, nodes.source):
        switch = str(one.get(name))
        if "children" in one:
            tree.joined.extend((lower, switch) for lower in names_in(one["children"], nodes))
        elif "nodes" in one:
            tree.nodes.setdefault(switch, []).extend(names_in(one["nodes"], nodes))
    return trees.from_file(tree, nodes)


def _torus(document: Any, nodes: Reading) -> NodeCoordinates:
    torus = _only(document, "toruses", "a torus", nodes.source)
    x, y, z = (_extent(torus, name, nodes.source) for name in "xyz")
    listed = names_in(torus.get("nodes"), nodes)
    if len(listed) != x * y * z:
        problem = f"torus {torus.get('name')}: {len(listed)} nodes for {x}x{y}x{z} places"
        valid = "`nodes` with one for each place; regions are not read"
        raise InputError(nodes.source, "", problem=problem, valid=valid)
    for index, name in enumerate(listed):
        nodes.put(name, (index % x, index // x % y, index // (x * y)))
    return nodes.located(extents=(x, y, z))


def _ring(document: Any, nodes: Reading) -> NodeCoordinates:
    ring = _only(document, "rings", "a ring", nodes.source)
    listed = names_in(ring.get("nodes"), nodes)
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


CONF_LINE = re.compile(r"^[ \t]*(?:Switch|Block|Torus|Ring)Name\s*=", re.M | re.I)
FIELD = re.compile(r"\b(\w++)\s*+=\s*(\"[^\"]*\"|\S+)")
WITHOUT_ORDER = ("torusname", "ringname")
#: Keys of lines that have no node of their own.
OTHERS = ("blocksizes", "aggregatedblock", "topologyplugin", "topologyparam")


def parse_conf(text: str, source: str) -> NodeCoordinates:
    """Return name -> (leaf, 0, 0), or (pod, leaf, 0) where the tree has pods; InputError where no line can be read."""
    tree, nodes = trees.Tree(), Reading(source)
    above: dict[str, int] = {}

    def read(line: str) -> None:
        fields = {key.lower(): value.strip('"') for key, value in FIELD.findall(line)}
        if any(key in fields for key in WITHOUT_ORDER):
            problem = f"{line.split()[0]} lists nodes in no order of coordinates"
            valid = "topology.yaml, or no file: jobs read SLURM_TOPOLOGY_ADDR"
            raise InputError(source, f"line {nodes.number}", problem=problem, valid=valid)
        name = fields.get("switchname") or fields.get("blockname")
        if not name:
            if not any(key in fields for key in OTHERS):
                raise nodes.odd_line(line, "SwitchName=NAME with Nodes= or Switches=")
            return
        if "switches" in fields:
            tree.joined.extend((lower, name) for lower in nodes.expand(fields["switches"]))
            above.update(dict.fromkeys(nodes.expand(fields.get("nodes", "")), nodes.number))
        elif "nodes" in fields:
            tree.nodes.setdefault(name, []).extend(trees.names(fields["nodes"], nodes))

    nodes.each(content_lines(re.sub(r"\\\n", " ", text)), read)
    below = set(itertools.chain.from_iterable(tree.nodes.values()))
    valid = "each node below a switch that has no switches"
    nodes.odd += [OddLineError(source, f"line {above[node]}", node, valid) for node in above if node not in below]
    return trees.from_file(tree, nodes)


def parse_topograph(text: str, source: str) -> NodeCoordinates:
    """Return name -> (leaf, 0, 0), or (pod, leaf, 0); InputError for a document that is broken."""
    nodes = Reading(source)
    document = documents(text, source)[0]
    document = document if isinstance(document, dict) else {}
    blocks = {name: names_in(one.get("nodes"), nodes) for name, one in _named(document.get("capacity_blocks"))}
    tree = trees.Tree()
    for switch, one in _named(document.get("switches")):
        tree.joined.extend((lower, switch) for lower in names_in(one.get("switches"), nodes))
        own = names_in(one.get("nodes"), nodes)
        own += [node for block in names_in(one.get("capacity_blocks"), nodes) for node in blocks.get(block, ())]
        if own:
            tree.nodes[switch] = list(dict.fromkeys(own))
    for one in document.get("blocks") or ():
        if isinstance(one, dict) and "switch" in one:
            tree.nodes.setdefault(str(one["switch"]), []).extend(names_in(one.get("nodes"), nodes))
    return trees.from_file(tree, nodes)


def _named(part: Any) -> list[tuple[str, dict[str, Any]]]:
    """Return name and mapping of each entry of a mapping, or of a list whose items have a `name`."""
    pairs = list(part.items()) if isinstance(part, dict) else []
    if isinstance(part, list):
        pairs = [(one.get("name"), one) for one in part if isinstance(one, dict)]
    return [(str(name), one) for name, one in pairs if isinstance(one, dict)]


SOURCES = (
    CoordinateSource("slurm-yaml", "topology.yaml", 32, YAML_ITEM.search, parse_yaml),
    CoordinateSource(
        "slurm", "topology.conf of a tree or of blocks, or `scontrol show topology`", 30, CONF_LINE.search, parse_conf
    ),
    CoordinateSource("topograph", "a model file of NVIDIA topograph", 34, MODEL_LINE.search, parse_topograph),
)
