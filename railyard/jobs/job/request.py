"""Fit what a check requests to what a machine's partition provides. Pure, without ReFrame.

Models: a request (`JobSpec`) before the nodes are known; the same on a partition (`for_partition`), under loads
(`with_loads`), with the block of routers that holds its nodes on a machine (`on_machine`); why the partition does not
suffice (`lacking`, `programs_lacking`, `loads_lacking`); what of its lists the machine can do (`fitted`); the nodes and
the grid that it leads to (`allocation`, `whole_grid`); and whether its record can be kept (`check_size`). Leaves out:
the launches and their files (`railyard.jobs.submission`).
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import InputError, as_seen
from railyard.jobs import launching, roles, schedule
from railyard.jobs.job.spec import JobSpec
from railyard.jobs.partition import Partition
from railyard.jobs.roles import Roles
from railyard.placements.collectives import libraries
from railyard.placements.hosts import naming
from railyard.placements.hosts.gpus import any_pairs
from railyard.placements.linkload.matrix import read_traffic
from railyard.placements.nics import policies, stacks
from railyard.placements.nics.policies import Host
from railyard.placements.orders import spec
from railyard.placements.orders.allocation import Allocation, allocate, scheduled, within
from railyard.placements.orders.placement import place
from railyard.placements.topology import catalog
from railyard.records import json_io, launch_order, looks
from railyard.records import record as records

#: Variables that are lists of words, each of which a record has once.
LISTS = ("placements", "nics", "algorithms", "software", "loads", "studies")
#: Digits of a matrix's sum in a record's case.
MATRIX_DIGITS = 12
#: The longest word that a record may have (`name` in its schema).
MOST_CHARACTERS = 200
#: Bytes of a record's text, about (`python -m perf machine`): for a launch with its figures, in it for each rank that
#: nothing binds (CPU and NUMA domain), and for each NIC (sent and received).
LAUNCH_BYTES, RANK_BYTES, NIC_BYTES = 16 << 10, 8, 26


def for_partition(request: JobSpec, where: Partition) -> JobSpec:
    """Return a request with the seed of its challenge, and one launch of each combination where it is computed.

    A computed launch repeats bit for bit, so that one is enough. Raises InputError for a challenge that is not a word,
    for lists of words that no record may have, and for a rule of `until` that no round could ever satisfy.
    """
    for name in LISTS:
        words = getattr(request, name)
        for index, word in enumerate(words):
            if word in words[:index]:
                raise InputError(name, "", problem=f"{word} is listed twice", valid="each word once")
            if len(word) > MOST_CHARACTERS or as_seen(word) != word:
                raise InputError(name, "", word[:60], f"a word of at most {MOST_CHARACTERS} printable characters")
    seed = launch_order.seed_of(request.challenge, request.check, request.seed)
    request = dataclasses.replace(request, seed=seed, archive=str(Path(request.archive).absolute()))
    if request.matrix:  # its sum is a parameter, because the matrix changes where ranks run
        file = Path(request.matrix).absolute()
        read_traffic(file)
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        parameters = {**request.parameters, "matrix_sha256": digest[:MATRIX_DIGITS]}
        request = dataclasses.replace(request, matrix=str(file), parameters=parameters)
    for choice in request.algorithms:
        libraries.parse(choice)
    # Each NIC policy is launched with each choice of algorithms, and names it.
    named = ((nic, choice) for nic in request.nics for choice in request.algorithms)
    nics = tuple(nic if choice == libraries.DEFAULT else f"{nic}+{choice}" for nic, choice in named)
    request = dataclasses.replace(request, nics=nics, algorithms=(libraries.DEFAULT,))
    if where.is_computed:
        return dataclasses.replace(request, until="", launches=min(request.launches, 1))
    if request.until:
        looks.half_width_percent(request.until)
        problem = "" if looks.rounds(request.launches) else f"{request.launches} launches allow no look before the last"
        problem = "it cannot finish a job that ended early" if request.finishes else problem
        if problem:
            valid = f"-S launches=N with N above {looks.FIRST}, the most launches, and no finishes"
            raise InputError(request.name, looks.UNTIL, problem=problem, valid=valid)
    return request


def programs_lacking(request: JobSpec, where: Partition) -> str:
    """Return the first thing that the benchmark needs and the environment's MPI lacks, or why loads cannot run here.

    Empty where there is no such thing.
    """
    if name := next((name for name in (*request.needs, *request.nics) if name in where.lacks), ""):
        return f"{where.environment} lacks {name}, which {request.benchmark} needs here"
    several = f"{where.fullname} computes one program at a time, and {request.check} needs several"
    return several if request.loads and where.is_computed else ""


def with_loads(request: JobSpec, where: Partition) -> tuple[JobSpec, Roles | None]:
    """Return a request that launches each placement alone and under every load, and the programs of the loads.

    The companions are None without loads. Raises InputError for an unknown load or division of the nodes.
    """
    if not request.loads:
        return request, None
    companions = roles.chosen(request, on_a_machine=where.origin == "measured")
    loaded = [f"{name}+{load}" for name in request.placements for load in request.loads]
    return dataclasses.replace(request, placements=(*request.placements, *loaded)), companions


def lacking(request: JobSpec, where: Partition, cpus: int) -> str:
    """Return what a partition lacks for a request, in one line; empty if the check can run. `cpus` 0: not known."""
    if request.needs_coordinates and not where.topology:
        return f"needs the nodes' coordinates; {where.fullname} names no topology (docs/cluster.md)"
    if where.makes_torus:
        return ""
    name, fitting = where.fullname, on_machine(request, where)
    is_held = holds(where.extents, fitting.block)
    nodes = math.prod(request.cube)
    if request.grid or not request.cube:
        nodes = nodes_of(fitting, where.topology if fitting.block and is_held else request.torus)
    here, wanted = where.node_count(request.nodes), rails(request.nics)
    if here and here < nodes:
        return f"needs {nodes} nodes; jobs on {name} have {here} (extras: nodes, or -S nodes=N)"
    if where.rails < wanted:
        has = "no NICs" if where.rails < 2 else f"{where.rails} NICs"
        return f"needs {wanted} NICs per node; {name} names {has} (extras: nics)"
    if cpus and cpus < request.ranks_per_node:
        return f"needs {request.ranks_per_node} ranks per node; {name} has {cpus} CPUs per node"
    if request.needs_coordinates and fitting.block and not is_held:
        box, has = ("x".join(map(str, sides)) for sides in (fitting.block, where.extents))
        return f"needs a block of {box} routers of a torus; {name} has {has or 'no topology'}"
    return ""


def on_machine(request: JobSpec, where: Partition) -> JobSpec:
    """Return a request whose block counts the routers of this machine.

    A check's block counts the routers of the torus that the check was written for. On a machine with another number of
    nodes per router, the same box of nodes is a block of another shape.
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
    return dataclasses.replace(request, block=tuple(block), cube=box if here.box_of_cells(block) != box else ())


