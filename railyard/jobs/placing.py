"""Plan a job on known nodes: the node of every rank in each placement, and the files and commands of its launches.

On a virtual torus of the job's own, the nodes are known before it is submitted; on a cluster, only inside the job
(`railyard granted`). A `Plan` is pure; `write` puts its files into the stage directory. Leaves out which nodes they are
(`railyard.jobs.job.request`, `railyard.jobs.nodes.allocated_nodes`), and what each launch runs
(`railyard.jobs.schedule`).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import InputError
from railyard.jobs import launching, roles
from railyard.jobs.job.submitted import Assigned, Placed, Submitted, write
from railyard.jobs.launching import Combination
from railyard.jobs.nodes import kinds as node_kinds
from railyard.jobs.nodes.kinds import NodeKind
from railyard.jobs.roles import Companion
from railyard.placements import launchers
from railyard.placements.launchers import files
from railyard.placements.linkload.matrix import read_traffic
from railyard.placements.nics import lines, policies
from railyard.placements.orders import spec
from railyard.placements.orders.allocation import Allocation
from railyard.placements.orders.placement import Placement, place
from railyard.placements.topology.base import Coordinate


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A job's placements on an allocation, each rendered once with every NIC policy.

    `combinations` maps the beginning of a placement's file names (`stem`) and a policy to a rendered launch. For a
    placement that these nodes do not allow, it is a stand-in, from which only the command line is used. `companions`
    maps a placement to the companions of its victim. `equal` are groups of placements that put every rank on the same
    slot.
    """

    placed: Placed
    combinations: Mapping[tuple[str, str], Combination]
    companions: Mapping[str, Sequence[Companion]]
    equal: Sequence[Sequence[str]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """The nodes to place on. `without` is the reason why coordinates are missing; empty if all are known.

    `scheduled` has the nodes in the launcher's own order, which the placement `scheduler` uses; None if it is that of
    `allocation`. With `coordinates` (name -> coordinate) no topology is known; these are the known ones. `kinds`
    groups the nodes with a description by their hardware, and `boots` is how many boots of kernels they report.
    """

    allocation: Allocation
    without: str = ""
    scheduled: Allocation | None = None
    coordinates: Mapping[str, Coordinate] | None = None
    kinds: Sequence[NodeKind] = ()
    boots: int | None = None


#: The placement of a victim, and its companions with theirs.
_Ranks = tuple[Placement, Sequence[tuple[Companion, Placement]]]


def plan(job: Submitted, nodes: Nodes, *, is_certain: bool = False, stand_ins: bool = False) -> Plan:
    """Return the plan of the placements that the nodes allow; the reasons for the others are in `cannot`.

    With `is_certain` InputError is raised for the first placement that they do not allow. With `stand_ins` the others
    are rendered, too, because the nodes that the scheduler grants may allow them. InputError is then raised for what
    the launcher or the stack cannot express.
    """
    ranks: dict[str, _Ranks] = {}
    rendered: dict[tuple[str, str], Combination] = {}
    cannot: dict[str, str] = {}
    for name in job.spec.placements:
        if nodes.without and (job.spec.needs_coordinates or spec.parse(name).needs_coordinates):
            cannot[name] = nodes.without
            continue
        try:
            placed = {name: _place(job, nodes, name)}
            rendered |= {} if stand_ins else _rendered(job, nodes, placed)
            ranks |= placed
        except InputError as error:
            if is_certain:
                raise
            cannot[name] = str(error)
    either = ranks
    if stand_ins:
        either = {**ranks, **{name: _stand_in(job, nodes.allocation, name) for name in cannot}}
        rendered = _rendered(job, nodes, either)
    return Plan(
        placed=_described(job, nodes, ranks, cannot),
        combinations=rendered,
        companions={name: [companion for companion, _ in others] for name, (_, others) in either.items()},
        equal=equal({name: own for name, (own, _) in ranks.items()}),
    )


def _place(job: Submitted, nodes: Nodes, name: str) -> _Ranks:
    """Return one placement of a job; InputError if the nodes do not allow it, or leave no room for its companions.

    A job with companions in some launches has the victim on the same nodes in all of them.
    """
    own = nodes.scheduled is not None and spec.parse(name).order.by_launcher
    allocation = nodes.scheduled if nodes.scheduled and own else nodes.allocation
    companions = roles.placed(job.roles, allocation, name, job.spec)
    return _own(job, allocation, name), companions


def _own(job: Submitted, allocation: Allocation, name: str) -> Placement:
    request, victims = job.spec, roles.victims(job.roles, allocation)
    searches = request.matrix and spec.parse(name).order.searches
    traffic = read_traffic(Path(request.matrix), math.prod(request.grid)) if searches else None
    per_node, seed = request.ranks_per_node, request.seed
    return place(name, victims, request.grid, ranks_per_node=per_node, seed=seed, traffic=traffic)


def _stand_in(job: Submitted, allocation: Allocation, name: str) -> _Ranks:
    """Return a stand-in for a placement, from which only the command line is used.

    It has no companions if these nodes have no room for them.
    """
    own = dataclasses.replace(_own(job, allocation, "plain"), binding=spec.parse(name).binding)
    try:
        return own, roles.placed(job.roles, allocation, name, job.spec)
    except InputError:
        return own, ()


def _rendered(job: Submitted, nodes: Nodes, ranks: Mapping[str, _Ranks]) -> dict[tuple[str, str], Combination]:
    site = job.site
    return {
        (beginning, policy): launching.render(
            placement,
            policy,
            launchers.named(site.launcher),
            site.features,
            stem=beginning,
            devices=site.devices,
            kinds=nodes.kinds,
            by_script=site.binds_by_script,
            modifier=job.launcher_modifier,
            options=job.launcher_options,
            program=site.wrapper,
            stated=job.spec.nic_settings,
        )
        for name, (own, others) in ranks.items()
        for beginning, placement in [(name, own), *((stem(name, one), placement) for one, placement in others)]
        for policy in job.spec.nics
    }


def stem(name: str, companion: Companion) -> str:
    """Return the beginning of the file names of a companion of a placement."""
    return f"{name}.{companion.name}"


def write_plan(folder: Path, plan: Plan) -> None:
    """Write what the launches read: host files, wrapper scripts, and a mark for each placement that can be launched."""
    can = {
        beginning
        for name in plan.placed.hosts
        for beginning in (name, *(stem(name, companion) for companion in plan.companions[name]))
    }
    for (beginning, _), combination in plan.combinations.items():
        if beginning in can:
            for file, text in {**combination.files, **combination.scripts}.items():
                (folder / file).write_text(text)
                if file in combination.scripts:
                    (folder / file).chmod(0o755)
    for name in plan.placed.hosts:
        mark(folder, name).touch()
    write(folder, plan.placed)


def mark(folder: Path, placement: str) -> Path:
    """Return the path of the empty file whose existence lets the job script launch a placement."""
    return folder / f"{lines.file_name(placement)}.placed"


def equal(placed: Mapping[str, Placement]) -> list[list[str]]:
    """Return groups of placements that put every rank on the same node and slot, and so measure the same."""
    groups: dict[tuple[object, ...], list[str]] = {}
    for name, placement in placed.items():
        where = spec.split_load(name)[1], placement.allocation.topology.name, placement.indices.tobytes()
        groups.setdefault(where, []).append(name)
    return [names for names in groups.values() if len(names) > 1]


def _described(job: Submitted, nodes: Nodes, ranks: Mapping[str, _Ranks], cannot: Mapping[str, str]) -> Placed:
    """Return where the ranks go, for the record."""
    allocation, coordinates = nodes.allocation, nodes.coordinates
    at = {node.name: node.coordinate for node in allocation.nodes} if coordinates is None else coordinates
    some = next((placement for placement, _ in ranks.values()), None)
    own = node_kinds.among(nodes.kinds, {node.name for node in some.nodes}) if some else []
    usual, *others = [_assigned(job, some, kind) for kind in (own or (None,))]
    return Placed(
        allocation={
            "order": str(allocation.order),
            "seed": allocation.seed,
            "nodes": [
                {"name": node.name, "coordinate": list(at[node.name]) if node.name in at else None}
                for node in allocation.nodes
            ],
        },
        topology=files.described(allocation.topology) if coordinates is None else None,
        hosts={name: [node.name for node in placement.nodes] for name, (placement, _) in ranks.items()},
        local_ranks={name: placement.local_ranks.tolist() for name, (placement, _) in ranks.items()},
        nics=usual.nics,
        gpus=usual.gpus,
        cannot=cannot,
        has_groups=coordinates is None and allocation.topology.has_groups,
        roles={
            name: {companion.name: [node.name for node in placement.nodes] for companion, placement in companions}
            for name, (_, companions) in ranks.items()
        },
        described=sum(len(kind.names) for kind in nodes.kinds),
        kinds=len(nodes.kinds),
        boots=nodes.boots,
        others=[one for one in others if (one.nics, one.gpus) != (usual.nics, usual.gpus)],
        own_names=node_kinds.own_names(nodes.kinds),
    )


def _assigned(job: Submitted, some: Placement | None, kind: NodeKind | None) -> Assigned:
    """Return the NICs and GPUs of the local ranks on nodes of a kind, by policy."""
    nodes = kind.names if kind else ()
    if some is None:
        return Assigned(nodes=nodes, nics={}, gpus={})
    layout = kind.layout if kind else None
    on = launching.host(some, job.site.devices, layout, by_script=job.site.binds_by_script)
    chosen = {name: policies.parse(name, len(on.nics)) for name in job.spec.nics}
    return Assigned(
        nodes=nodes,
        nics={
            name: [[on.nics[nic] for nic in own] for own in policies.assign(policy, on)]
            for name, policy in chosen.items()
        },
        gpus={name: list(policies.gpus(policy, on)) for name, policy in chosen.items()},
    )
