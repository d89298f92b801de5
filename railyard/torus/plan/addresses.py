"""Assign IP addresses to the hosts of a virtual network, so that one prefix route serves many; and tables of these.

    rail       10.(64 rail).0.0/10, with more than four rails /11, with more than eight /12; the topology kind gives a
               host's offset in it (`Topology.node_offset`)
    head       172.16.0.1, management
    node k     172.16.0.2 + k, management

`Topology.block` and `Topology.prefixes` describe the destinations of a route by offsets. This module turns offsets into
IP addresses and prefixes.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

from railyard.placements.topology.base import Detours, Link, Node, Router, Topology
from railyard.placements.topology.parts import ALL_BITS

EVERY_RAIL = "10.0.0.0/8"
MANAGEMENT = ipaddress.IPv4Network("172.16.0.0/16")
#: The management address of the head, the host on which launchers start.
HEAD_ADDRESS = str(MANAGEMENT[1])
_FIRST = int(ipaddress.IPv4Address(EVERY_RAIL.split("/")[0]))


def node_address(topology: Topology, node: Node, rail: int) -> str:
    """Return the address of a node's NIC on a rail."""
    return _address(topology, rail, topology.node_offset(node))


def router_address(topology: Topology, router: Router) -> str:
    """Return the address of a router itself. Whether other hosts can reach it depends on the topology kind."""
    return _address(topology, router.rail, topology.router_offset(router))


def rail_prefix(topology: Topology, rail: int) -> str:
    """Return the prefix of all addresses on a rail."""
    return f"{_address(topology, rail, 0)}/{32 - topology.space_bits}"


def _address(topology: Topology, rail: int, offset: int) -> str:
    assert rail < 1 << ALL_BITS - topology.space_bits
    ip = _FIRST + (rail << topology.space_bits) + offset
    return f"{ip >> 24}.{ip >> 16 & 255}.{ip >> 8 & 255}.{ip & 255}"  # a large machine has millions of routes


def management_address(index: int) -> str:
    """Return the management address of the index-th node in the topology's order."""
    return str(MANAGEMENT[index + 2])


def table(topology: Topology, router: Router, detours: Detours) -> Mapping[str, Link]:
    """Return the routing table of one router: IP prefix -> the link by which packets to it leave.

    The routes are those of `Topology.prefixes`. `detours` are the exceptions around dead links, (router, destination)
    -> link, each with a prefix at least as long as that of the route that it overrides. Where each rail is a network
    of its own, a packet stays on the rail of the NIC that sends it, whichever of the destination's addresses it has.
    Therefore the routers of such a rail have routes to the addresses on all rails.
    """
    blocks = dict(topology.prefixes(router))
    blocks |= {topology.block(end): link for (start, end), link in detours.items() if start == router}
    return {
        f"{_address(topology, rail, block.offset)}/{32 - block.bits}": link
        for rail in range(topology.rails)
        for block, link in blocks.items()
        if block.rail in (None, rail)
    }
