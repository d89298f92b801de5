"""Names the links between two nodes where `traceroute` cannot: routers of the network `router` have no addresses.

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from placements.topology.base import Node, Topology
from placements.topology.detours import detours
from placements.topology.faults import Faults
from placements.topology.parts import Router
from placements.topology.routing import walk

#: Programs that ask routers for answers.
TRACERS = frozenset({"traceroute", "tracepath", "mtr"})


def note(topology: Topology, faults: Faults, host: str, command: Sequence[str]) -> str:
    """Return what to report before a command on a host of a torus with network `router`; empty if it needs no note."""
    program = PurePath(command[0]).name
    if program not in TRACERS:
        return ""
    nodes = {node.name: node for node in topology.nodes}
    ends = [nodes[name] for name in (host, *command[1:]) if name in nodes]
    found = f"{program} shows one hop, because the routers of network `router` have no addresses"
    if len(ends) != 2:
        return found
    return f"{found}; the route is: {', '.join(links(topology, faults, *ends)) or 'no link between routers'}"


def links(topology: Topology, faults: Faults, source: Node, target: Node) -> list[str]:
    """Return the names of the links that packets take on rail 0 from one node to another, faults considered."""
    dead = [topology.links_by_name[name] for name in faults.down]
    end = topology.destination(target.coordinate, target.slot)
    around = detours(topology, dead, 0)
    return [link.name for link in walk(topology, Router(coordinate=source.coordinate), end, around)]
