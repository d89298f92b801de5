"""Check locations: topology, allocation, the hosts of the ranks, the processors that they may use."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterator

from railyard.base import host_names
from railyard.base.errors import InputError
from railyard.placements.orders.allocation import AllocationOrder, allocate, within
from railyard.records import assemble, spans
from railyard.records.folded.ranks import Rank, Ranks
from railyard.records.record import Record, Verdict
from railyard.records.rules import rebuilt
from railyard.records.rules.registry import ALIKE_JOBS, CASE, HOSTS, Fault, ended_well, of_ranks, rule
from railyard.records.spans import Spans


@rule("topology", once_for=CASE)
def topology(read: Record) -> Iterator[Fault]:
    """A topology under a shipped name has the shipped sha256, extents, nodes per router and rails."""
    stated = read.case.topology
    shipped = rebuilt.shipped(stated.name) if stated else None
    if stated is None:
        return
    if shipped is None:
        if stated.sha256 in rebuilt.shipped_names():
            text = f"{stated.name}; this sha256 is that of {rebuilt.shipped_names()[stated.sha256]}"
            yield Fault("case.topology.name", text)
        return
    for name in ("sha256", "extents", "nodes_per_router", "rails"):
        if (value := getattr(stated, name)) != (wanted := getattr(shipped, name)):
            yield Fault(f"case.topology.{name}", f"{value}; {stated.name} has {wanted}")


@rule("nodes", once_for=CASE)
def nodes(read: Record) -> Iterator[Fault]:
    """The allocation names nodes, each once, inside the topology, no more of a router than it has."""
    field, given = "case.allocation.nodes", read.case.allocation["nodes"]
    if not given:
        yield Fault(field, "no node")
    for name, count in Counter(rebuilt.names(read)).items():
        if count > 1:
            yield Fault(field, f"{name} {count} times")
    stated = read.case.topology
    if stated is None or not stated.extents:
        return
    routers = Counter(tuple(node["coordinate"]) for node in given if node["coordinate"] is not None)
    for at, count in routers.items():
        shown = ",".join(map(str, at))
        if len(at) != len(stated.extents) or not all(c < e for c, e in zip(at, stated.extents, strict=True)):
            yield Fault(field, f"a node at {shown}, outside {'x'.join(map(str, stated.extents))}")
        elif count > stated.nodes_per_router:
            yield Fault(field, f"{count} nodes at {shown}, where {stated.nodes_per_router} can be")


@rule("coordinates", once_for=CASE)
def coordinates(read: Record) -> Iterator[Fault]:
    """Nodes with the topology's own names have the coordinates that the topology gives them."""
    topology = rebuilt.topology_of(read.case)
    if topology is None or not rebuilt.has_own_names(read):
        return
    at = {node.name: node.coordinate for node in topology.nodes}
    for index, node in enumerate(read.case.allocation["nodes"]):
        if node["coordinate"] is not None and tuple(node["coordinate"]) != at[node["name"]]:
            field = f"case.allocation.nodes[{index}].coordinate"
            yield Fault(field, f"{node['coordinate']}; {node['name']} is at {list(at[node['name']])}")
            return


@rule("allocation", once_for=CASE)
def allocation(read: Record) -> Iterator[Fault]:
    """Nodes come in the order that the allocation's name, block, cube and seed give, unless a scheduler chose them."""
    stated = read.case.allocation
    if stated["order"] not in set(AllocationOrder):
        yield Fault("case.allocation.order", f"{stated['order']!r}; known: {', '.join(AllocationOrder)}")
        return
    wanted_seed = None if stated["order"] == AllocationOrder.SCHEDULER else read.case.seed
    if stated["seed"] != wanted_seed:
        yield Fault("case.allocation.seed", f"{stated['seed']}; the case's seed is {read.case.seed}")
    topology = rebuilt.topology_of(read.case)
    if (
        topology is None
        or stated["order"] == AllocationOrder.SCHEDULER
        or any(n["coordinate"] is None for n in stated["nodes"])
    ):
        return
    if read.case.block is None and len(stated["nodes"]) != len(topology.nodes):
        return  # the record lacks its block
    try:
        wanted = allocate(topology, stated["order"], block=read.case.block or None, seed=read.case.seed)
        wanted = within(wanted, read.case.cube) if read.case.cube else wanted
    except InputError as error:
        yield Fault("case.block", str(error))
        return
    if [tuple(node["coordinate"]) for node in stated["nodes"]] != [node.coordinate for node in wanted.nodes]:
        yield Fault("case.allocation.nodes", f"not the nodes that the order {stated['order']} gives")
    elif rebuilt.has_own_names(read) and rebuilt.names(read) != [node.name for node in wanted.nodes]:
        yield Fault("case.allocation.nodes", f"not in the order {stated['order']}")


