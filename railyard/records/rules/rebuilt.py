"""Rebuild topology, allocation and placements from a record, by the same functions that the job called.

Models: a topology that ships with the checker, with the record's node names. If none ships, the nodes form a row, which
suffices for orders that need no coordinates. Functions return None for anything that the record does not determine.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from railyard.base.errors import InputError
from railyard.placements.arrays import np
from railyard.placements.hosts import naming
from railyard.placements.orders import division, spec
from railyard.placements.orders.allocation import Allocation, AllocationOrder, taken
from railyard.placements.orders.placement import Placement, place
from railyard.placements.topology import catalog
from railyard.placements.topology.base import Topology
from railyard.records.record import Case, Launch, Origin, Record, Status
from railyard.records.rules.registry import answers

#: The most nodes of an allocation that is rebuilt.
MOST_NODES = 1 << 17


@functools.lru_cache(maxsize=64)
def shipped(name: str) -> Topology | None:
    """Return the topology of this name that ships with the checker, `+RULE` for routes too; None for another.

    The name in a record is never a path.
    """
    if name.partition("+")[0] not in catalog.known():
        return None
    try:
        return catalog.load(name)
    except InputError:  # of a rule for routes that is not known here
        return None


@functools.cache
def shipped_names() -> dict[str, str]:
    """Return sha256 -> name of each topology that ships with the checker."""
    return {topology.sha256: name for name in catalog.known() if (topology := shipped(name)) is not None}


@functools.lru_cache(maxsize=64)
def _indices(name: str) -> dict[str, int]:
    topology = shipped(name)
    return {} if topology is None else {node.name: index for index, node in enumerate(topology.nodes)}


def topology_of(case: Case) -> Topology | None:
    """Return the shipped topology of a case, if the case has its name and its sha256; None otherwise."""
    stated = case.topology
    topology = shipped(stated.name) if stated else None
    return topology if topology is not None and stated is not None and topology.sha256 == stated.sha256 else None


def site_launcher(read: Record) -> tuple[str, str]:
    """Return the program that a site starts in a launcher's place, and the launcher; both are empty if there is none.

    ReFrame's configuration names them (`extras: launch`), and no field of the case.
    """
    reframe = read.provenance["reframe"] or {}
    return str(reframe.get("wrapper", "")), str(reframe.get("launcher", ""))


def counts_nics(read: Record, launch: Launch) -> bool:
    """Return whether ranks count their NICs: on a real machine, and on a torus that the site's own launcher hides."""
    return read.origin is Origin.MEASURED or (launch.guard is None and site_launcher(read)[0] != "")


def names(read: Record) -> list[str]:
    """Return the names of the allocation's nodes, in the order of the allocation."""
    return [node["name"] for node in read.case.allocation["nodes"]]


def has_own_names(read: Record) -> bool:
    """Return whether all nodes have the names of the shipped topology, and not those of a site."""
    topology = topology_of(read.case)
    return topology is not None and all(name in _indices(topology.name) for name in names(read))


def ranks_per_node(read: Record) -> int:
    """Return the ranks per node; where the case lacks the field, the most on any host."""
    if read.case.ranks_per_node is not None:
        return read.case.ranks_per_node
    counts = [launch.ranks.counts() for launch in read.launches if launch.ranks]
    return max((max(count.values()) for count in counts), default=1)


def grid(read: Record) -> tuple[int, ...] | None:
    """Return the process grid: the case's field, or the parameter `grid` if the case lacks the field.

    None if it is not a list of positive integers.
    """
    grid = read.case.grid or read.case.parameters.get("grid")
    if not isinstance(grid, list | tuple) or not grid or not all(type(extent) is int and extent > 0 for extent in grid):
        return None
    return tuple(grid)


@dataclass(frozen=True, kw_only=True, eq=False)
class Rebuilt:
    """A rebuilt allocation.

    `is_located` is whether its topology is the shipped one and not a row, `is_exact` whether each node's position
    on its router is known.
    """

    allocation: Allocation
    is_located: bool
    is_exact: bool


