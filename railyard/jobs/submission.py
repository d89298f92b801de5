"""Write the files that a job's launches read, and make its script. Without ReFrame.

Models: a `Plan` becomes files in the stage directory, one line per launch, and the options for the scheduler. Leaves
out: who submits it (`checks.base`), and placing on nodes that only the job itself knows
(`railyard.jobs.nodes.allocated_nodes`).
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from railyard.base import host_names
from railyard.jobs import job_lock, placing, schedule
from railyard.jobs.job import job_folder, submitted
from railyard.jobs.job.submitted import Planned, Submitted
from railyard.jobs.nodes import kinds as node_kinds
from railyard.jobs.nodes import node as node_description
from railyard.jobs.partition import Partition
from railyard.jobs.placing import Nodes, Plan
from railyard.jobs.schedule import Program
from railyard.placements.launchers import files
from railyard.placements.orders.allocation import Allocation
from railyard.placements.topology.base import Coordinate, Node
from railyard.records import looks
from railyard.records.record import Software
from railyard.records.store import folders, sessions

#: What a job leaves in its stage directory (`railyard.jobs.job.job_folder`).
LEFT = (
    *("launch-*", "placed.json", "*.placed", "ended.json", "code.*", "boot.*", "recorded", job_folder.ENOUGH),
    *("nodes", "nodes.json", "machine.json", "environment.json", "torus.json"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A job, its plan, and all else that goes into its stage directory and its script; nothing is written yet.

    `texts` are files by name. `written_by_job`: the scheduler chooses the nodes, so the job writes the files of its
    placements itself (`railyard granted`). `only_if_placed`: a launch runs where its placement could be made.
    `has_own_torus`: the job makes the virtual torus that it runs on.
    """

    job: Submitted
    plan: Plan
    texts: Mapping[str, str]
    written_by_job: bool
    only_if_placed: bool
    has_own_torus: bool
    options: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """The content of a job's script; `words` renders it with the lines of each launch, which the check makes.

    After the numbers of rounds in `looks` the job may end (`railyard.records.looks`). On a torus of its own it may
    begin again, slower.
    """

    job: str
    launches: Sequence[Planned]
    looks: Sequence[int]
    only_if_placed: bool
    written_by_job: bool
    has_own_torus: bool

    def words(self, lines: Callable[[Planned], Sequence[str]], preparations: Sequence[str]) -> list[str]:
        """Return the script's lines between the scheduler's options and its last command."""
        before, after = (schedule.digests(self.launches, when) for when in ("begun", "ended"))
        if self.has_own_torus:
            repeated = schedule.rounds(self.launches, lambda one: [*lines(one), schedule.slower(one)], self.looks)
            launched = schedule.from_the_first_again(repeated)
        else:
            launched = schedule.rounds(self.launches, lines, self.looks)
        granted = ["railyard granted || exit 1"] if self.written_by_job else []
        own = [job_lock.LINE, job_lock.same_job(self.job)]
        return [*own, *granted, *preparations, *before, *launched, *after]


def planned(job: Submitted, where: Partition, granted: Allocation) -> Submission:
    """Return a job on the nodes granted, or on as many of the kind that the scheduler will grant. Pure.

    Raises InputError for a placement or NIC policy that launcher or stack cannot express, and where the nodes are
    certain for a placement that they do not allow.
    """
    here = node_description.describe() if job.site.binds_by_script and not where.scheduled else None
    coordinates: dict[str, Coordinate] | None = None if where.topology else {}
    nodes = Nodes(
        allocation=granted,
        without=where.without_coordinates,
        coordinates=coordinates,
        kinds=node_kinds.of({here["host"]: here}, job.site.devices) if here else (),
    )
    return Submission(
        job=job,
        plan=placing.plan_all(job, nodes) if where.is_certain else placing.plan_what_can(job, nodes, stand_ins=True),
        texts=dict(_texts(job, where, granted)),
        written_by_job=where.scheduled,
        only_if_placed=where.scheduled or not where.is_certain,
        has_own_torus=where.makes_torus and not where.is_computed,
        options=list(_options(where, granted)),
    )


def write(folder: Path, submission: Submission, program: Program) -> Script:
    """Write what the launches read into a stage directory, and return the script of the job.

    `program` gives what each rank of a launch runs. What another job left there is removed first. Raises InputError
    where the job's archive cannot be written.
    """
    folders.check_writable(Path(submission.job.spec.archive), (submission.job.site.system["name"], sessions.FOLDER))
    _clear(folder)
    for name, text in submission.texts.items():
        (folder / name).write_text(text)
    job, plan = submission.job, submission.plan
    counted = _counted(program) if job.site.origin == "measured" else program
    job = dataclasses.replace(job, launches=schedule.launches(job, plan, counted))
    submitted.write(folder, job)
    if not submission.written_by_job:
        placing.write_plan(folder, plan)
    return Script(
        job=job.id,
        launches=job.launches,
        looks=looks.rounds(job.spec.launches) if job.spec.until else (),
        only_if_placed=submission.only_if_placed,
        written_by_job=submission.written_by_job,
        has_own_torus=submission.has_own_torus,
    )


def _clear(folder: Path) -> None:
    """Remove what another job left, where ReFrame did not: none of it may count as this job's."""
    for path in (path for pattern in LEFT for path in folder.glob(pattern)):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _texts(job: Submitted, where: Partition, granted: Allocation) -> Iterator[tuple[str, str]]:
    """Yield the files that bring up a job's torus, and the coordinates."""
    request = job.spec
    yield "topology", f"{where.topology}\n"
    yield "ranks-per-node", f"{request.ranks_per_node}\n"
    if request.network:
        yield "network", f"{request.network}\n"
    if request.rate_scale:
        yield "rate-scale", f"{request.rate_scale}\n"
    yield "coordinates", files.coordinates(granted.topology, _located(where, granted))


def _located(where: Partition, granted: Allocation) -> Sequence[Node]:
    """Return the nodes whose coordinates a program reads: all, or only those granted where launches are computed."""
    if not where.is_computed:
        return granted.topology.nodes
    return [granted.topology.nodes[index] for index in sorted(granted.indices.tolist())]


def _counted(program: Program) -> Program:
    """Return a program whose ranks count the bytes of their nodes' NICs, as on a real machine nothing else does."""

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
