"""The orders that follow rails: neighbouring ranks take the same slot of different nodes, and so the same NIC."""

from __future__ import annotations

from railyard.placements.arrays import Ints, np
from railyard.placements.orders.rank_orders import PlacementJob, RankOrder


def by_rail(job: PlacementJob) -> Ints:
    """Return the node of each rank: the first slot of every node, sorted by group and switch, then the second."""
    nodes = job.along(np.argsort(job.allocation.switches, kind="stable"))
    return _dealt(nodes, np.zeros(len(nodes), dtype=np.int64))


def by_pod_rail(job: PlacementJob) -> Ints:
    """Return the node of each rank: pod by pod, in each as `by_rail`; a network without groups is one pod."""
    allocation = job.allocation
    pods = allocation.groups if allocation.topology.has_groups else np.zeros(len(allocation.indices), np.int64)
    walk = np.lexsort((allocation.switches, pods))
    return _dealt(job.along(walk), np.repeat(pods[walk], job.ranks_per_node)[: job.ranks])


def _dealt(nodes: Ints, group: Ints) -> Ints:
    """Return slots by group, by their number on their node, and then in order; the slots of a node are consecutive."""
    begins = np.diff(nodes, prepend=-1) != 0
    node = np.cumsum(begins) - 1
    slot = np.arange(len(nodes)) - np.flatnonzero(begins)[node]
    return np.asarray(nodes[np.lexsort((node, slot, group))], dtype=np.int64)


ORDERS = (
    RankOrder(
        name="by-pod-rail",
        does="pod by pod (group), in each of them as `by-rail`",
        place=by_pod_rail,
        needs_coordinates=True,
        start=9,
    ),
    RankOrder(
        name="by-rail",
        does="neighbouring ranks take one slot of each node, sorted by group and switch: one NIC under one-per-rank",
        place=by_rail,
        needs_coordinates=True,
        start=8,
    ),
)
