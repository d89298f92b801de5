"""Slurm's topology.conf, and what `scontrol show topology` prints (topology.conf(5)): trees and blocks.

    SwitchName=leaf0 Nodes=n[0-3]              BlockName=b0 Nodes=n[0-17]
    SwitchName=spine Switches=leaf[0-1]        BlockSizes=18,36

A leaf's or a block's nodes are at one place; the levels above give pods (`trees`). In what scontrol prints a switch of
switches lists all nodes below it and is not a leaf; aggregated blocks are made of blocks. A torus or a ring has no
order of nodes in these texts.
"""

from __future__ import annotations

import itertools
import re

from railyard.base.errors import InputError
from railyard.placements.hosts.sources import trees
from railyard.placements.hosts.sources.located import CoordinateSource, NodeCoordinates, OddLineError, Reading
from railyard.placements.hosts.text import content_lines

LINE = re.compile(r"^[ \t]*(?:Switch|Block|Torus|Ring)Name\s*=", re.M | re.I)
FIELD = re.compile(r"\b(\w++)\s*+=\s*(\"[^\"]*\"|\S+)")
WITHOUT_ORDER = ("torusname", "ringname")
#: Keys of lines that have no node of their own.
OTHERS = ("blocksizes", "aggregatedblock", "topologyplugin", "topologyparam")


def parse(text: str, source: str) -> NodeCoordinates:
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


SOURCE = CoordinateSource(
    name="slurm",
    does="topology.conf of a tree or of blocks, or `scontrol show topology`",
    precedence=30,
    matches=LINE.search,
    parse=parse,
)