def holds(extents: Sequence[int], block: Sequence[int]) -> bool:
    """Return whether a box of routers fits into a machine's; False if these are not known, or have other dimensions."""
    return len(block) == len(extents) and all(b <= e for b, e in zip(block, extents, strict=True))


def nodes_of(request: JobSpec, torus: str) -> int:
    """Return how many nodes a check uses: those of its grid, or of the allocation on `torus` that it was made for."""
    if request.grid:
        return math.ceil(math.prod(request.grid) / request.ranks_per_node)
    if not torus:
        return 1
    block = tuple(request.block) or None
    return len(allocate(catalog.load(torus), request.allocation, block=block, seed=1).indices)


def rails(nic_policies: Sequence[str]) -> int:
    """Return how many NICs per node the policies need to differ: two, or as many as the largest nic-K counts."""
    names = {policies.alone(name) for name in nic_policies}
    if names <= {"library-default"}:
        return 1
    numbers = [int(name.removeprefix("nic-")) + 1 for name in names if name.startswith("nic-")]
    return max(2, *numbers) if numbers else 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """A request reduced to the placements and policies that a machine can do; `left_out` maps the others to the reason.

    Its `block` and `cube` are empty if the machine's torus does not hold the block.
    """

    request: JobSpec
    left_out: Mapping[str, str]

    @property
    def nothing_left(self) -> str:
        """Return why nothing can be measured, in one line; empty if something can."""
        return "" if self.request.placements and self.request.nics else next(iter(self.left_out.values()))


