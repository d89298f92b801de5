"""Define the mixin `Placed`: a ReFrame test as one job that runs all placements in seeded random order.

The test's executable, options, sanity and performance functions stay its own. The job launches the executable once for
each placement and NIC policy in every round. The functions are evaluated for each launch. The test fails if a rank ran
on another node than its placement named, or if the sanity function rejects a launch.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import math
import os
import statistics
import sys
import sysconfig
import types
import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import reframe as rfm
from reframe.core import warnings as rfm_warnings
from reframe.core.backends import getlauncher
from reframe.core.builtins import performance_function, run_after, run_before
from reframe.core.exceptions import ReframeError, ReframeFatalError, SanityError
from reframe.core.logging import getlogger
from reframe.core.runtime import runtime
from reframe.core.warnings import ReframeDeprecationWarning

from railyard.applications import launch as left
from railyard.base.checkout import CHECKOUT
from railyard.base.errors import InputError, RunError
from railyard.jobs import complaints, interrupted, schedule, stagedir, submission
from railyard.jobs import image as images
from railyard.jobs.job import job_folder, request, submitted
from railyard.jobs.job.spec import JobSpec
from railyard.jobs.job.submitted import Planned, Submitted
from railyard.jobs.partition import Partition
from railyard.jobs.roles import Roles
from railyard.placed import figures
from railyard.placed.variables import PLACED, define_placed
from railyard.placements import launchers
from railyard.placements.launchers import Launcher
from railyard.placements.nics.lines import Verbatim
from railyard.placements.orders.allocation import Allocation
from railyard.placements.topology.base import Topology
from railyard.records import provenance, references
from railyard.records.record import Record, Software
from railyard.torus.simulated import smpi

#: The folders of modules when a check file first imported this one.
MODULES = (*sys.path, sysconfig.get_path("purelib"))
#: reframe.yml uses this variable in job scripts, because ReFrame may run in any folder.
os.environ.setdefault("RAILYARD_CHECKOUT", str(CHECKOUT))


def _callers() -> list[inspect.FrameInfo]:
    """Return the callers that ReFrame wants for a warning: none where it drops the warning, as twice for each test.

    To find them Python reads their sources, which was the largest single cost of `reframe -l`.
    """
    dropped = ("ignore", None, ReframeDeprecationWarning, None, 0) in warnings.filters[:1]
    return [] if dropped else inspect.stack()[1:]


rfm_warnings.inspect = types.SimpleNamespace(**{**vars(inspect), "stack": _callers})


def partition_of(test: Any) -> Partition:
    """Return the partition and environment in which ReFrame runs a test, as railyard knows them."""
    partition, environ = test.current_partition, test.current_environ
    return Partition.read(
        partition.fullname,
        partition.scheduler.registered_name,
        partition.extras,
        os.environ,
        environment=environ.name,
        features=environ.features,
        lacks=environ.extras.get("lacks", []),
        configuration=configuration(partition.fullname.partition(":")[0]),
    )


def configuration(system: str) -> str:
    """Return the file of ReFrame's configuration that defines a system, as a user names it."""
    config = runtime().site_config
    systems = getattr(config, "_definitions", {}).get(
        "systems", {}
    )  # ReFrame 4.10 keeps it, and shows it in no other way
    path = systems.get(system) or config.sources[-1]
    return os.path.relpath(path) if Path(path).is_relative_to(Path.cwd()) else str(path)


@functools.cache
def warn_of_features() -> None:
    """Name, once, what a site's own configuration lacks, because ReFrame leaves out every check without a word."""
    with contextlib.suppress(ReframeFatalError):  # imported, and not by ReFrame
        system = runtime().system
        ready = [partition for partition in system.partitions if {"torus", "modelled"} & {*partition.features}]
        if not any("mpi" in environment.features for one in ready for environment in one.environs):
            lacking = "environment has the feature mpi" if ready else "partition has the feature torus"
            line = "environments: features: [mpi]" if ready else "partitions: features: [torus]"
            source = f"{configuration(system.name)}: {system.name}"
            getlogger().warning(f"{source}: no {lacking}; expected {line} (docs/cluster.md)")


