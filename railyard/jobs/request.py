"""What a check requests of a machine, and what of it the machine's partition can give. Pure, without ReFrame.

Models: the request before the nodes are known (`Request`); the same with the block that a machine's routers make of
its nodes (`on_machine`); why it cannot be met (`lacking`); what of its lists the machine can do (`fitted`); the nodes
and the grid that it leads to (`allocation`, `whole_grid`); and its description in the record (`case`). Leaves out: the
launches and their files (`railyard.jobs.submission`).
"""

from __future__ import annotations

import dataclasses
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from placements.hosts import naming
from placements.hosts.gpus import any_pairs
from placements.nics.policies import WITH_GPUS, Host, Kind
from placements.orders import custom, spec
from placements.orders.allocation import Allocation, allocate, scheduled, within
from placements.orders.placement import place
from placements.topology import catalog
from railyard.errors import InputError
from railyard.jobs import requirements, roles, schedule
from railyard.jobs.partition import Partition
from railyard.jobs.roles import Roles
from railyard.records.record import Software


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a check requests. The fields are the variables of `checks.base.PlacedCheck` that have the same names.

    `name` is the check's, with its parameters; `software` lists whose programs are launched, `roles` what runs beside
    them in some launches.
    """

    name: str
    benchmark: str
    parameters: Mapping[str, Any]
    studies: Sequence[str]
    placements: Sequence[str]
    nics: Sequence[str]
    software: Sequence[Software]
    launches: int
    allocation: str
    block: Sequence[int]
    cube: Sequence[int]
    nodes: int
    torus: str
    network: str
    rate_scale: str
    ranks_per_node: int
    grid: Sequence[int]
    needs_coordinates: bool
    seed: int
    challenge: str
    archive: str
    roles: Roles | None = None

    @property
    def check(self) -> str:
        """The check's name without its parameters."""
        return self.name.split(" ")[0]


def refuse_nothing(request: Request) -> None:
    """Raise InputError for a request that leads to no launch at all."""
    if request.placements and request.nics and request.launches >= 1:
        return
    counts = (
        f"{len(request.placements)} placements, {len(request.nics)} NIC policies, {request.launches} launches"
    )
    raise InputError(request.name, "placements, nics, launches", counts, "at least one of each")


def lacking(request: Request, where: Partition, cpus: int) -> str:
    """Return the first thing that a partition lacks, in one line; empty where the check can run there."""
    if request.needs_coordinates and not where.knows_coordinates:
        return f"needs the nodes' coordinates; {where.fullname} names no topology (docs/cluster.md)"
    if where.makes_torus:
        return ""
    return requirements.missing(_needs(request, where), where.machine(request.nodes or where.nodes, cpus))


