"""Put real machines' names on a topology, with or without the coordinates of their nodes.

A topology's own nodes are named by their coordinates (`n0-1-2`). A machine's are not: `named` puts its names on the
topology by the coordinates of a source (`railyard.placements.hosts.sources`). `flat` is the topology of nodes without
coordinates.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence

from railyard.base.errors import InputError
from railyard.base.host_names import matched
from railyard.placements.hosts.sources.located import NodeCoordinates
from railyard.placements.topology.base import Coordinate, LinkClass, Topology
from railyard.placements.topology.fattree import FatTree

#: The name of a network of which nothing is known.
UNKNOWN = "unknown"


def named(topology: Topology, coordinates: Mapping[str, Coordinate], source: str = "coordinates") -> Topology:
    """Return the topology with these names (name -> coordinate) on its nodes; those of one router fill its slots.

    Raises InputError for a coordinate outside the topology, or more nodes on a router than it has slots.
    """
    slots: Counter[Coordinate] = Counter()
    names: dict[tuple[Coordinate, int], str] = {}
    dimensions = len(topology.extents)
    for name, coordinate in coordinates.items():
        # A line of a file has zeros up to three numbers.
        at = coordinate if any(coordinate[dimensions:]) else coordinate[:dimensions]
        if at not in topology.router_numbers:
            box = "x".join(map(str, topology.extents))
            raise InputError(source, name, ",".join(map(str, at)), f"a coordinate of {topology.name}, {box}")
        if slots[at] >= topology.nodes_at(at):
            surplus = f"node {slots[at] + 1} at {','.join(map(str, at))}"
            raise InputError(source, name, surplus, f"at most {topology.nodes_at(at)} nodes per router")
        names[at, slots[at]] = name
        slots[at] += 1
    return dataclasses.replace(topology, names=names)


def fitted(topology: Topology, located: NodeCoordinates, source: str) -> dict[str, Coordinate]:
    """Return a source's coordinates with the numbers that the kind of the topology has.

    Raises InputError for a source with other numbers than the topology: groups on a torus, leaves without their pods.
    Lines `HOST X Y Z` have the topology's own numbers.
    """
    given = tuple(name for name in located.dimensions if name)
    wanted, coordinates = topology.coordinate_names, located.coordinates
    if located.kind == "coordinates" or not wanted or (given[0] == wanted[0] == "x"):
        return dict(coordinates)
    if "x" not in {given[0], wanted[0]}:
        if len(wanted) == 1:
            return dict(coordinates) if located.dimensions[0] == given[-1] else leaves(coordinates)
        if len(given) > 1:
            return {name: _in_group(topology, at, given, source) for name, at in coordinates.items()}
        if topology.extents[0] == 1:
            return {name: (0, max(at), 0) for name, at in coordinates.items()}
    problem = f"its coordinates are {', '.join(given)}, those of {topology.name} are {', '.join(wanted)}"
    raise InputError(source, "", problem=problem, valid=f"a source with {', '.join(wanted)}")


def _in_group(topology: Topology, at: Coordinate, given: tuple[str, ...], source: str) -> Coordinate:
    """Return (group, switch, 0) of a coordinate that may have numbers of blocks before the group, or a port after."""
    *groups, switch = at[:2] if given[-1] == "port" else at[: len(given)]
    number, *inside = groups
    sizes = topology.group_blocks[: len(inside)][::-1]
    if inside and len(topology.group_blocks) <= len(inside):
        problem = f"it has {len(given) + 1} levels of switches, {topology.name} has fewer"
        raise InputError(source, "", problem=problem, valid="a topology with as many levels")
    for part, size in zip(inside, sizes, strict=True):
        if part >= size:
            problem = f"a switch above the pods has {part + 1} or more parts below it"
            raise InputError(source, "", problem=problem, valid=f"at most {size}, as {topology.name} has")
        number = number * size + part
    return (number, switch, 0)


def by_host(hosts: Sequence[str], coordinates: Mapping[str, Coordinate]) -> dict[str, Coordinate]:
    """Return a source's coordinates under the names of `hosts`, where a host has one there with or without a domain."""
    own_name = {other: name for name, other in matched(hosts, coordinates).items()}
    return {own_name.get(name, name): at for name, at in coordinates.items()}


def leaves(coordinates: Mapping[str, Coordinate]) -> dict[str, Coordinate]:
    """Return the coordinates of a tree: every switch that has nodes is a leaf, numbered in the order of coordinates."""
    number = {at: leaf for leaf, at in enumerate(sorted(set(coordinates.values())))}
    return {name: (number[at], 0, 0) for name, at in coordinates.items()}


def is_flat(topology: Topology) -> bool:
    """Return whether nothing is known of a network (`flat`)."""
    return topology.name == UNKNOWN


def flat(names: Sequence[str], rails: int = 1) -> Topology:
    """Return a placeholder for an unknown network: one switch with all nodes, whose links have arbitrary rates."""
    return FatTree(
        name=UNKNOWN,
        tile_rates_gbyte_s={LinkClass.CABLE: 1.0, LinkClass.HOST: 1.0},
        host_tiles=1,
        rails=rails,
        names={((index, 0, 0), 0): name for index, name in enumerate(names)},
        leaves=len(names),
    )
