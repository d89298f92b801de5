"""A model file of NVIDIA's topograph: switches, the switches below them, and the nodes of a capacity block or switch.

    switches:
      spine: {switches: [leaf0, leaf1]}          in newer files; `- {name: spine, switches: [...]}` in older ones
      leaf0: {nodes: ["n[0-3]"]}
    blocks:
      - {switch: leaf1, nodes: ["n[4-7]"]}

A leaf's nodes are listed at the switch, in a block that names it, or in `capacity_blocks`, which the switch names.
"""

from __future__ import annotations

import re
from typing import Any

from railyard.placements.hosts.sources import trees
from railyard.placements.hosts.sources.located import CoordinateSource, NodeCoordinates, Reading
from railyard.placements.hosts.sources.slurm_yaml import documents, names


def parse(text: str, source: str) -> NodeCoordinates:
    """Return name -> (leaf, 0, 0), or (pod, leaf, 0); InputError for a document that is broken."""
    nodes = Reading(source)
    document = documents(text, source)[0]
    document = document if isinstance(document, dict) else {}
    blocks = {name: names(one.get("nodes"), nodes) for name, one in _named(document.get("capacity_blocks"))}
    tree = trees.Tree()
    for switch, one in _named(document.get("switches")):
        tree.joined.extend((lower, switch) for lower in names(one.get("switches"), nodes))
        own = names(one.get("nodes"), nodes)
        own += [node for block in names(one.get("capacity_blocks"), nodes) for node in blocks.get(block, ())]
        if own:
            tree.nodes[switch] = list(dict.fromkeys(own))
    for one in document.get("blocks") or ():
        if isinstance(one, dict) and "switch" in one:
            tree.nodes.setdefault(str(one["switch"]), []).extend(names(one.get("nodes"), nodes))
    return trees.from_file(tree, nodes)


def _named(part: Any) -> list[tuple[str, dict[str, Any]]]:
    """Return name and mapping of each entry of a mapping, or of a list whose items have a `name`."""
    pairs = list(part.items()) if isinstance(part, dict) else []
    if isinstance(part, list):
        pairs = [(one.get("name"), one) for one in part if isinstance(one, dict)]
    return [(str(name), one) for name, one in pairs if isinstance(one, dict)]


SOURCE = CoordinateSource(
    name="topograph",
    does="a model file of NVIDIA topograph",
    precedence=34,
    matches=re.compile(r"^switches:\s*$", re.M).search,
    parse=parse,
)