def allocation(read: Record) -> Rebuilt | None:
    """Return the allocation of a record; None if it has no nodes, more than `MOST_NODES`, or a name twice."""
    node_names = names(read)
    if not node_names or len(node_names) > MOST_NODES or len(set(node_names)) != len(node_names):
        return None
    coordinates = [node["coordinate"] for node in read.case.allocation["nodes"]]
    topology = topology_of(read.case)
    order = AllocationOrder(read.case.allocation["order"])
    block = read.case.block
    if topology is None or any(coordinate is None for coordinate in coordinates):
        return flat(read)
    is_own = has_own_names(read)
    if is_own:
        index = _indices(topology.name)
    else:
        coordinate_of = {name: (at[0], at[1], at[2]) for name, at in zip(node_names, coordinates, strict=True)}
        topology = naming.named(topology, coordinate_of, "case.allocation.nodes")
        index = {node.name: number for number, node in enumerate(topology.nodes)}
    indices = np.array([index[name] for name in node_names], dtype=np.int64)
    box = (block[0], block[1], block[2]) if block and len(block) == 3 else topology.extents
    seed = read.case.allocation["seed"]
    nodes = Allocation(topology=topology, order=order, seed=seed, block=box, indices=indices)
    return Rebuilt(allocation=nodes, is_located=True, is_exact=is_own or topology.nodes_per_router == 1)


def flat(read: Record) -> Rebuilt:
    """Return the nodes of a record in a row, as a job has them that knows no coordinates."""
    node_names = names(read)
    topology = naming.flat(node_names, rails=read.case.topology.rails if read.case.topology else 1)
    row = np.arange(len(node_names), dtype=np.int64)
    order = AllocationOrder(read.case.allocation["order"])
    nodes = Allocation(topology=topology, order=order, seed=None, block=topology.extents, indices=row)
    return Rebuilt(allocation=nodes, is_located=False, is_exact=read.case.topology is None)


def under_its_name(read: Record) -> Rebuilt:
    """Return the nodes of a record in a row that has the name of a topology which does not ship with the checker.

    Launch lines depend on whether the job knew a topology, and the checker need not know it.
    """
    row = flat(read)
    name = read.case.topology.name if read.case.topology else row.allocation.topology.name
    topology = dataclasses.replace(row.allocation.topology, name=name)
    return dataclasses.replace(row, allocation=dataclasses.replace(row.allocation, topology=topology))


def placement(read: Record, rebuilt: Rebuilt, name: str, ranks: int) -> Placement | None:
    """Return a placement on a rebuilt allocation; None if the record does not determine it.

    Raises InputError if the placement is impossible on these nodes.
    """
    parsed = spec.parse(name)
    if not parsed.order.determined or (parsed.needs_coordinates and not rebuilt.is_located):
        return None
    if not rebuilt.is_exact and (parsed.needs_coordinates or parsed.order.needs_routers):
        return None
    shape = grid(read)
    if shape is None and parsed.order.needs_grid:
        return None
    nodes = victims(read, rebuilt)
    if nodes is None:
        return None
    per_node = ranks_per_node(read)
    return place(name, nodes, shape or (ranks,), ranks_per_node=per_node, seed=read.case.seed)


def victims(read: Record, rebuilt: Rebuilt) -> Allocation | None:
    """Return the nodes of the measured program; None if the rule that divides the nodes needs unknown coordinates."""
    roles = read.case.roles
    if roles is None:
        return rebuilt.allocation
    if roles["rule"] in {"by-router", "by-group"} and not rebuilt.is_located:
        return None
    own, _ = division.split(rebuilt.allocation, roles["rule"], roles["victim_nodes"])
    return taken(rebuilt.allocation, own)


def local_ranks(of_rank: Sequence[str]) -> list[int]:
    """Return the local rank of each rank: its number, from 0, among the ranks of its host."""
    seen: Counter[str] = Counter()
    numbers = []
    for host in of_rank:
        numbers.append(seen[host])
        seen[host] += 1
    return numbers


def expected_hosts(read: Record) -> dict[str, list[str] | None]:
    """Return placement -> host of each rank, for the placements with a launch that is ok.

    The value is None if the record does not determine it, and empty if the placement is impossible on these nodes.
    """
    shape = grid(read)
    most = None if read.case.ranks_per_node is not None else ranks_per_node(read)
    ranks = {launch.placement: len(launch.ranks) for launch in read.launches if launch.status is Status.OK}
    cached = answers(read)
    hosts: dict[str, list[str] | None] = {}
    for name, count in ranks.items():
        ranks_of_case = count if shape is None else math.prod(shape)
        key = "hosts", name, ranks_of_case, most
        if key not in cached:
            nodes = allocation(read)
            try:
                placed = placement(read, nodes, name, ranks_of_case) if nodes else None
                cached[key] = None if placed is None else [node.name for node in placed.nodes]
            except InputError:
                cached[key] = []
        hosts[name] = cached[key]
    return hosts


def asked_of(launch: Launch, expected: dict[str, list[str] | None]) -> list[str]:
    """Return the expected host of each rank, or the host that the rank reported if none can be computed."""
    return expected.get(launch.placement) or launch.ranks.host_names
