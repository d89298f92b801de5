"""Provide what all launchers based on Hydra share: the host file, NODE:COUNT in the order of ranks (mpiexec(1), -f)."""

from __future__ import annotations

import itertools
from collections import Counter

from railyard.base.errors import InputError
from railyard.placements.hosts.node import Binding
from railyard.placements.orders.placement import Placement

#: What every Hydra refuses, as its row of docs/placements.md has it.
CANNOT = "an order that comes back to a node: Hydra counts it as another node, without shared memory"


def command(placed: Placement, file: str, option: str = "-f") -> tuple[str, ...]:
    """Return mpiexec with its host file and the number of ranks."""
    return ("mpiexec", option, file, "-n", str(len(placed.indices)))


def host_file(placed: Placement, launcher: str) -> str:
    """Return the text of a host file; refuses a node that recurs, because Hydra then takes it for another node."""
    runs = [(node, len(list(same))) for node, same in itertools.groupby(placed.indices.tolist())]
    node, times = Counter(node for node, _ in runs).most_common(1)[0]
    names = placed.allocation.topology.nodes
    if times > 1:
        what = f"{placed.order}, which comes back to {names[node].name}"
        orders = "cart-create, snake, scheduler"
        valid = f"for {launcher} the ranks of a node one after another ({orders}) or one rank a node"
        raise InputError("launcher", "placement", what, valid)
    return "".join(f"{names[node].name}:{count}\n" for node, count in runs)


def refuse_dealt_numa(placed: Placement, launcher: str) -> None:
    """Raise InputError where ranks dealt to NUMA nodes in turn are not the blocks that a placement promises."""
    numa_nodes = placed.allocation.topology.sockets_per_node
    if placed.binding == Binding.NUMA and placed.ranks_per_node > numa_nodes > 1:
        valid = f"none, core, or at most {numa_nodes} ranks a node ({launcher} deals ranks to NUMA nodes in turn)"
        raise InputError("launcher", "binding", problem=f"{launcher} cannot bind by numa", valid=valid)
