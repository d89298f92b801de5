"""Link loads of packets that are spread over third groups: in equal parts (Valiant's routes), or by load (UGAL).

Valiant's routes take every third group, and every cable on the way, equally often. A packet from switch h in group s to
switch e in group t goes to the gate of cable k from s to a third group v, over the cable, from its gate in v to that of
cable m from v to t, over that cable, and to e. With g groups and c cables per pair each of the (g - 2) c c ways has the
same share. So the loads are sums over (h, v, k), (s, v, t, k, m) and (v, m, e) apart, and nothing is walked message by
message. The idea is L. Valiant's, "A scheme for fast parallel communication", SIAM J. Comput. 11(2), 1982 (cited from
memory, not read). That the third place is a group is this project's rule.

By load, for every ordered pair of groups a share of the traffic goes by third groups. The rule:

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

import itertools
from dataclasses import dataclass

from railyard.placements.arrays import Floats, Ints, NDArray, np
from railyard.placements.topology.carried import Carried, added, best_between, busiest, summed
from railyard.placements.topology.dragonflies.grouped import BY_LOAD, Grouped

STEEPNESS = 8
ROUNDS = 12
#: A step that lowers the busiest link's time by a smaller part than this is the last.
GAIN = 1e-3


@dataclass(frozen=True, kw_only=True)
class GroupedLoads(Grouped):
    """Groups with the link loads of packets that are spread over third groups, by a share or by load."""

    def carry_usual(self, source: Ints, node: Ints, sizes: Floats) -> Carried:
        if self.spread == "nodes":
            return super().carry_usual(source, node, sizes)
        return _spread(self, *summed(source, node, sizes, len(self.nodes)))


def _spread(topology: Grouped, source: Ints, node: Ints, sizes: Floats) -> Carried:
    """Return the link loads of messages from switches (indices into `coordinates`) to nodes, summed by pairs."""
    to = topology.router_of_node[node]
    groups = topology.groups
    first, last = groups[source], groups[to]
    across = first != last

    def mixed(shares: Floats) -> Carried:
        """Return the loads with a share of Valiant's routes for every pair of groups."""
        share = np.where(across, shares[first, last], 0.0)
        minimal = topology.carry_along(topology.hosts[source], node, sizes * (1 - share))
        by_way = _valiant(topology, source[across], to[across], (sizes * share)[across])
        return minimal + by_way

    count = topology.group_count
    if topology.spread != BY_LOAD:
        return mixed(np.full((count, count), topology.valiant_share))
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


def _valiant(topology: Grouped, source: Ints, target: Ints, sizes: Floats) -> Carried:
    """Return the link loads of messages between different groups, each routed through all third groups in equal parts.

    `source` and `target` are switches, as indices into `coordinates`; `sizes` are the bytes of each message.
    """
    count, hosts = topology.group_count, len(topology.hosts)
    groups = topology.groups
    # Bytes from every switch to every group, and to every switch from every group.
    sent = added(source * count + groups[target], sizes, hosts * count).reshape(hosts, count)
    received = added(target * count + groups[source], sizes, hosts * count).reshape(hosts, count)
    loads = np.zeros(len(topology.wiring.source))
    ways = (count - 2) * topology.cables
    _add_ends(topology, loads, sent / ways, outwards=True)
    _add_ends(topology, loads, received / ways, outwards=False)
    between = added(groups[source] * count + groups[target], sizes, count * count).reshape(count, count)
    # Every (third, first, last) group where there is traffic from first to last.
    s, t = np.nonzero(between)
    v, pair = (at.ravel() for at in np.meshgrid(np.arange(count), np.arange(len(s)), indexing="ij"))
    s, t = s[pair], t[pair]
    distinct = (v != s) & (v != t)
    v, s, t = v[distinct], s[distinct], t[distinct]
    for k, m in itertools.product(range(topology.cables), repeat=2):
        moved = between[s, t] / ways / topology.cables
        _add_middle(topology, loads, (v, topology.gate[v, s, k], topology.gate[v, t, m]), moved)
    used = sizes > 0
    return Carried(link_bytes=loads, longest=_longest(topology, source[used], target[used]))


def _longest(topology: Grouped, source: Ints, target: Ints) -> int:
    """Return the links of the longest of all ways by third groups between pairs of switches; 0 without a pair."""
    gate, s, t = topology.gate, topology.groups[source], topology.groups[target]
    first, last = (topology.hosts[at] % topology.members for at in (source, target))
    within, longest = 1 + len(topology.gate_ways()[0]), 0
    for v, k, m in itertools.product(range(topology.group_count), *[range(topology.cables)] * 2):
        links = 2 + (first != gate[s, v, k]) + within * (gate[v, s, k] != gate[v, t, m]) + (gate[t, v, m] != last)
        longest = max(longest, int(links[(v != s) & (v != t)].max(initial=0)))
        if longest == 4 + within:  # none can be longer
            break
    return longest


def _add_ends(topology: Grouped, loads: Floats, per_cable: Floats, *, outwards: bool) -> None:
    """Add the way from every switch to the third groups, or from there to every switch.

    `per_cable[h, t]` are the bytes between switch h and group t that one cable of one third group gets.
    """
    h, v = np.nonzero(np.ones(per_cable.shape, dtype=bool))
    group = topology.groups[h]
    h, v, group = (at[group != v] for at in (h, v, group))
    size = per_cable.sum(axis=1)[h] - per_cable[h, v]
    member = topology.hosts[h] % topology.members
    for k in range(topology.cables):
        gate = topology.gate[group, v, k]
        ends = (member, gate) if outwards else (gate, member)
        far = topology.global_link[group, v, k] if outwards else topology.global_link[v, group, k]
        loads += added(far, size, len(loads))
        near = member != gate
        loads += added(topology.local_link[group[near], ends[0][near], ends[1][near]], size[near], len(loads))


def _add_middle(topology: Grouped, loads: Floats, at: tuple[Ints, Ints, Ints], moved: Floats) -> None:
    """Add the way from gate to gate within third groups, spread over equal ways."""
    v, into, out = at
    distinct = into != out
    v, into, out, moved = v[distinct], into[distinct], out[distinct], moved[distinct]
    ways = topology.gate_ways()
    for way in ways:
        stops = [into, *(np.full_like(into, switch) for switch in way), out]
        for one, other in itertools.pairwise(stops):
            loads += added(topology.local_link[v, one, other], moved / len(ways), len(loads))