@contextmanager
def plainly() -> Iterator[None]:
    """Turn bad input into ReFrame's own error, whose report shows the one line and no traceback."""
    try:
        yield
    except (InputError, RunError) as error:
        if isinstance(error, InputError) and error.source == submitted.CONFIGURATION:
            source = configuration(runtime().system.name)
            error = InputError(source, error.field, error.value, error.valid, problem=error.problem)
        raise ReframeError(str(error)) from None  # ReFrame would print the cause's line again


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """What a test and its partition determine before anything is written.

    `carried` is the image that launches run from, `companions` are the programs that run with it. `granted` are the
    nodes, or as many of the same kind.
    """

    where: Partition
    spec: JobSpec
    carried: images.Carried | None
    companions: Roles | None
    granted: Allocation

    @property
    def topology(self) -> Topology:
        """Return the topology of the nodes."""
        return self.granted.topology

    @property
    def ranks(self) -> int:
        """Return the number of ranks that the nodes have room for."""
        return len(self.granted.indices) * self.spec.ranks_per_node


#: ReFrame's class for mixins, which was RegressionMixin before 4.9.
PLUGIN: Any = getattr(rfm, "RegressionTestPlugin", rfm.RegressionMixin)
_Variables: Any = types.new_class("PlacedVariables", (PLUGIN,), exec_body=define_placed)


