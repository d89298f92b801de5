"""How far a launch's nodes are spread over the network: switches, groups, and nodes of each group.

Models: hosts that ran ranks, and the coordinates that the record gives the nodes. Nodes with one coordinate are on one
switch. Where the topology has groups, a coordinate's first number is its group. Leaves out: how switches and groups are
joined.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from railyard.base import host_names
from railyard.records.json_io import Json

Coordinates = Mapping[str, tuple[int, ...]]


class Relation(StrEnum):
    """How two nodes are related, the nearest first."""

    NODE = "same node"
    SWITCH = "same switch"
    GROUP = "same group"
    OTHER_GROUP = "other group"
    OTHER_SWITCH = "other switch"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spans:
    """The spread of a launch. `groups` and `group_nodes` (nodes by group) are None where the network has no groups."""

    switches: int
    groups: int | None
    group_nodes: Mapping[str, int] | None


def parse(item: Mapping[str, Json] | None) -> Spans | None:
    """Return the spread that a record names, or None."""
    return None if item is None else Spans(**item)


def coordinates(nodes: Iterable[Mapping[str, Json]]) -> dict[str, tuple[int, ...]]:
    """Return the coordinate of each node of an allocation that has one."""
    return {node["name"]: tuple(node["coordinate"]) for node in nodes if node["coordinate"]}


def places(hosts: Collection[str], at: Coordinates) -> dict[str, tuple[int, ...]]:
    """Return the coordinate of each host whose node has one; either name may have the domain that the other lacks."""
    return {host: at[node] for host, node in host_names.matched(list(hosts), at).items()}


def of_hosts(hosts: Collection[str], at: Coordinates, *, has_groups: bool) -> Spans | None:
    """Return the spread over the hosts that ran ranks; None where a host has no coordinate, or none ran."""
    coordinates = places(hosts, at).values()
    if not coordinates or len(coordinates) < len(hosts):
        return None
    groups = Counter(coordinate[0] for coordinate in coordinates)
    return Spans(
        switches=len(set(coordinates)),
        groups=len(groups) if has_groups else None,
        group_nodes={str(group): groups[group] for group in sorted(groups)} if has_groups else None,
    )


def relation(one: str, other: str, at: Coordinates, *, has_groups: bool) -> Relation | None:
    """Return how two hosts are related, by their `places`; None where one has no coordinate."""
    if one == other:
        return Relation.NODE
    first, second = at.get(one), at.get(other)
    if first is None or second is None:
        return None
    if first == second:
        return Relation.SWITCH
    if not has_groups:
        return Relation.OTHER_SWITCH
    return Relation.GROUP if first[0] == second[0] else Relation.OTHER_GROUP