def on_machine(request: Request, where: Partition) -> Request:
    """Return a request whose block is that of the machine's routers.

    A check that names how many nodes it takes, by a grid or by a box of nodes, names the routers of the torus that it
    was made for. Where the machine has another number of nodes per router, the same box of nodes is another block.
    """
    here = where.known_topology
    names_nodes = bool(request.torus and request.block and (request.grid or request.cube))
    if where.makes_torus or here is None or not names_nodes or len(here.extents) != len(request.block):
        return request
    made_for = catalog.load(request.torus)
    if here.nodes_per_router == made_for.nodes_per_router:
        return request
    box = tuple(request.cube) or made_for.box_of_cells(request.block)
    axis = min(here.slot_axis, len(box) - 1)
    block = list(box)
    block[axis] = -(-box[axis] // here.nodes_per_router)
    return dataclasses.replace(request, block=block, cube=box if here.box_of_cells(block) != box else [])


def _needs(request: Request, where: Partition) -> requirements.Needs:
    """Return what the check takes; a block of a torus only where it walks one."""
    fitting = on_machine(request, where)
    return requirements.Needs(
        nodes=math.prod(request.cube) if request.cube and not request.grid else _nodes(fitting, where),
        rails=requirements.rails(request.nics),
        ranks_per_node=request.ranks_per_node,
        block=tuple(fitting.block) if request.needs_coordinates else (),
    )


def _nodes(request: Request, where: Partition) -> int:
    """Return how many nodes a check takes, in a block of the machine's own routers where it has them."""
    here, block = where.known_topology, request.block
    known = here is not None and bool(block) and requirements.holds(here.extents, block)
    torus = where.topology if known else request.torus
    return requirements.nodes(
        torus, request.grid, request.ranks_per_node, order=request.allocation, block=block
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """What of a request's lists a machine can do, and for the rest why not; `block` and `cube` are empty where the
    machine's torus does not hold the block.
    """

    placements: Sequence[str]
    nics: Sequence[str]
    block: Sequence[int]
    cube: Sequence[int]
    left_out: Mapping[str, str]

    @property
    def nothing_left(self) -> str:
        """Why nothing can be measured, in one line; empty where something can."""
        return "" if self.placements and self.nics else next(iter(self.left_out.values()))


def fitted(request: Request, where: Partition, features: Sequence[str]) -> Fitted:
    """Return what the machine can do. A virtual torus of the job's own can do all, because the check chooses it."""
    if where.makes_torus:
        return Fitted(
            placements=request.placements,
            nics=request.nics,
            block=request.block,
            cube=request.cube,
            left_out={},
        )
    request = on_machine(request, where)
    machine = where.machine(request.nodes or where.nodes, 0)
    has_block = not request.block or requirements.holds(machine.extents, request.block)
    if not has_block:
        request = dataclasses.replace(request, block=[], cube=[])
    placements = request.placements
    by_domain = {str(Kind.LOCAL_NIC), *map(str, WITH_GPUS)}
    if where.origin == "measured" and by_domain & set(request.nics):
        placements = requirements.bound(placements)
    placements, unplaced = requirements.split_placements(placements, where.without_coordinates)
    unfitting = _unfitting(request, where, placements) if not (has_block and where.is_certain) else {}
    names = tuple(where.devices or (f"nic{rail}" for rail in range(machine.rails)))
    host = Host(nics=names, nearest=(0,) * request.ranks_per_node, gpus=any_pairs(request.ranks_per_node))
    nics, without_setting = requirements.split_policies(request.nics, features, host)
    return Fitted(
        placements=[name for name in placements if name not in unfitting],
        nics=nics,
        block=request.block,
        cube=request.cube,
        left_out={**unplaced, **unfitting, **without_setting},
    )


def _unfitting(request: Request, where: Partition, placements: Sequence[str]) -> dict[str, str]:
    """Return the placements `custom` whose grid the machine can never take, and why.

    Where the nodes are certain they decide. Where the scheduler chooses them, any box of the machine's nodes may be
    granted. A grid for the check's own block is left to the placement.
    """
    here = where.known_topology
    named = [name for name in placements if spec.parse(spec.split_load(name)[0]).order == spec.Kind.CUSTOM]
    if here is None or not named or not request.grid or request.block or request.roles:
        return {}
    grid, per_node = tuple(request.grid), request.ranks_per_node
    if not where.is_certain:
        why = custom.impossible(here, grid, per_node)
        return dict.fromkeys(named, why) if why else {}
    cannot = {}
    for name in named:
        try:
            place(spec.split_load(name)[0], allocation(request, where), grid, ranks_per_node=per_node)
        except InputError as error:
            cannot[name] = str(error)
    return cannot


def allocation(request: Request, where: Partition) -> Allocation:
    """Return the job's nodes: those it will have, or where the scheduler chooses, as many of the same kind."""
    named = request.torus if where.makes_torus and request.torus else where.topology
    count = request.nodes or where.nodes
    if named and (where.names_nodes or request.block or not count):
        box = tuple(request.block) or None
        found = allocate(catalog.load(named), request.allocation, block=box, seed=request.seed)
        return within(found, tuple(request.cube)) if request.cube else found
    if not count:
        valid = "nodes: a number, in the partition's extras or by -S nodes=N"
        raise InputError("reframe.yml", f"{where.fullname}: extras.nodes", count, valid)
    if named:
        whole = allocate(catalog.load(named), request.allocation, seed=request.seed)
        return scheduled(whole.topology, whole.indices[:count])
    names = [f"node{k}" for k in range(count)] if where.scheduled else [platform.node()]
    return allocate(naming.flat(names, rails=len(where.devices or [""])), "contiguous", seed=request.seed)


def whole_grid(request: Request, where: Partition, granted: Allocation) -> list[int]:
    """Return a grid of all slots.

    It has the block's form where all of the block was granted, with the nodes of a router along Y and the ranks of a
    node along Z. Where other programs run beside it, its slots are the victim's.
    """
    if request.roles:
        own = roles.victims(request.roles, granted)
        return schedule.cubic(len(own.indices) * request.ranks_per_node)
    slots = len(granted.indices) * request.ranks_per_node
    whole = list(granted.topology.box_of_cells(granted.block))
    whole[-1] *= request.ranks_per_node
    if where.is_certain:
        return whole if slots == math.prod(whole) else [slots]
    return whole if slots == math.prod(whole) and request.block else schedule.cubic(slots)


def case(request: Request) -> dict[str, Any]:
    """Return the record's case, without topology and allocation."""
    return {
        "check": request.check,
        "benchmark": request.benchmark,
        "studies": request.studies,
        "parameters": request.parameters,
        "placements": request.placements,
        "nic_policies": request.nics,
        "software": list(map(str, request.software)),
        "seed": request.seed,
        "launches_per_combination": request.launches,
        **({"roles": request.roles.document()} if request.roles else {}),
    }
