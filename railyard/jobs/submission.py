"""A job as it is submitted: the files that its launches read, and its script. Without ReFrame.

Models: a request on an allocation becomes a `Job` in the stage directory, one line per launch and the options for the
scheduler. Leaves out: who submits it (`checks.base`), and placing on nodes that only the job itself knows
(`railyard.jobs.nodes.allocated_nodes`).
"""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from placements.hosts import node as node_layout
from placements.launchers import files
from placements.orders.allocation import Allocation
from placements.orders.placement import Placement
from placements.topology.base import Coordinate, Node
from railyard import host_names
from railyard.jobs import interrupted, job_lock, placing, request, schedule, stagedir
from railyard.jobs.nodes import node as node_description
from railyard.jobs.partition import Partition
from railyard.jobs.request import Request
from railyard.jobs.schedule import Program
from railyard.jobs.stagedir import Job, Planned
from railyard.records import provenance
from railyard.records.record import Software


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The place that a job runs in: names for the record, launcher, environment, image, files."""

    system: Mapping[str, str]
    reframe: Mapping[str, str]
    launcher: str
    features: Sequence[str]
    image: Mapping[str, Any] | None
    read_by: Mapping[str, Any] | None
    stderr: str
    launch_limit_s: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A request on an allocation; `program` gives what each rank of a launch runs."""

    request: Request
    where: Partition
    granted: Allocation
    surroundings: Surroundings
    program: Program


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What is written into a job's script: `lines` of a launch come from the check, which may add to them.

    `equal` are groups of placements that put every rank on the same node, so that their launches measure one thing.
    """

    launches: Sequence[Planned]
    only_if_placed: bool
    equal: Sequence[Sequence[str]]
    options: Sequence[str]

    def words(self, lines: Callable[[Planned], Sequence[str]], preparations: Sequence[str]) -> list[str]:
        """Return the script's lines between the scheduler's options and its last command."""
        begun, ended = (schedule.digests(self.launches, when) for when in ("begun", "ended"))
        launched = [line for launch in self.launches for line in lines(launch)]
        return [job_lock.LINE, *preparations, *begun, *launched, *ended]


def write(folder: Path, submission: Submission) -> Script:
    """Write what the launches read into a stage directory, and return the script of the job.

    Where the scheduler chooses the nodes, the job writes the files of its placements itself (`railyard granted`).
    """
    where, granted = submission.where, submission.granted
    _write_torus(folder, submission)
    job = _job(submission)
    placed, cannot = _placed(job, where, granted)
    program = _counted(submission.program) if where.origin == "measured" else submission.program
    job = dataclasses.replace(job, launches=schedule.launches(job, granted, placed, program))
    stagedir.write(folder, job)
    if not where.scheduled:
        node = node_layout.parse(node_description.describe()) if job.binds_by_script else None
        placing.write_files(folder, job, placed, allocation=granted, node=node)
        coordinates: dict[str, Coordinate] | None = None if where.topology else {}
        stagedir.write(
            folder, placing.described(job, granted, placed, cannot=cannot, stands=coordinates, node=node)
        )
    return Script(
        launches=job.launches,
        only_if_placed=where.scheduled or not where.is_certain,
        equal=placing.equal(placed),
        options=list(_options(where, granted)),
    )


def _write_torus(folder: Path, submission: Submission) -> None:
    asked, where = submission.request, submission.where
    (folder / "topology").write_text(f"{asked.torus or where.topology}\n")
    (folder / "ranks-per-node").write_text(f"{asked.ranks_per_node}\n")
    if asked.network:
        (folder / "network").write_text(f"{asked.network}\n")
    if asked.rate_scale:
        (folder / "rate-scale").write_text(f"{asked.rate_scale}\n")
    located = _located(where, submission.granted)
    (folder / "coordinates").write_text(files.coordinates(submission.granted.topology, located))


def _located(where: Partition, granted: Allocation) -> Sequence[Node]:
    """Return the nodes whose coordinates a program gets: all, or of a computed, maybe large machine, those granted."""
    if not where.is_computed:
        return granted.topology.nodes
    return [granted.topology.nodes[index] for index in sorted(granted.indices.tolist())]


def _placed(job: Job, where: Partition, granted: Allocation) -> tuple[dict[str, Placement], dict[str, str]]:
    """Return the placements, and for those that cannot be, why; a wrong one is an error where the nodes are certain."""
    if where.is_certain:
        return placing.place_all(job, granted), {}
    return placing.place_what_can(job, granted, where.without_coordinates)


def _counted(program: Program) -> Program:
    """Return a program whose ranks count what their nodes' NICs send; on a real machine nothing else does."""

    def counted(index: int, whose: Software) -> list[str]:
        return ["env", f"RAILYARD_NICS=launch-{index:03d}.nics", *program(index, whose)]

    return counted


def _options(where: Partition, granted: Allocation) -> Iterator[str]:
    """Yield the scheduler's options: the partition's constraint; for Slurm also its nodes, and no second run."""
    if where.constraint:
        yield where.constraint
    if not where.is_slurm:
        return
    yield from ("--no-requeue", f"--nodes={len(granted.indices)}")
    if where.names_nodes:
        yield f"--nodelist={','.join(host_names.folded(node.name for node in granted.nodes))}"


def _job(submission: Submission) -> Job:
    asked, where, around = submission.request, submission.where, submission.surroundings
    return Job(
        case=request.case(asked),
        system=around.system,
        origin=where.origin,
        reframe=around.reframe,
        archive=str(Path(asked.archive).absolute()),
        topology=where.topology,
        coordinates=where.coordinates,
        needs_coordinates=asked.needs_coordinates,
        order=asked.allocation,
        block=list(asked.block),
        cube=list(asked.cube),
        challenge=asked.challenge,
        id=uuid.uuid4().hex,
        written=provenance.state(),
        grid=list(asked.grid),
        ranks_per_node=asked.ranks_per_node,
        seed=asked.seed,
        launcher=around.launcher,
        features=list(around.features),
        devices=where.devices,
        image=around.image,
        read_by=around.read_by,
        stderr=around.stderr,
        owner=interrupted.owner(),
        launch_limit_s=around.launch_limit_s,
        launches=[],
    )