class Placed(_Variables):
    """Gives the test that inherits it placements, NIC policies, random order, proof and a record."""

    placements = ["plain", "cart-create"]

    @run_before("setup")
    @plainly()
    def keep_what_was_left(self) -> None:
        """Record jobs that a killed ReFrame left in this check's stage directories, which a dry run empties, too.

        First give Python the folders of modules back that ReFrame removed: after a check file that inserts one into
        `sys.path`, it removes the last one, which may have numpy (docs/decisions).
        """
        sys.path += [folder for folder in MODULES if folder not in sys.path]
        stages = Path(runtime().stage_prefix, self.current_system.name)
        interrupted.keep_left_behind(path.parent for path in stages.glob(f"*/*/{self.short_name}/job.json"))

    @run_before("run", always_last=True)
    @plainly()
    def write_placed_job(self) -> None:
        """Write the files that the launches read, and the lines of the job script; list the job as submitted."""
        self._refuse()
        self._write_job()
        if not self.is_dry_run():
            # A job that times out has a record, too.
            interrupted.submitted(Path(self.stagedir), lambda: str(self.job.state))
            figures.watch(self.display_name, self.job, Path(self.stagedir), self.launches_in_job)

    @run_after("run")
    def give_back_own_values(self) -> None:
        """Let the test's own functions see the values that the job's script replaced."""
        self._set(getattr(self, "own_values", {}))

    @run_before("sanity", always_last=True)
    @plainly()
    def judge_placed_job(self) -> None:
        """Evaluate the test's sanity function for each launch; without a good one make the record here, and fail."""
        if self.is_dry_run():
            return
        folder = Path(self.stagedir)
        if job_folder.torus(folder) is None and self.prepared.where.origin == "emulated":
            interrupted.recorded(folder)
            raise SanityError(f"the job had no torus: {complaints.first(folder / str(self.job.stderr))}")
        if self._judges_itself():
            self._make_record()
            return
        self.launch_faults = [
            (launch, figures.fault(self, launch))
            for launch in submitted.read(folder).launches
            if (folder / f"{launch.stem}.ended").exists()
        ]
        good = next((launch for launch, why in self.launch_faults if not why), None)
        if good is None:
            self._judged([])
            raise SanityError(self._wrong() or "no launch ended")
        # ReFrame evaluates the function once more, for this launch.
        self.job._stdout, self.job._stderr = f"{good.stem}.out", f"{good.stem}.err"

    @run_before("performance", always_last=True)
    @plainly()
    def report_placed_job(self) -> None:
        """Evaluate the performance functions for each good launch, make the record, and report medians to ReFrame."""
        if self.is_dry_run() or self._judges_itself():
            return
        own = figures.performance_variables(self)
        if unknown := figures.unknown(own):
            words = f"unit not registered, so recorded as a count without a better direction: {', '.join(unknown)}"
            getlogger().warning(f"{self.short_name}: {words}; expected a unit of railyard/records/units.py")
        self._judged(own)
        if wrong := self._wrong():
            raise SanityError(wrong)
        foms = {str(figure.fom): (figure.name, figure.unit) for figure in own}
        foms = foms or {str(figures.WALL_TIME): ("elapsed", "s")}
        self.perf_patterns = None
        self.perf_variables = {
            name: performance_function(unit)(lambda _, v=value: v)(self)
            for name, value, unit in reported(self.record, foms, list(self.record.case.nic_policies))
        }

    def _judged(self, own: Sequence[figures.Figure]) -> None:
        """Write the figures of each launch, and make the record; without a variable the figure is the wall time."""
        folder = Path(self.stagedir)
        for launch, why in self.launch_faults:
            elapsed_s = job_folder.launch(folder, launch).elapsed_s
            wall_time = {} if elapsed_s is None else {figures.WALL_TIME: elapsed_s}
            taken = figures.values(self, launch, own) if own and not why else wall_time
            figures.write(folder, launch, why, {} if why else taken)
        self._make_record()

    def _judges_itself(self) -> bool:
        """Return whether the test reads its record instead of each launch's output."""
        return False

    def _refuse(self) -> None:
        """Raise InputError for what the launches could not obey: variables of ReFrame's, and a hook after this one.

        Such a hook would see the job script's launcher and tasks in place of the test's own.
        """
        if getattr(self.container_platform, "image", None):
            valid = "a program of the machine; railyard's own checks take -S image=FILE"
            raise InputError(self.name, "container_platform", self.container_platform.image, valid)
        if self.job.pin_nodes:
            problem = f"it pins the job to {' '.join(self.job.pin_nodes)}, and placements need several nodes"
            raise InputError(self.name, "--distribute", problem=problem, valid="-S nodes=N or -J nodelist=NODES")
        words = [*self.job.options, *self.job.cli_options]
        if "-a" in self.job.cli_options or any("array" in word.split("=")[0] for word in words):
            problem = "an array's tasks would share one stage directory"
            raise InputError(self.name, "-J array", problem=problem, valid="-S launches=N, or reframe --repeat=N")
        *_, last = type(self).pipeline_hooks()["pre_run"]
        if last.__name__ != "write_placed_job":
            problem = f"{last.__qualname__} runs after it, and would not see the test's own launcher and tasks"
            raise InputError(self.name, "railyard.Placed", problem=problem, valid="the last of the class's bases")

    def _prepare(self) -> Prepared:
        """Return the job that test and partition lead to; skip, in one line, if nothing can be measured."""
        where = self._partition()
        self._skip_for(where.missing())
        spec = request.for_partition(self._requested(where), where)
        where = where.with_torus(spec.torus)
        self._skip_for(smpi.missing() if where.origin == "simulated" else "")
        self._skip_for(request.programs_lacking(spec, where))
        spec, companions = request.with_loads(spec, where)
        software, carried = self._opened(spec, where)
        spec = request.finishing(self._fitted(dataclasses.replace(spec, software=software), where))
        granted = request.allocation(spec, where)
        grid = spec.grid or tuple(request.whole_grid(spec, where, granted, companions))
        spec = dataclasses.replace(spec, grid=grid)
        request.check_size(spec, where, len(granted.indices))
        return Prepared(where=where, spec=spec, carried=carried, companions=companions, granted=granted)

    def _requested(self, where: Partition) -> JobSpec:
        """Return the request of the test: its tasks are the ranks, its options the case's parameters."""
        tasks, per_node = self.num_tasks or 0, self.num_tasks_per_node or 1
        if not self.num_tasks_per_node and where.origin == "measured":  # as many as processors, at most all ranks
            per_node = min(max(1, self._processors()), self.num_tasks or 1)
        if tasks < 0 or (self.grid and tasks and math.prod(self.grid) != tasks):
            valid = "a number of tasks, 0 for one on each slot of the nodes, and a grid of as many ranks"
            raise InputError(self.name, "num_tasks, grid", f"{tasks}, {self.grid}", valid)
        check = str(self.name).partition(" %")[0]
        limit = {"launch_limit_s": int(self.time_limit)} if self.time_limit else {}
        return JobSpec.of(
            {
                **limit,
                **{name: getattr(self, name) for name in PLACED if hasattr(self, name)},
                "name": str(self.name),
                "benchmark": Path(str(self.executable).split()[0]).name,
                "parameters": {
                    "test": check,
                    "options": " ".join(map(str, self.executable_opts)),
                    **figures.variant(str(self.name)),
                },
                "grid": tuple(self.grid or (schedule.cubic(tasks) if tasks else ())),
                "nodes": self.nodes or -(-tasks // per_node),
                "ranks_per_node": per_node,
                "software": (Software.NATIVE,),
            }
        )

    def _processors(self) -> int:
        """Return the number of a node's processors; 0 if ReFrame does not know it."""
        processor = self.current_partition.processor
        return int(processor.num_cpus or 0) if processor else 0

    def _set(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            setattr(self, name, value)

    def _skip_for(self, reason: str) -> None:
        if reason:
            self.skip(reason)

    def _partition(self) -> Partition:
        return partition_of(self)

    def _opened(self, spec: JobSpec, where: Partition) -> tuple[tuple[Software, ...], images.Carried | None]:
        """Return whose programs to launch, and the image that has them; skip if that cannot be run here."""
        del spec, where
        return (Software.NATIVE,), None

    def _fitted(self, spec: JobSpec, where: Partition) -> JobSpec:
        """Return the part of a request that this machine can do, with a warning for each other part; skip if empty."""
        if not spec.placements or not spec.nics or spec.launches < 1:
            counts = f"{len(spec.placements)} placements, {len(spec.nics)} NIC policies, {spec.launches} launches"
            raise InputError(spec.name, "placements, nics, launches", problem=counts, valid="at least one of each")
        self._skip_for(request.lacking(spec, where, self._processors()))
        fitted = request.fitted(spec, where)
        for name, reason in fitted.left_out.items():
            getlogger().warning(f"{self.short_name}: {name} is left out on {where.fullname}: {reason}")
        self._skip_for(fitted.nothing_left)
        return fitted.request

    def _write_job(self) -> None:
        self.prepared = self._prepare()
        spec, own = self.prepared.spec, list(map(str, self.prerun_cmds))
        tasks = math.prod(spec.grid)
        if own and self.prepared.where.is_slurm and tasks < self.prepared.ranks:
            own = in_own_size(own, tasks, spec.ranks_per_node)
        # railyard's commands come onto the PATH, if nothing else puts them there.
        path = f'command -v railyard >/dev/null || export PATH="$PATH:{Path(sys.executable).parent}"'
        text = " ".join(map(str, (self.executable, *self.executable_opts)))
        self.program_text = Verbatim(text)
        names = ("executable", "executable_opts", "prerun_cmds", "num_tasks", "num_tasks_per_node", "time_limit")
        self.own_values = {name: getattr(self, name) for name in names}
        self._write_launches([path, *own])
        self.num_tasks, self.num_tasks_per_node = self.prepared.ranks, spec.ranks_per_node
        if limit_s := self.own_values["time_limit"]:
            launch_s = max(int(limit_s), spec.launch_limit_s)
            self.time_limit = launch_s * len(submitted.read(Path(self.stagedir)).launches)

    def _write_launches(self, preparations: list[str]) -> None:
        where = self.prepared.where
        job = self._submitted(
            launchers.selected(where.launch or self.current_partition.launcher_type.registered_name, where.features)
        )
        planned = submission.planned(job, where, self.prepared.granted)
        for names in planned.plan.equal:
            words = f"{self.name}: placements {', '.join(names)} put every rank of the grid on the same node"
            getlogger().warning(f"{words}: they measure the same; give others by -S placements=...")
        written = submission.write(Path(self.stagedir), planned, self._program)
        self.prerun_cmds = written.script(
            lambda launch: self._lines(launch, only_if_placed=written.only_if_placed), preparations
        )
        self.job.options += submission.options(where, self.prepared.granted)
        self.launches_in_job = len(written.job.launches)
        # The job script launches, and ReFrame's own launcher only prints how many launches ended.
        self.job.launcher = getlauncher("local")()
        self.executable = "echo"
        self.executable_opts = [str(self.launches_in_job), "launches ended"]

    def _submitted(self, launcher: Launcher) -> Submitted:
        """Return the job as it is to be submitted, with the options of ReFrame's own launcher."""
        prepared, own = self.prepared, self.job.launcher
        self.job.num_cpus_per_task = self.num_cpus_per_task
        # Only these options of ReFrame's srun are kept, because all others place the ranks.
        cpus = [word for word in own.command(self.job) if word.startswith(("--cpus-per-task=", "--export="))]
        wrapper = ""
        if prepared.where.launch:
            wrapper, cpus = launchers.wrapper_words(own.command(self.job))
        options = list(map(str, own.options))
        modifier = [own.modifier, *own.modifier_options] if getattr(own, "modifier", "") else []
        site = {
            "launcher_options": " ".join([*cpus, *options] if wrapper else options),
            "launcher_modifier": " ".join(modifier),
            "num_cpus_per_task": self.num_cpus_per_task,
        }
        noted = {name: value for name, value in site.items() if value}
        return Submitted(
            spec=dataclasses.replace(prepared.spec, parameters={**prepared.spec.parameters, **noted}),
            site=dataclasses.replace(prepared.where, launcher=launcher.name, wrapper=wrapper),
            roles=prepared.companions,
            image=prepared.carried.provenance if prepared.carried else None,
            read_by=self._read_by(),
            reframe={
                "version": rfm.VERSION,
                "session": interrupted.session(),
                "check": self.unique_name,
                **({"wrapper": wrapper, "launcher": launcher.name} if wrapper else {}),
            },
            stderr=str(self.job.stderr),
            id=uuid.uuid4().hex,
            written=provenance.state(),
            owner=interrupted.owner(),
            launcher_options=[*cpus, *options],
            launcher_modifier=modifier,
        )

    def _program(self, index: int, whose: Software) -> list[str]:
        """Return what each rank of a launch runs."""
        del whose
        return ["railyard-witness", f"launch-{index:03d}.witness", self.program_text]

    def _lines(self, launch: Planned, *, only_if_placed: bool) -> list[str]:
        """Return a launch as lines of the job script; the files that a test's own program writes are kept."""
        where, spec = self.prepared.where, self.prepared.spec
        limit_s = 0 if where.is_computed else spec.launch_limit_s
        of = len(spec.placements) * len(spec.nics) * len(spec.software) * spec.launches
        in_turn = where.makes_torus or where.cluster is not None  # railyard's own launchers wait for other launches
        lines = schedule.lines(launch, only_if_placed=only_if_placed, limit_s=limit_s, of=of, in_turn=in_turn)
        return lines if self._judges_itself() else [*lines, schedule.files_kept(launch)]

    def _read_by(self) -> dict[str, Any] | None:
        """Return what reads the program's output: here, the test's own functions."""
        return {left.REFRAME: self.prepared.spec.benchmark}

    def _make_record(self) -> None:
        """Make one record of all launches, good and bad, before anything is judged."""
        folder = Path(self.stagedir)
        self.record: Record = stagedir.keep(folder, f"the job ended as {self.job.state}")
        interrupted.recorded(folder)
        self.record_path = stagedir.record_path(folder)

    def _wrong(self) -> str:
        """Return what is wrong with the record, in one line that names its file; empty for a good one."""
        placed = submitted.read_placed(Path(self.stagedir))
        wrong = stagedir.fault(self.record, placed.cannot)
        return f"{wrong} (record: {self.record_path})" if wrong else ""


def in_own_size(commands: list[str], tasks: int, per_node: int) -> list[str]:
    """Return a test's own commands for a job of Slurm that has more nodes than the test's launches use.

    In them `srun` without options starts the test's tasks, and not some on every node of the job.
    """
    nodes = -(-tasks // per_node)
    size = {"SLURM_NTASKS": tasks, "SLURM_NNODES": nodes, "SLURM_JOB_NUM_NODES": nodes}  # srun reads them
    names = "\\|".join(size)
    return [
        f"job_size=$(export -p | grep ' \\({names}\\)=')",
        f"export {' '.join(f'{name}={value}' for name, value in size.items())}",
        *commands,
        'eval "$job_size"',
    ]


def reported(
    record: Record, foms: Mapping[str, tuple[str, str]], policies: list[str]
) -> Iterator[tuple[str, float, str]]:
    """Yield name, median and unit for ReFrame: the test's own names for the first combination, then all by side.

    `foms` has the test's name and unit for each of its FOMs. The energy that nodes counted is in the record alone.
    """
    medians: dict[str, dict[str, list[float]]] = {}
    for launch in record.launches:
        if launch.is_result:
            side = references.side(launch.placement, launch.nic_policy, launch.software, policies)
            for series in (series for series in launch.series if series.fom in foms):
                median = statistics.median(series.samples)
                medians.setdefault(side, {}).setdefault(series.fom, []).append(median)
    first = record.launches[0]
    own = references.side(record.case.placements[0], record.case.nic_policies[0], first.software, policies)
    for side, by_fom in sorted(medians.items(), key=lambda item: item[0] != own):
        for fom, samples in by_fom.items():
            name, unit = foms[fom]
            if side == own:
                yield name, statistics.median(samples), unit
            yield f"{side}/{name}", statistics.median(samples), unit
