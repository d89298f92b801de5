"""Divide a torus among machines: which of them has a node or router, and what each makes of the plan. Pure.

A node is on the machine of its routers, so only cables between routers are cut. The division is an even one by
coordinates: the nodes are halved along the dimension that cuts the fewest links, and each half again. Switches without
nodes follow the most of their neighbours.

METIS cuts at most 7 % fewer links of a torus, and up to 36 % fewer of fat trees and dragonflies. It is not used:
each machine divides for itself, and two releases of it need not agree.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from railyard.base.errors import InputError
from railyard.placements.topology.base import Coordinate, Router, Topology
from railyard.placements.topology.chosen.rules import FIXED, RESTORED
from railyard.torus.plan import addresses
from railyard.torus.plan.plan import HEAD, HEAD_MAC, TorusPlan

#: The rule whose routers know the queues of all others: every other machine would have to send them.
GLOBAL = "ugal-global"


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine that has a part of a torus: the name by which it is reached, and its IPv4 address for the cables."""

    name: str
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The machines of a torus, in the order of their parts; `own` is this one's, and launches start on `head`.

    `reach` are the words of the command that runs a program on another one, with {host} and {address} in them.
    """

    machines: tuple[Machine, ...]
    own: int
    head: int
    reach: tuple[str, ...]

    @property
    def others(self) -> dict[int, Machine]:
        """Return the other machines by their numbers."""
        return {number: machine for number, machine in enumerate(self.machines) if number != self.own}


def check(topology: Topology, count: int) -> None:
    """Raise InputError for a torus that cannot be divided among `count` machines."""
    if not 2 <= count <= len({node.coordinate for node in topology.nodes}):
        raise InputError("--hosts", "machines", count, "2 to as many as there are routers with nodes")
    restored = topology.routes.order == RESTORED and topology.routes.choose != FIXED
    if restored or topology.routes.choose == GLOBAL:
        valid = "routes on several machines without restored order, and not ugal-global: both need all routers' state"
        raise InputError(topology.name, "routes", topology.routes.choose, valid)


def divide(topology: Topology, count: int) -> dict[str, int]:
    """Return the number of the machine of every node and router, by name."""
    nodes = Counter(node.coordinate for node in topology.nodes)
    links = Counter((link.source.coordinate, link.target.coordinate) for link in topology.links())
    machines = _blocks(nodes, links, list(nodes), range(count))
    machine_of = {node.name: machines[node.coordinate] for node in topology.nodes}
    waiting: list[Router] = []
    for router in topology.routers:
        if router.level == 0 and router.coordinate in machines:
            machine_of[topology.router_name(router)] = machines[router.coordinate]
        else:
            waiting.append(router)
    used = Counter[int]()
    for router in waiting:
        targets = (topology.router_name(link.target) for link in topology.links_from(router))
        votes = Counter(machine_of[target] for target in targets if target in machine_of)
        best = min(votes, key=lambda machine: (-votes[machine], used[machine], machine), default=0)
        machine_of[topology.router_name(router)] = best
        used[best] += 1
    return machine_of


def _blocks(
    nodes: Mapping[Coordinate, int],
    links: Mapping[tuple[Coordinate, Coordinate], int],
    coordinates: Sequence[Coordinate],
    machines: range,
) -> dict[Coordinate, int]:
    """Return the machine of each of these coordinates with nodes."""
    if len(machines) == 1:
        return dict.fromkeys(coordinates, machines[0])
    orders = (sorted(coordinates, key=lambda at: (at[first], at)) for first in range(len(coordinates[0])))
    halves = [_half(nodes, order, len(machines)) for order in orders]
    of_all = frozenset(coordinates)

    def cut_links(half: frozenset[Coordinate]) -> int:
        return sum(count for (at, to), count in links.items() if at in half and to in of_all and to not in half)

    best, half = min(halves, key=cut_links), len(machines) // 2
    sides = ([at for at in coordinates if at in best], [at for at in coordinates if at not in best])
    return {**_blocks(nodes, links, sides[0], machines[:half]), **_blocks(nodes, links, sides[1], machines[half:])}


def _half(nodes: Mapping[Coordinate, int], order: Sequence[Coordinate], count: int) -> frozenset[Coordinate]:
    """Return the first coordinates of an order, with about the nodes of `count // 2` of `count` machines."""
    total, before, half = sum(nodes[at] for at in order), 0, set()
    for at in order:
        if (2 * before + nodes[at]) * count < 2 * total * (count // 2):
            half.add(at)
        before += nodes[at]
    return frozenset(half)


def cut(topology: Topology, machine_of: Mapping[str, int]) -> list[str]:
    """Return the names of the directed links that lead from one machine to another."""
    name = topology.router_name
    return [link.name for link in topology.links() if machine_of[name(link.source)] != machine_of[name(link.target)]]


def own_plan(plan: TorusPlan, parts: Parts) -> TorusPlan:
    """Return what this machine makes of a plan: the head, its nodes, and their cables."""
    machine_of = divide(plan.topology, len(parts.machines))
    own = {HEAD, *(name for name, machine in machine_of.items() if machine == parts.own)}
    absent = {f"link set m{index} " for index, node in enumerate(plan.topology.nodes) if node.name not in own}
    namespaces = [namespace for namespace in plan.namespaces if namespace.name in own]
    head = namespaces[0]
    if parts.own != parts.head:  # its bridge is a switch between nodes, without an address of its own
        absent.add(f"addr add {addresses.HEAD_ADDRESS}/")
    mac = f"{HEAD_MAC[:-2]}{(parts.own - parts.head) % len(parts.machines):02x}"
    lines = tuple(
        line.replace(HEAD_MAC, mac) for line in head.ip if not any(line.startswith(words) for words in absent)
    )
    cables = tuple(cable for cable in plan.cables if all(end.namespace in own for end in cable.ends))
    return dataclasses.replace(plan, namespaces=(dataclasses.replace(head, ip=lines), *namespaces[1:]), cables=cables)
