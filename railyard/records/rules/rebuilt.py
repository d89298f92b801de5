"""Rebuild topology, allocation and placements from a record, by the same functions that the job called.

Models: a topology that the checker ships, under the record's node names; where it ships none, nodes in a row, which
serves the orders that need no coordinates. None stands for what the record does not determine.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from placements.arrays import np
from placements.hosts import naming
from placements.orders import division, spec
from placements.orders.allocation import Allocation, AllocationOrder, taken
from placements.orders.placement import place
from placements.topology import catalog
from placements.topology.base import Topology
from railyard.base.errors import InputError
from railyard.records.record import Launch, Record, Status
from railyard.records.rules.registry import of_case

#: The largest topology that is rebuilt, in nodes.
MOST_NODES = 1 << 17


@functools.lru_cache(maxsize=64)
def shipped(name: str) -> Topology | None:
    """Return the topology of this name that ships with the checker, or None."""
    return catalog.load(name) if name in catalog.known() else None


@functools.cache
def shipped_names() -> dict[str, str]:
    """Return the name of each shipped topology by its sha256."""
    return {topology.sha256: name for name in catalog.known() if (topology := shipped(name)) is not None}


@functools.lru_cache(maxsize=64)
def _indices(name: str) -> dict[str, int]:
    topology = shipped(name)
    return {} if topology is None else {node.name: index for index, node in enumerate(topology.nodes)}


def topology_of(read: Record) -> Topology | None:
    """Return the shipped topology that a record names with the right sha256, or None."""
    stated = read.case.topology
    topology = shipped(stated.name) if stated else None
    return (
        topology if topology is not None and stated is not None and topology.sha256 == stated.sha256 else None
    )


def names(read: Record) -> list[str]:
    """Return the names of the allocation's nodes, in its order."""
    return [node["name"] for node in read.case.allocation["nodes"]]


def has_own_names(read: Record) -> bool:
    """Return whether the nodes bear the names that the topology itself gives."""
    topology = topology_of(read)
    return topology is not None and all(name in _indices(topology.name) for name in names(read))


def ranks_per_node(read: Record) -> int:
    """Return the ranks of a node: as the record says, before 1.3 the most that any host had."""
    if read.case.ranks_per_node is not None:
        return read.case.ranks_per_node
    counts = [launch.ranks.counts() for launch in read.launches if launch.ranks]
    return max((max(count.values()) for count in counts), default=1)


def grid(read: Record) -> tuple[int, ...] | None:
    """Return the process grid: as the record says, before 1.3 the parameter of that name."""
    grid = read.case.grid or read.case.parameters.get("grid")
    if (
        not isinstance(grid, list | tuple)
        or not grid
        or not all(type(extent) is int and extent > 0 for extent in grid)
    ):
        return None
    return tuple(grid)


@dataclass(frozen=True, kw_only=True, eq=False)
class Rebuilt:
    """The allocation; `is_located` where its topology is the real one, `is_exact` where slots of routers are known."""

    allocation: Allocation
    is_located: bool
    is_exact: bool


def allocation(read: Record) -> Rebuilt | None:
    """Return the allocation of a record; None for one without nodes, or too large."""
    node_names = names(read)
    if not node_names or len(node_names) > MOST_NODES or len(set(node_names)) != len(node_names):
        return None
    coordinates = [node["coordinate"] for node in read.case.allocation["nodes"]]
    topology = topology_of(read)
    order = AllocationOrder(read.case.allocation["order"])
    block = read.case.block
    if topology is None or any(coordinate is None for coordinate in coordinates):
        flat = naming.flat(node_names, rails=read.case.topology.rails if read.case.topology else 1)
        row = np.arange(len(node_names), dtype=np.int64)
        nodes = Allocation(topology=flat, order=order, seed=None, block=flat.extents, indices=row)
        return Rebuilt(allocation=nodes, is_located=False, is_exact=read.case.topology is None)
    is_own = has_own_names(read)
    if is_own:
        index = _indices(topology.name)
    else:
        coordinate_of = {
            name: (at[0], at[1], at[2]) for name, at in zip(node_names, coordinates, strict=True)
        }
        topology = naming.named(topology, coordinate_of, "case.allocation.nodes")
        index = {node.name: number for number, node in enumerate(topology.nodes)}
    indices = np.array([index[name] for name in node_names], dtype=np.int64)
    box = (block[0], block[1], block[2]) if block and len(block) == 3 else topology.extents
    seed = read.case.allocation["seed"]
    nodes = Allocation(topology=topology, order=order, seed=seed, block=box, indices=indices)
    return Rebuilt(allocation=nodes, is_located=True, is_exact=is_own or topology.nodes_per_router == 1)


