"""Link loads where each pair of groups chooses by load between minimal routes and Valiant's: a model of UGAL.

For every ordered pair of groups a share of the traffic goes by third groups. The rule:

1. Begin with the one share for all pairs, from 0 to 1, whose busiest link takes the least time.
2. Each pair compares the mean cost of its own cables with that of two cables on the way by a third group, over all
   third groups and cables. A cable's cost is a high power of its time, as a part of the busiest link's.
3. All pairs go towards the cheaper of their two ways by one common step, the one whose busiest link takes the least
   time. From 2 again, at most `ROUNDS` times, and no more once a step gains nothing.

Loads are linear in the shares, so steps are chosen from sums of loads. Every step keeps or lowers the time of the
busiest link. So it is never above that of minimal routes alone, of Valiant's alone, or of any `valiant_share` with
`spread: packets`. As in hardware, pairs look at global cables. Hardware decides packet by packet with late knowledge;
here all know every load at once.

Leaves out: local links in the comparison (they count for the busiest link), queues, time.
"""

from __future__ import annotations

from dataclasses import dataclass

from railyard.placements.arrays import Floats, Ints, NDArray, np
from railyard.placements.topology.carried import Carried, best_between, busiest, summed
from railyard.placements.topology.dragonflies import valiant
from railyard.placements.topology.dragonflies.grouped import BY_LOAD, Grouped

STEEPNESS = 8
ROUNDS = 12
#: A step that lowers the busiest link's time by a smaller part than this is the last.
GAIN = 1e-3


@dataclass(frozen=True, kw_only=True)
class GroupedLoads(Grouped):
    """Groups with the link loads of packets that are spread over third groups, by a share or by load."""

    def carry_usual(self, source: Ints, node: Ints, sizes: Floats) -> Carried:
        share = self.cables.valiant_share
        if self.cables.spread == "nodes":
            return super().carry_usual(source, node, sizes)
        source, node, sizes = summed(source, node, sizes, len(self.nodes))
        if self.cables.spread == BY_LOAD:
            return _carry(self, source, node, sizes)
        to = self.router_of_node[node]
        across = self.groups[source] != self.groups[to]
        minimal = self.carry_along(self.hosts[source], node, np.where(across, sizes * (1 - share), sizes))
        by_way = valiant.carry(self, source[across], to[across], sizes[across] * share)
        return minimal + by_way


def _carry(topology: Grouped, source: Ints, node: Ints, sizes: Floats) -> Carried:
    """Return the link loads of messages from switches (indices into `coordinates`) to nodes, summed by pairs."""
    to = topology.router_of_node[node]
    groups = topology.groups
    first, last = groups[source], groups[to]
    across = first != last

    def mixed(shares: Floats) -> Carried:
        """Return the loads with a share of Valiant's routes for every pair of groups."""
        share = np.where(across, shares[first, last], 0.0)
        minimal = topology.carry_along(topology.hosts[source], node, sizes * (1 - share))
        by_way = valiant.carry(topology, source[across], to[across], (sizes * share)[across])
        return minimal + by_way

    count = topology.group_count
    carried = best_between(topology.link_rates, mixed(np.zeros((count, count))), mixed(np.ones((count, count))))
    for _ in range(ROUNDS):
        towards = mixed(_preferred(topology, carried).astype(np.float64))
        nearer = best_between(topology.link_rates, carried, towards)
        before, after = busiest(topology.link_rates, carried), busiest(topology.link_rates, nearer)
        carried = nearer
        if after >= before * (1 - GAIN):
            break
    return carried


def _preferred(topology: Grouped, carried: Carried) -> NDArray[np.bool_]:
    """Return for each pair of groups whether the way by a third group costs less; shape (groups, groups)."""
    count = topology.group_count
    times = carried.link_bytes / topology.link_rates
    costs = (times / max(times.max(), np.finfo(float).tiny)) ** STEEPNESS
    cable = costs[topology.global_link].mean(axis=2)
    np.fill_diagonal(cable, 0)
    leaving, coming = cable.sum(axis=1)[:, None], cable.sum(axis=0)[None, :]
    third = (leaving + coming - 2 * cable) / (count - 2)
    return np.asarray(third < cable, dtype=bool)
