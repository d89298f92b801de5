"""Write the files that a job's launches read, and make its script. Without ReFrame.

Models: a `Plan` becomes files in the stage directory, one line per launch, and the options for the scheduler. Leaves
out: who submits it (`checks.base`), and placing on nodes that only the job itself knows
(`railyard.jobs.nodes.allocated_nodes`).
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Iterator, Sequence
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
from railyard.placements.topology.base import Node
from railyard.records import looks
from railyard.records.record import Software
from railyard.records.store import archive, sessions

#: What a job leaves in its stage directory (`railyard.jobs.job.job_folder`).
LEFT = (
    *("launch-*", "placed.json", "*.placed", "ended.json", "code.*", "boot.*", "recorded", job_folder.ENOUGH),
    *("nodes", "nodes.json", "machine.json", "environment.json", "torus.json"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A job on a partition, its nodes, or as many of the kind that the scheduler will grant, and its plan."""

    job: Submitted
    plan: Plan
    where: Partition
    granted: Allocation

    @property
    def only_if_placed(self) -> bool:
        """Return whether a launch runs only where its placement could be made."""
        return self.where.scheduled or not self.where.is_certain

    def script(self, lines: Callable[[Planned], Sequence[str]], preparations: Sequence[str]) -> list[str]:
        """Return the script's lines between the scheduler's options and its last command; `lines` makes a launch's.

        Where the scheduler chooses the nodes, the job writes the files of its placements itself. On a torus of its own
        it may begin again, slower. After some numbers of rounds it may end (`railyard.records.looks`).
        """
        job, where = self.job, self.where
        before, after = (schedule.digests(job.launches, when) for when in ("begun", "ended"))
        in_rounds = schedule.rounds_again if where.makes_torus and not where.is_computed else schedule.rounds
        launched = in_rounds(job.launches, lines, looks.rounds(job.spec.launches) if job.spec.until else ())
        granted = ["railyard granted || exit 1"] if where.scheduled else []
        return [job_lock.LINE, job_lock.same_job(job.id), *granted, *preparations, *before, *launched, *after]


def planned(job: Submitted, where: Partition, granted: Allocation) -> Submission:
    """Return a job on the nodes granted, or on as many of the kind that the scheduler will grant. Pure.

    Raises InputError for a placement or NIC policy that launcher or stack cannot express, and where the nodes are
    certain for a placement that they do not allow.
    """
    here = node_description.describe() if job.site.binds_by_script and not where.scheduled else None
    nodes = Nodes(
        allocation=granted,
        without=where.without_coordinates,
        coordinates=None if where.topology else {},
        kinds=node_kinds.of({here["host"]: here}, job.site.devices) if here else (),
    )
    plan = placing.plan(job, nodes, is_certain=where.is_certain, stand_ins=not where.is_certain)
    return Submission(job=job, plan=plan, where=where, granted=granted)


def write(folder: Path, submission: Submission, program: Program) -> Submission:
    """Write what the launches read into a stage directory, and return the submission with them.

    `program` gives what each rank of a launch runs; on a real machine its ranks also count the bytes of their nodes'
    NICs, because nothing else does. What another job left there is removed first: none of it may count as this job's.
    Raises InputError where the job's archive cannot be written.
    """
    job, where = submission.job, submission.where
    archive.check_writable(Path(job.spec.archive), (job.site.system["name"], sessions.FOLDER))
    for path in (path for pattern in LEFT for path in folder.glob(pattern)):  # ReFrame may have left it there
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    # The files that bring up a job's torus, and the coordinates that programs read.
    nodes: Sequence[Node] = submission.granted.topology.nodes
    if where.is_computed:
        nodes = [nodes[index] for index in sorted(submission.granted.indices.tolist())]
    texts = {
        "topology": f"{where.topology}\n",
        "ranks-per-node": f"{job.spec.ranks_per_node}\n",
        "network": f"{job.spec.network}\n",
        "rate-scale": f"{job.spec.rate_scale}\n",
        "coordinates": files.coordinates(submission.granted.topology, nodes),
    }
    for name, text in texts.items():
        if text != "\n" or name == "topology":
            (folder / name).write_text(text)

    def counted(index: int, whose: Software) -> list[str]:
        return ["env", f"RAILYARD_NICS=launch-{index:03d}.nics", *program(index, whose)]

    launches = schedule.launches(job, submission.plan, counted if job.site.origin == "measured" else program)
    job = dataclasses.replace(job, launches=launches)
    submitted.write(folder, job)
    if not where.scheduled:
        placing.write_plan(folder, submission.plan)
    return dataclasses.replace(submission, job=job)


def options(where: Partition, granted: Allocation) -> Iterator[str]:
    """Yield the scheduler's options: the partition's constraint; for Slurm also its nodes, and no second run."""
    if where.constraint:
        yield where.constraint
    if not where.is_slurm:
        return
    yield from ("--no-requeue", f"--nodes={len(granted.indices)}")
    if where.names_nodes:
        yield f"--nodelist={','.join(host_names.folded(node.name for node in granted.nodes))}"
