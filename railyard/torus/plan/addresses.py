"""Addresses of a virtual network's hosts, chosen so that one prefix route serves many destinations.

    torus      10.(64 rail + x).y.(8 z + slot)       slot 7 is the router itself
    fat tree   10.(64 rail + spine).leaf.slot        spine: the one that serves the slot
               10.(64 rail + 63).index.(253 + level) a switch itself
    both       172.16.a.b                            management: .0.1 is the head

So a router of a torus needs X - 1 routes of /16, Y - 1 of /24 and Z - 1 of /29; a leaf one /16 for each spine, a spine
one /24 for each leaf and group of slots.
"""

from __future__ import annotations

import ipaddress

from placements.topology.base import Node, Router, Topology
from placements.topology.detours import Destination
from placements.topology.fattree import FatTree
from railyard.errors import InputError

ROUTER_SLOT = 7
SWITCHES = 63
EVERY_RAIL = "10.0.0.0/8"
MANAGEMENT = ipaddress.ip_network("172.16.0.0/16")


def check(topology: Topology) -> None:
    """InputError for a topology that the addresses do not reach."""
    if isinstance(topology, FatTree):
        limits = {"tree.leaves": (topology.leaves, 200), "spines": (topology.spines, SWITCHES)}
    else:
        names = (f"dimensions.{name}.extent" for name in "XYZ")
        limits = dict(zip(names, zip(topology.extents, (64, 256, 32), strict=True), strict=True))
    for field, (value, limit) in limits.items():
        if value > limit:
            raise InputError(topology.name, field, value, f"at most {limit} in a virtual torus")


def node_address(topology: Topology, node: Node, rail: int) -> str:
    """Of a node's NIC on a rail."""
    x, y, z = node.coordinate
    if isinstance(topology, FatTree):
        return f"10.{64 * rail + topology.spine_of(node.slot)}.{x}.{node.slot}"
    return f"10.{64 * rail + x}.{y}.{8 * z + node.slot}"


def router_address(topology: Topology, router: Router) -> str:
    """Of a router itself; only on a torus can others reach it."""
    x, y, z = router.coordinate
    if isinstance(topology, FatTree):
        return f"10.{64 * router.rail + SWITCHES}.{x}.{253 + router.level}"
    return f"10.{64 * router.rail + x}.{y}.{8 * z + ROUTER_SLOT}"


def rail_prefix(rail: int) -> str:
    """Of everything on a rail."""
    return f"10.{64 * rail}.0.0/10"


def prefix(topology: Topology, destination: Destination, rail: int) -> str:
    """Of everything that one destination stands for."""
    x, y, z = destination.coordinate
    if isinstance(topology, FatTree):
        return f"10.{64 * rail + destination.group}.{x}.0/24"
    return f"10.{64 * rail + x}.{y}.{8 * z}/29"


def management_address(index: int) -> str:
    """Of the index-th node in the topology's order."""
    return str(MANAGEMENT[index + 2])


def head_address() -> str:
    """Of the head, from where launchers start."""
    return str(MANAGEMENT[1])
