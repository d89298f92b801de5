"""Addresses of a virtual network's hosts, chosen so that one prefix route serves many destinations.

    rail       10.(64 rail).0.0/10; where a host is in it is the topology kind's (`Topology.node_offset`)
    head       172.16.0.1, management
    node k     172.16.0.2 + k, management

`Topology.block` and `Topology.prefixes` number what a route leads to; this module turns the numbers into IP addresses.
"""

from __future__ import annotations

import ipaddress

from placements.topology.base import Block, Node, Router, Topology
from placements.topology.parts import SPACE_BITS

EVERY_RAIL = "10.0.0.0/8"
MANAGEMENT = ipaddress.IPv4Network("172.16.0.0/16")
_RAILS = list(ipaddress.IPv4Network(EVERY_RAIL).subnets(new_prefix=32 - SPACE_BITS))


def node_address(topology: Topology, node: Node, rail: int) -> str:
    """Return the address of a node's NIC on a rail."""
    return str(_RAILS[rail][topology.node_offset(node)])


def router_address(topology: Topology, router: Router) -> str:
    """Return the address of a router itself; whether others can reach it is the topology kind's."""
    return str(_RAILS[router.rail][topology.router_offset(router)])


def rail_prefix(rail: int) -> str:
    """Return the prefix of everything on a rail."""
    return str(_RAILS[rail])


def prefix(block: Block, rail: int) -> str:
    """Return the prefix of a block of addresses of a rail."""
    return f"{_RAILS[rail][block.offset]}/{32 - block.bits}"


def management_address(index: int) -> str:
    """Return the management address of the index-th node in the topology's order."""
    return str(MANAGEMENT[index + 2])


def head_address() -> str:
    """Return the address of the head, where launchers start."""
    return str(MANAGEMENT[1])
