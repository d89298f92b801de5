"""Count the switches and groups over which a launch's nodes are spread, and the nodes in each group.

Models: the hosts that ran ranks, and the coordinates of the nodes in the record. Nodes with equal coordinates are on
one switch. If the topology has groups, the first number of a coordinate is its group. Leaves out: how switches and
groups are connected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from railyard.base import host_names
from railyard.records.json_io import Json

Coordinates = Mapping[str, tuple[int, ...]]


class Proximity(StrEnum):
    """The smallest part of the network that contains two nodes, nearest first."""

    NODE = "same node"
    SWITCH = "same switch"
    GROUP = "same group"
    OTHER_GROUP = "other group"
    OTHER_SWITCH = "other switch"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spans:
    """The spread of a launch. `groups` and `group_nodes` (group -> nodes) are None if the network has no groups."""

    switches: int
    groups: int | None
    group_nodes: Mapping[str, int] | None


def parse(item: Mapping[str, Json] | None) -> Spans | None:
    """Return the spread from a launch's field `spans`, which may be None."""
    return None if item is None else Spans(**item)


def coordinates(nodes: Iterable[Mapping[str, Json]]) -> dict[str, tuple[int, ...]]:
    """Return name -> coordinate of the nodes that have one."""
    return {node["name"]: tuple(node["coordinate"]) for node in nodes if node["coordinate"]}


def places(hosts: Collection[str], at: Coordinates) -> dict[str, tuple[int, ...]]:
    """Return host -> coordinate; a host and its node match even if only one of the two names includes the domain."""
    return {host: at[node] for host, node in host_names.matched(list(hosts), at).items()}


def of_hosts(hosts: Collection[str], at: Coordinates, *, has_groups: bool) -> Spans | None:
    """Return the spread over the hosts that ran ranks; None if there are none, or one has no coordinate."""
    coordinates = places(hosts, at).values()
    if not coordinates or len(coordinates) < len(hosts):
        return None
    groups = Counter(coordinate[0] for coordinate in coordinates)
    return Spans(
        switches=len(set(coordinates)),
        groups=len(groups) if has_groups else None,
        group_nodes={str(group): groups[group] for group in sorted(groups)} if has_groups else None,
    )


def proximity(one: str, other: str, at: Coordinates, *, has_groups: bool) -> Proximity | None:
    """Return how two hosts are related; `at` is host -> coordinate. None if one of them has no coordinate."""
    if one == other:
        return Proximity.NODE
    first, second = at.get(one), at.get(other)
    if first is None or second is None:
        return None
    if first == second:
        return Proximity.SWITCH
    if not has_groups:
        return Proximity.OTHER_SWITCH
    return Proximity.GROUP if first[0] == second[0] else Proximity.OTHER_GROUP
