"""The order `file`: line k of a host file is the node of rank k."""

from __future__ import annotations

from pathlib import Path

from railyard.base.errors import InputError
from railyard.placements.arrays import Ints, np
from railyard.placements.hosts import hostfile
from railyard.placements.orders.rank_orders import PlacementJob, RankOrder


def place(job: PlacementJob) -> Ints:
    """Return the node of each rank; InputError for another number of lines, or a node that was not granted."""
    path = Path(job.argument)
    nodes = hostfile.of_ranks(path, job.allocation.topology, most=job.ranks_per_node)
    if len(nodes) != job.ranks:
        valid = f"{job.ranks}: one for each rank"
        raise InputError(str(path), "", problem=f"{len(nodes)} lines", valid=valid)
    strange = np.flatnonzero(~np.isin(nodes, job.allocation.indices))
    if len(strange):
        name = job.allocation.topology.nodes[nodes[strange[0]]].name
        raise InputError(str(path), f"rank {strange[0]}", name, "a node of the allocation")
    return nodes


ORDER = RankOrder(
    name="file",
    does="line k of a host file is the node of rank k",
    argument="PATH",
    needs_argument=True,
    place=place,
    determined=False,
    all_nodes=True,
)