def fitted(request: JobSpec, where: Partition) -> Fitted:
    """Return what the machine can do of a request; a virtual torus of the job's own can do everything."""
    if where.makes_torus:
        return Fitted(request=request, left_out={})
    request = on_machine(request, where)
    has_block = not request.block or holds(where.extents, request.block)
    if not has_block:
        request = dataclasses.replace(request, block=(), cube=())
    placements: Sequence[str] = request.placements
    kinds = policies.policies()
    by_domain = any(
        kinds[name].nearest or kinds[name].with_gpus for name in map(policies.alone, request.nics) if name in kinds
    )
    if where.origin == "measured" and by_domain:  # an unbound rank has no nearest NIC
        alone = {name: spec.split_load(name)[0] for name in placements}
        placements = [name if "/" in own else f"{own}/numa{name[len(own) :]}" for name, own in alone.items()]
    without = where.without_coordinates
    unplaced = {name: without for name in placements if without and spec.parse(name).needs_coordinates}
    placements = [name for name in placements if name not in unplaced]
    unfitting = _unfitting(request, where, placements) if not (has_block and where.is_certain) else {}
    names = tuple(where.devices or (f"nic{rail}" for rail in range(where.rails)))
    host = Host(nics=names, nearest=(0,) * request.ranks_per_node, gpus=any_pairs(request.ranks_per_node))
    nics, without_setting = split_policies(request.nics, where.features, host)
    placed = tuple(name for name in placements if name not in unfitting)
    return Fitted(
        request=dataclasses.replace(request, placements=placed, nics=tuple(nics)),
        left_out={**unplaced, **unfitting, **without_setting},
    )


def split_policies(
    nic_policies: Sequence[str], features: Sequence[str], host: Host
) -> tuple[list[str], dict[str, str]]:
    """Return the NIC policies that an environment's stack can express, and why it cannot express the others.

    Raises InputError if a policy other than the library's default is requested and the environment names no stack.
    """
    cannot: dict[str, str] = {}
    for name in nic_policies:
        policy = policies.parse(name, len(host.nics))
        if not libraries.is_own(policy.algorithms):
            libraries.environment(policy.algorithms, libraries.of_features(features))
        if policy.kind.by_library:
            continue
        stack = launching.stack_of(features)
        try:
            stacks.settings(policy, stack, host)
        except InputError as error:
            cannot[name] = str(error)
    return [name for name in nic_policies if name not in cannot], cannot


def finishing(request: JobSpec) -> JobSpec:
    """Return a request with as many rounds as the record that it finishes lacks.

    A round counts if each of its launches is a result. The two jobs have a record each, of one case. Raises InputError
    for a record of another check, of other combinations, or of a job that lacks nothing.
    """
    if not request.finishes:
        return request
    earlier = records.load(Path(request.finishes))
    case = earlier.case
    wanted = (request.check, tuple(request.placements), tuple(request.nics))
    if (case.check, tuple(case.placements), tuple(case.nic_policies)) != wanted:
        valid = f"a record of {request.check} with placements {','.join(wanted[1])} and nics {','.join(wanted[2])}"
        raise InputError(request.name, "finishes", request.finishes, valid)
    lacking_rounds = {launch.repeat for launch in earlier.launches if not launch.is_result}
    if not lacking_rounds:
        problem = f"{request.finishes} lacks no round"
        raise InputError(request.name, "finishes", problem=problem, valid="a record of a job that ended early")
    return dataclasses.replace(request, launches=len(lacking_rounds))


