"""Coordinates of nodes below a tree of switches, or below a fat tree whose cables are known.

A leaf is a switch with nodes. The switches of each level and all below them fall into parts that are joined; a part of
the first level is a pod. A node's coordinate is its leaf, numbered in its pod, after its pod, and so on up; the topmost
level joins everything and has no number. So two levels give (leaf, 0, 0) and three give (pod, leaf, 0). Numbers follow
the order in which the source lists the leaves. Leaves out spines, whose numbers routing does not need.

A management node on a switch above the leaves joins the pods below it, so that no pods are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from railyard.base.errors import InputError
from railyard.placements.hosts.sources.located import NodeCoordinates, Reading
from railyard.placements.topology.base import Coordinate

MOST_LEVELS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """Leaf -> its nodes, in the order of the source, and pairs of switches that are joined, the lower one first."""

    nodes: dict[str, list[str]] = field(default_factory=dict)
    joined: list[tuple[str, str]] = field(default_factory=list)


def names(text: str, nodes: Reading) -> list[str]:
    """Return the nodes of a host list; OddLineError names the line, also for Slurm's word for all nodes."""
    if text.upper() == "ALL":
        raise nodes.odd_line(text, "the names of nodes")
    return nodes.expand(text)


def from_file(tree: Tree, nodes: Reading) -> NodeCoordinates:
    """Return the coordinates of a tree whose file names what is below each switch."""
    below: dict[str, list[str]] = {}
    for lower, upper in tree.joined:
        below.setdefault(upper, []).append(lower)
    level: dict[str, int] = {}

    def height(switch: str, above: frozenset[str] = frozenset()) -> int:
        if switch not in level:
            if len(above) > MOST_LEVELS:
                problem = f"{switch} is below {MOST_LEVELS} switches"
                raise InputError(nodes.source, "", problem=problem, valid="fewer levels")
            lower = [one for one in below.get(switch, ()) if one not in above]
            level[switch] = 1 + max((height(one, above | {switch}) for one in lower), default=-1)
        return level[switch]

    for switch in (*tree.nodes, *below):
        height(switch)
    return _coordinates(tree, level, nodes)


def from_cables(tree: Tree, nodes: Reading) -> NodeCoordinates:
    """Return the coordinates of a network whose cables are known; a switch's level is its distance from a leaf."""
    near: dict[str, list[str]] = {}
    for one, other in tree.joined:
        near.setdefault(one, []).append(other)
        near.setdefault(other, []).append(one)
    level = dict.fromkeys(tree.nodes, 0)
    rim = list(level)
    while rim:
        rim = [
            other
            for switch in rim
            for other in near.get(switch, ())
            if level.setdefault(other, level[switch] + 1) == level[switch] + 1
        ]
        rim = list(dict.fromkeys(rim))
    return _coordinates(tree, level, nodes)


def _coordinates(tree: Tree, level: Mapping[str, int], nodes: Reading) -> NodeCoordinates:
    leaves = [leaf for leaf, names in tree.nodes.items() if names]
    columns = [
        parts
        for most in range(max(level.values(), default=0) - 1, 0, -1)
        if len(set((parts := _parts(leaves, tree.joined, level, most)).values())) > 1
    ]
    paths = {leaf: (*(column[leaf] for column in columns), leaf) for leaf in leaves}
    numbers, depth = numbered(list(paths.values())), len(columns) + 1
    for leaf, path in paths.items():
        for name in tree.nodes[leaf]:
            nodes.put(name, (*numbers[path], 0, 0)[: max(3, depth)])
    words = (*("block",) * (depth - 2), *(("pod",) if depth > 1 else ()), "leaf")
    fields: dict[str, Any] = {"dimensions": (*words, "", "")[: max(3, depth)]}
    if numbers:
        largest = (max(column) + 1 for column in zip(*numbers.values(), strict=True))
        fields["extents"] = (*largest, 1, 1)[: max(3, depth)]
    return nodes.located(**fields)


def numbered(paths: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], Coordinate]:
    """Return path -> number of each of its parts among those of the same parent, in order of appearance."""
    number: dict[tuple[str, ...], int] = {}
    children: dict[tuple[str, ...], int] = {}
    for path in paths:
        for depth in range(1, len(path) + 1):
            if path[:depth] not in number:
                parent = path[: depth - 1]
                number[path[:depth]] = children.get(parent, 0)
                children[parent] = number[path[:depth]] + 1
    return {path: tuple(number[path[: depth + 1]] for depth in range(len(path))) for path in paths}


def _parts(
    leaves: Iterable[str], joined: Iterable[tuple[str, str]], level: Mapping[str, int], most: int
) -> dict[str, str]:
    """Return leaf -> one switch of all that are joined to it by switches up to a level."""
    parent: dict[str, str] = {}

    def root(switch: str) -> str:
        while parent.setdefault(switch, switch) != switch:
            parent[switch] = parent[parent[switch]]
            switch = parent[switch]
        return switch

    for one, other in joined:
        if max(level.get(one, most + 1), level.get(other, most + 1)) <= most:
            parent[root(other)] = root(one)
    return {leaf: root(leaf) for leaf in leaves}