@rule("ranks", once_for=ALIKE_JOBS)
def ranks(read: Record) -> Iterator[Fault]:
    """Every launch has as many ranks as its grid has places, and no host more than `ranks_per_node`."""
    shape, most = rebuilt.grid(read), rebuilt.ranks_per_node(read)
    named = read.case.parameters.get("grid")
    if read.case.grid is not None and named is not None and list(read.case.grid) != named:
        yield Fault("case.grid", f"{list(read.case.grid)}; the parameter says {named!r}"[:200])
    if read.case.grid is not None and math.prod(read.case.grid) > most * len(read.case.allocation["nodes"]):
        yield Fault("case.grid", "more ranks than the nodes have room for")
    first = None
    counted = of_ranks(lambda ranks: {host: count for host, count in ranks.counts().items() if count > most}, HOSTS)
    for field, launch in ended_well(read):
        wanted = first if shape is None else math.prod(shape)
        first = len(launch.ranks) if first is None else first
        if wanted is not None and len(launch.ranks) != wanted:
            yield Fault(f"{field}.ranks", f"{len(launch.ranks)} ranks; the case has {wanted}")
        for host, count in counted(launch).items():
            yield Fault(f"{field}.ranks", f"{count} ranks on {host}, where {most} can be")


@rule("hosts", once_for=ALIKE_JOBS)
def hosts(read: Record) -> Iterator[Fault]:
    """Every rank ran on a node of the allocation."""
    granted = rebuilt.names(read)

    def outside(ranks: Ranks) -> Rank | None:
        own = host_names.matched(ranks.hosts, granted)
        strange = next((host for host in ranks.hosts if host not in own), None)
        return None if strange is None else ranks[ranks.host_names.index(strange)]

    first_outside = of_ranks(outside, HOSTS)
    for field, launch in ended_well(read):
        if (rank := first_outside(launch)) is not None:
            yield Fault(f"{field}.ranks[{rank.rank}].host", f"{rank.host} is no node of the allocation")


@rule("placement", once_for=ALIKE_JOBS)
def placement(read: Record) -> Iterator[Fault]:
    """Every rank ran on the host that its placement, worked out again, gives it; so the verdict is `obeyed`."""
    expected = rebuilt.expected_hosts(read)
    obeyed: set[tuple[str, int]] = set()  # launches of one placement mostly share one `Ranks`
    for field, launch in ended_well(read):
        wanted = expected.get(launch.placement)
        if wanted == [] and launch.placement_verdict is Verdict.OBEYED:
            yield Fault(f"{field}.placement", f"{launch.placement} cannot be on these nodes")
        if not wanted or (launch.placement, id(launch.ranks.host_of)) in obeyed:
            continue
        rank = assemble.elsewhere(launch.ranks, wanted)
        if rank is None:
            obeyed.add((launch.placement, id(launch.ranks.host_of)))
        else:
            text = f"{launch.ranks[rank].host}; {launch.placement} gives {wanted[rank]}"
            yield Fault(f"{field}.ranks[{rank}].host", text)


@rule("spans", once_for=ALIKE_JOBS)
def spread(read: Record) -> Iterator[Fault]:
    """A launch's switches, groups and nodes per group are those that the coordinates give."""
    topology = rebuilt.topology_of(read.case)
    at = spans.coordinates(read.case.allocation["nodes"])

    @functools.cache
    def expected(hosts: frozenset[str], has_groups: bool) -> Spans | None:
        return spans.of_hosts(hosts, at, has_groups=has_groups)

    hosts_of = of_ranks(lambda ranks: frozenset(ranks.hosts), HOSTS)
    for field, launch in ended_well(read):
        named = launch.spans is not None and launch.spans.groups is not None
        has_groups = named if topology is None else topology.has_groups
        wanted = expected(hosts_of(launch), has_groups)
        if launch.spans != wanted:
            yield Fault(f"{field}.spans", f"{_words(launch.spans)}; the nodes have {_words(wanted)}")


def _words(spread: Spans | None) -> str:
    if spread is None:
        return "none"
    groups = "" if spread.groups is None else f" in {spread.groups} groups, {dict(spread.group_nodes or {})}"
    return f"{spread.switches} switches{groups}"[:200]


@rule("processors", once_for=ALIKE_JOBS)
def processors(read: Record) -> Iterator[Fault]:
    """A rank's CPU is one of those that it may use."""
    misplaced = of_ranks(Ranks.outside_its_cpus)
    for field, launch in ended_well(read):
        if (rank := misplaced(launch)) is not None:
            text = f"CPU {rank.cpu} with {len(rank.allowed_cpus or ())} allowed, not among them"
            yield Fault(f"{field}.ranks[{rank.rank}].cpu", text)