def _unfitting(request: JobSpec, where: Partition, placements: Sequence[str]) -> dict[str, str]:
    """Return placement -> reason for each placement (`custom`) whose grid no allocation of the machine can hold.

    If the nodes are known, the placement is tried on them. If the scheduler chooses them, any box of the machine's
    nodes may be granted. A grid for the check's own block is not judged here.
    """
    here = where.known_topology
    unfit = {name: order.unfit for name in placements if (order := spec.parse(name).order).unfit}
    if here is None or not unfit or not request.grid or request.block or request.loads:
        return {}
    grid, per_node = tuple(request.grid), request.ranks_per_node
    if not where.is_certain:
        return {name: reason for name, why in unfit.items() if (reason := why(here, grid, per_node))}
    cannot = {}
    for name in unfit:
        try:
            place(spec.split_load(name)[0], allocation(request, where), grid, ranks_per_node=per_node)
        except InputError as error:
            cannot[name] = str(error)
    return cannot


def allocation(request: JobSpec, where: Partition) -> Allocation:
    """Return the job's nodes, or as many of the same kind if the scheduler chooses them.

    Raises InputError if neither the partition nor the check gives a number of nodes.
    """
    count = request.nodes or where.nodes
    if where.topology and (where.names_nodes or request.block or not count):
        box = tuple(request.block) or None
        nodes = allocate(catalog.load(where.topology), request.allocation, block=box, seed=request.seed)
        return within(nodes, tuple(request.cube)) if request.cube else nodes
    if not count:
        valid = "nodes: a number, in the partition's extras or by -S nodes=N"
        raise InputError("reframe.yml", f"{where.fullname}: extras.nodes", count, valid)
    if where.topology:
        whole = allocate(catalog.load(where.topology), request.allocation, seed=request.seed)
        return scheduled(whole.topology, whole.indices[:count])
    names = [f"node{k}" for k in range(count)] if where.scheduled else [platform.node()]
    return allocate(naming.flat(names, rails=len(where.devices or [""])), "contiguous", seed=request.seed)


def whole_grid(request: JobSpec, where: Partition, granted: Allocation, companions: Roles | None = None) -> list[int]:
    """Return the extents of a process grid with one rank on every slot of the nodes `granted`.

    A whole block keeps its shape, with the nodes of a router along Y and the ranks of a node along Z. With `companions`
    the grid covers the victim's nodes alone.
    """
    if companions:
        own = roles.victims(companions, granted)
        return schedule.cubic(len(own.indices) * request.ranks_per_node)
    slots = len(granted.indices) * request.ranks_per_node
    whole = list(granted.topology.box_of_cells(granted.block))
    whole[-1] *= request.ranks_per_node
    if where.is_certain:
        return whole if slots == math.prod(whole) else [slots]
    return whole if slots == math.prod(whole) and request.block else schedule.cubic(slots)


def check_size(request: JobSpec, where: Partition, nodes: int) -> None:
    """Raise InputError for a job on `nodes` nodes whose record would be too large to be read again."""
    combinations = len(request.placements) * len(request.nics) * max(1, len(request.software))
    ranks, nics = math.prod(request.grid), nodes * len(where.devices or ())
    launch_bytes = LAUNCH_BYTES + RANK_BYTES * ranks + NIC_BYTES * nics
    most = json_io.MOST_UNPACKED_BYTES // launch_bytes
    if combinations * request.launches > most:
        words = f"{combinations * request.launches} launches of {ranks:,} ranks in one record"
        valid = f"at most {most}: fewer launches, placements or NIC policies in one check"
        raise InputError(request.name, "launches", problem=words, valid=valid)
