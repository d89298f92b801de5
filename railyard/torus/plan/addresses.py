"""Assign IP addresses to the hosts of a virtual network, so that one prefix route serves many destinations.

    rail       10.(64 rail).0.0/10; the topology kind gives a host's offset in it (`Topology.node_offset`)
    head       172.16.0.1, management
    node k     172.16.0.2 + k, management

`Topology.block` and `Topology.prefixes` describe the destinations of a route by offsets. This module turns offsets into
IP addresses and prefixes.
"""

from __future__ import annotations

import ipaddress

from railyard.placements.topology.base import Block, Node, Router, Topology
from railyard.placements.topology.parts import SPACE_BITS

EVERY_RAIL = "10.0.0.0/8"
MANAGEMENT = ipaddress.IPv4Network("172.16.0.0/16")
_RAILS = list(ipaddress.IPv4Network(EVERY_RAIL).subnets(new_prefix=32 - SPACE_BITS))


def node_address(topology: Topology, node: Node, rail: int) -> str:
    """Return the address of a node's NIC on a rail."""
    return str(_RAILS[rail][topology.node_offset(node)])


def router_address(topology: Topology, router: Router) -> str:
    """Return the address of a router itself. Whether other hosts can reach it depends on the topology kind."""
    return str(_RAILS[router.rail][topology.router_offset(router)])


def rail_prefix(rail: int) -> str:
    """Return the prefix of all addresses on a rail."""
    return str(_RAILS[rail])


def prefix(block: Block, rail: int) -> str:
    """Return the prefix of a block of addresses on a rail."""
    return f"{_RAILS[rail][block.offset]}/{32 - block.bits}"


def management_address(index: int) -> str:
    """Return the management address of the index-th node in the topology's order."""
    return str(MANAGEMENT[index + 2])


def head_address() -> str:
    """Return the management address of the head, the host on which launchers start."""
    return str(MANAGEMENT[1])