def hosts(read: Record, rebuilt: Rebuilt, placement: str, ranks: int) -> list[str] | None:
    """Return the host of each rank under a placement; None where the record does not determine it.

    Raises InputError where the placement cannot be on these nodes.
    """
    parsed = spec.parse(placement)
    if not parsed.order.determined or (parsed.needs_coordinates and not rebuilt.is_located):
        return None
    if not rebuilt.is_exact and (parsed.needs_coordinates or parsed.order.needs_routers):
        return None
    shape = grid(read)
    if shape is None and parsed.order.needs_grid:
        return None
    nodes = _victims(read, rebuilt)
    if nodes is None:
        return None
    placed = place(
        placement,
        nodes,
        shape or (ranks,),
        ranks_per_node=ranks_per_node(read),
        seed=read.case.seed,
    )
    return [node.name for node in placed.nodes]


def _victims(read: Record, rebuilt: Rebuilt) -> Allocation | None:
    """Return the nodes of the measured program; None where its share needs coordinates that are not known."""
    roles = read.case.roles
    if roles is None:
        return rebuilt.allocation
    if roles["rule"] in {"by-router", "by-group"} and not rebuilt.is_located:
        return None
    own, _ = division.split(rebuilt.allocation, roles["rule"], roles["victim_nodes"])
    return taken(rebuilt.allocation, own)


def local_ranks(of_rank: Sequence[str]) -> list[int]:
    """Return each rank's number among the ranks of its host."""
    seen: Counter[str] = Counter()
    numbers = []
    for host in of_rank:
        numbers.append(seen[host])
        seen[host] += 1
    return numbers


def expected_hosts(read: Record) -> dict[str, list[str] | None]:
    """Return for each placement with a launch that is ok the host of every rank."""
    shape = grid(read)
    most = None if read.case.ranks_per_node is not None else ranks_per_node(read)
    ranks = {launch.placement: len(launch.ranks) for launch in read.launches if launch.status is Status.OK}
    cached = _hosts_of_case(read)
    hosts: dict[str, list[str] | None] = {}
    for placement, count in ranks.items():
        key = placement, count if shape is None else math.prod(shape), most
        if key not in cached:
            cached[key] = _hosts(read, placement, key[1])
        hosts[placement] = cached[key]
    return hosts


@of_case
def _hosts_of_case(read: Record) -> dict[tuple[str, int, int | None], list[str] | None]:
    """Return what was worked out of a case before: hosts by placement, ranks, and ranks of a node before 1.3."""
    return {}


def _hosts(read: Record, placement: str, ranks: int) -> list[str] | None:
    """Return the host of every rank, empty where the placement cannot be on these nodes; None where nothing says."""
    nodes = allocation(read)
    try:
        return hosts(read, nodes, placement, ranks) if nodes else None
    except InputError:
        return []


def asked_of(launch: Launch, expected: dict[str, list[str] | None]) -> list[str]:
    """Return the host of each rank: as worked out, else as the ranks themselves saw it."""
    return expected.get(launch.placement) or launch.ranks.host_names
