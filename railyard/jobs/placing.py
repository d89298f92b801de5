"""Where the placements of a job put its ranks, as files in the stage directory: once the nodes are known.

On the virtual torus of a job's own the nodes are known before it is submitted, on a cluster in the job alone
(`railyard granted`). Leaves out which nodes they are (`placements.allocation`, `checks.granted`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from placements import launchers
from placements.hosts.node import NodeLayout
from placements.launchers import files
from placements.orders import spec
from placements.orders.allocation import Allocation
from placements.orders.placement import Placement, place
from placements.orders.spec import Kind
from placements.topology.base import Coordinate
from railyard.errors import InputError
from railyard.jobs import launching, roles
from railyard.jobs.stagedir import Job, Placed


def place_all(job: Job, allocation: Allocation) -> dict[str, Placement]:
    """Every placement of a job on an allocation; InputError for the first that cannot be."""
    for name in job.placements:
        companions(job, allocation, name)
    return {name: place_one(job, allocation, name) for name in job.placements}


def place_one(job: Job, allocation: Allocation, name: str) -> Placement:
    """Return one placement of a job; InputError where it cannot be on that allocation.

    Where other programs run beside it in some launches, it has the victim's nodes in all of them.
    """
    own = roles.victims(role_of(job), allocation)
    return place(name, own, tuple(job.grid), ranks_per_node=job.ranks_per_node, seed=job.seed)


def role_of(job: Job) -> roles.Roles | None:
    """Return what runs beside a job's program in some of its launches; None where nothing does."""
    said = job.case.get("roles")
    return roles.Roles.read(said) if said else None


def companions(job: Job, allocation: Allocation, name: str) -> list[roles.Placed]:
    """Return the programs that run beside a placement's; InputError where these nodes have no room for them."""
    said = role_of(job)
    if said is None:
        return []
    grid, per_node = tuple(job.grid), job.ranks_per_node
    return roles.placed(said, allocation, name, grid=grid, ranks_per_node=per_node, seed=job.seed)


def stem(name: str, companion: roles.Companion) -> str:
    """Return the beginning of the names of a companion's files, beside those of a placement."""
    return f"{name}.{companion.name}"


def place_what_can(
    job: Job, allocation: Allocation, without: str, scheduled: Allocation | None = None
) -> tuple[dict[str, Placement], dict[str, str]]:
    """The placements that can be on an allocation, and for the others why not.

    `without` says which coordinates are missing; empty where all are known. `scheduled` has the nodes in the order in
    which the launcher itself counts them, where that is another one: it is that of the placement `scheduler`.
    """
    made: dict[str, Placement] = {}
    cannot: dict[str, str] = {}
    for name in job.placements:
        if without and (job.needs_coordinates or needs_coordinates(name)):
            cannot[name] = without
            continue
        try:
            own = scheduled is not None and spec.parse(name).order == Kind.SCHEDULER
            nodes = scheduled if scheduled and own else allocation
            companions(job, nodes, name)
            made[name] = place_one(job, nodes, name)
        except InputError as error:
            cannot[name] = str(error)
    return made, cannot


def needs_coordinates(name: str) -> bool:
    """Return whether a placement means nothing where nobody knows how the nodes are joined."""
    return spec.parse(name).needs_coordinates


def write_files(
    folder: Path,
    job: Job,
    placed: dict[str, Placement],
    *,
    allocation: Allocation,
    node: NodeLayout | None = None,
) -> None:
    """What the launches read: host files, wrapper scripts, and a mark for each placement that can be launched."""
    for name, placement in placed.items():
        for beside in companions(job, allocation, name):
            own = stem(name, beside.companion)
            for policy in job.nic_policies:
                _write_launch_files(folder, job, beside.placement, name=own, policy=policy, node=node)
        for policy in job.nic_policies:
            _write_launch_files(folder, job, placement, name=name, policy=policy, node=node)
        mark(folder, name).touch()


def mark(folder: Path, placement: str) -> Path:
    """The file that says that a placement can be launched."""
    return folder / f"{launching.file_name(placement)}.placed"


def equal(placed: Mapping[str, Placement]) -> list[list[str]]:
    """Groups of placements that put every rank on the same node and slot: their launches measure one thing."""
    groups: dict[tuple[object, ...], list[str]] = {}
    for name, placement in placed.items():
        where = (
            spec.split_load(name)[1],
            *(node.name for node in placement.nodes),
            *placement.local_ranks.tolist(),
        )
        groups.setdefault(where, []).append(name)
    return [names for names in groups.values() if len(names) > 1]


def described(
    job: Job,
    allocation: Allocation,
    placed: Mapping[str, Placement],
    *,
    cannot: Mapping[str, str],
    stands: Mapping[str, Coordinate] | None = None,
    node: NodeLayout | None = None,
) -> Placed:
    """For the record. With `stands` (name -> coordinate) these are all that is known of the nodes, and no topology."""
    at = {node.name: node.coordinate for node in allocation.nodes} if stands is None else stands
    some = next(iter(placed.values()), None)
    policies = job.nic_policies if some else []
    return Placed(
        allocation={
            "order": str(allocation.order),
            "seed": allocation.seed,
            "nodes": [
                {"name": node.name, "coordinate": list(at[node.name]) if node.name in at else None}
                for node in allocation.nodes
            ],
        },
        topology=files.described(allocation.topology) if stands is None else None,
        hosts={name: [node.name for node in placement.nodes] for name, placement in placed.items()},
        local_ranks={name: placement.local_ranks.tolist() for name, placement in placed.items()},
        nics={p: launching.assigned_nics(some, p, job.devices, node) for p in policies if some},
        gpus={p: launching.assigned_gpus(some, p, job.devices, node) for p in policies if some},
        cannot=cannot,
        has_groups=stands is None and allocation.topology.has_groups,
        roles={name: _hosts(companions(job, allocation, name)) for name in placed},
    )


def _hosts(found: list[roles.Placed]) -> dict[str, list[str]]:
    return {each.companion.name: [node.name for node in each.placement.nodes] for each in found}


def _write_launch_files(
    folder: Path, job: Job, placement: Placement, *, name: str, policy: str, node: NodeLayout | None
) -> None:
    prepared = launching.prepare(
        placement,
        policy,
        launchers.named(job.launcher),
        job.features,
        stem=name,
        devices=job.devices,
        node=node,
        by_script=job.binds_by_script,
    )
    for file, text in {**prepared.files, **prepared.scripts}.items():
        (folder / file).write_text(text)
    for file in prepared.scripts:
        (folder / file).chmod(0o755)
