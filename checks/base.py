"""Define the base class of all checks: one job that runs all placements in seeded random order and makes a record.

A check names what to run (`benchmark`, `options`) and on which grid. This class is the part that needs ReFrame:
variables, hooks at its stages, skips and verdicts. The job itself is in `railyard.jobs`: what a partition can give
(`request`), the files and lines of the launches (`submission`), the record (`stagedir`) and its verdict (`verdict`).
"""

from __future__ import annotations

import dataclasses
import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher
from reframe.core.builtins import performance_function, run_after, run_before, sanity_function, variable
from reframe.core.exceptions import PerformanceError, ReframeError, SanityError
from reframe.core.logging import getlogger
from reframe.core.runtime import runtime

from analysis.stats import ranktest
from checks import scales
from checks.knobs import KNOBS, Knobs
from placements import launchers
from placements.launchers import Launcher
from placements.orders.allocation import Allocation
from placements.topology.base import Topology
from railyard.base.checkout import CHECKOUT
from railyard.base.errors import InputError, RunError
from railyard.jobs import complaints, interrupted, schedule, stagedir, submission, verdict
from railyard.jobs import image as images
from railyard.jobs.job import request, submitted
from railyard.jobs.job import spec as job_spec
from railyard.jobs.job.spec import JobSpec
from railyard.jobs.job.submitted import Planned, Submitted
from railyard.jobs.partition import Partition
from railyard.jobs.roles import Roles
from railyard.records import provenance, references, units, watched
from railyard.records.record import Record, Software
from railyard.torus.simulated import smpi

#: reframe.yml uses this variable in job scripts, because ReFrame may run in any folder.
os.environ.setdefault("RAILYARD_CHECKOUT", str(CHECKOUT))

#: Partitions of real machines, in ReFrame's syntax.
REAL = "+torus %origin=measured"

#: The ways to choose the nodes of a job on a network of groups that the study `dragonfly-placement` compares.
GROUP_PLACEMENTS = ["plain@contiguous", "plain@random:1", "plain@random-switches:1", "plain@random-groups:1"]

#: Further tags of the checks of a study: short names for people.
SHORT = {"llnl-multirail": "poster"}

#: The file of references, below the folder of checks, and what names another folder.
REFERENCES = "references/archive.yaml"
PREFIX = "RFM_REFERENCE_PREFIX"


@contextmanager
def plainly() -> Iterator[None]:
    """Turn bad input into ReFrame's own error, whose report shows the one line and no traceback."""
    try:
        yield
    except (InputError, RunError) as error:
        raise ReframeError(str(error)) from None  # ReFrame would print the cause's line again


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """What a check and its partition determine before anything is written.

    `is_scaled`: the check has sizes by scale, so its scale is a parameter. `carried` is the image that launches run
    from, `companions` are the programs that run with it. `granted` are the nodes, or as many of the same kind.
    """

    where: Partition
    scale: scales.Scale
    is_scaled: bool
    carried: images.Carried | None
    companions: Roles | None
    granted: Allocation

    @property
    def topology(self) -> Topology:
        """Return the topology of the nodes."""
        return self.granted.topology


class PlacedCheck(Knobs):
    """A benchmark under several placements, in one job on one allocation."""

    valid_systems = ["+torus"]
    valid_prog_environs = ["+mpi"]
    sourcesdir = None
    exclusive_access = True

    #: References from the archive; `railyard references update` writes the file. The path is absolute, so that a check
    #: in a site's own folder finds it, too, or below ReFrame's reference prefix if there is one.
    reference = {"$ref": REFERENCES if os.environ.get(PREFIX) else str(CHECKOUT / "checks" / REFERENCES)}

    #: Case of the references that the run is compared with; set when the record is made.
    #:
    #: :type: :class:`str`
    #: :default: ``''`` (none)
    reference_case = variable(str, value="")

    #: Digest of the run's record, whose id is its first 12 digits. It leads from a line of a perflog to the record.
    #:
    #: :type: :class:`str`
    #: :default: ``''`` (none)
    record_sha256 = variable(str, value="")

    @run_after("init")
    def tag_studies(self) -> None:
        self.tags |= set(self.studies) | {SHORT[name] for name in self.studies if name in SHORT}

    @run_after("init")
    def save_records_of_a_pipeline(self) -> None:
        """Name the archive's folder of this system as an artefact of the job that `--ci-generate` writes."""
        project = os.environ.get("CI_PROJECT_DIR") or Path.cwd()
        records = os.path.relpath(Path(self.archive, self.current_system.name).absolute(), project)
        self.ci_extras = {"gitlab": {"artifacts": {"paths": [f"{records}/"], "when": "always"}}}

    @run_before("setup")
    @plainly()
    def keep_what_was_left(self) -> None:
        """Record jobs that a killed ReFrame left in this check's stage directories, which a dry run empties, too."""
        left = Path(runtime().stage_prefix, self.current_system.name)
        interrupted.keep_left_behind(path.parent for path in left.glob(f"*/*/{self.short_name}/job.json"))

    @run_after("setup")
    @plainly()
    def prepare(self) -> None:
        """Derive the job from check and partition; skip, in one line, if nothing can be measured."""
        where = self._partition()
        self._skip_for(where.missing())
        self._set({"torus": where.torus_for(self.tags, self.torus)})
        scale = self._scale(where)
        is_scaled = bool(scales.sizes(type(self), scale))
        self._set(scales.chosen_values(self, scale))
        spec = request.for_partition(self._spec(), where)
        self._skip_for(smpi.missing() if where.origin == "simulated" else "")
        self._skip_for(request.programs_lacking(spec, where))
        self._skip_for(request.loads_lacking(spec, where))
        spec, companions = request.with_loads(spec, where)
        software, carried = self._opened(spec, where)
        spec = self._fitted(dataclasses.replace(spec, software=software), where)
        granted = request.allocation(spec, where)
        grid = spec.grid or tuple(request.whole_grid(spec, where, granted, companions))
        spec = dataclasses.replace(spec, grid=grid)
        request.check_size(spec, where, len(granted.indices))
        self._warn_of_few_launches(spec, where)
        self._set({name: job_spec.as_variable(getattr(spec, name)) for name in KNOBS})
        self.num_tasks = len(granted.indices) * spec.ranks_per_node
        self.num_tasks_per_node = spec.ranks_per_node
        self.prepared = Prepared(
            where=where,
            scale=scale,
            is_scaled=is_scaled,
            carried=carried,
            companions=companions,
            granted=granted,
        )

    def _spec(self) -> JobSpec:
        """Return the present values of the check's variables as a specification."""
        return JobSpec.of({name: getattr(self, name) for name in ("name", *KNOBS)})

    def _set(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            setattr(self, name, value)

    def _skip_for(self, reason: str) -> None:
        if reason:
            self.skip(reason)

    def _partition(self) -> Partition:
        partition, environ = self.current_partition, self.current_environ
        return Partition.read(
            partition.fullname,
            partition.scheduler.registered_name,
            partition.extras,
            os.environ,
            environment=environ.name,
            features=environ.features,
            lacks=environ.extras.get("lacks", []),
        )

    def _scale(self, where: Partition) -> scales.Scale:
        return scales.chosen(self.name, self.scale, where.origin)

    def _opened(self, spec: JobSpec, where: Partition) -> tuple[tuple[Software, ...], images.Carried | None]:
        """Return whose programs to launch, and the image; skip if it is missing or cannot be run here."""
        name = self._image_file()
        chosen = tuple(images.software(spec.name, spec.software, name))
        if Software.IMAGE not in chosen:
            return chosen, None
        file = Path(name).expanduser()
        self._skip_for(images.missing(file, where.features) or where.no_place_for_images)
        return chosen, images.carried(file, spec.host_mpi, where.features)

    def _image_file(self) -> str:
        """Return the path of the image to run from; empty for none."""
        return str(self.image)

    def _fitted(self, spec: JobSpec, where: Partition) -> JobSpec:
        """Return the part of a request that this machine can do, with a warning for each other part; skip if empty."""
        if counts := spec.no_launch:
            raise InputError(
                spec.name, "placements, nics, launches", problem=counts, valid="at least one of each"
            )
        processor = self.current_partition.processor
        self._skip_for(request.lacking(spec, where, int(processor.num_cpus or 0) if processor else 0))
        fitted = request.fitted(spec, where)
        for name, reason in fitted.left_out.items():
            getlogger().warning(f"{self.short_name}: {name} is left out on {where.fullname}: {reason}")
        self._skip_for(fitted.nothing_left)
        return fitted.request

    def _warn_of_few_launches(self, spec: JobSpec, where: Partition) -> None:
        """Warn before the run of launches too few to name a winner; a model needs no test, a smoke check no winner."""
        count = len(spec.placements) * len(spec.nics) * len(spec.software)
        if where.is_computed or "smoke" in self.tags:
            return
        if shortage := ranktest.shortage(count, spec.launches):
            getlogger().warning(f"{self.short_name}: {shortage}; run: railyard plan {spec.check} --find 5%")

    def _is_simulated(self) -> bool:
        return self.prepared.where.origin == "simulated"

    @run_before("run")
    @plainly()
    def write_job(self) -> None:
        """Write the files that the launches read, and the lines of the job script."""
        where = self.prepared.where
        job = self._submitted(
            launchers.selected(self.current_partition.launcher_type.registered_name, where.features)
        )
        planned = submission.planned(job, where, self.prepared.granted)
        for names in planned.plan.equal:
            words = f"{self.name}: placements {', '.join(names)} put every rank of the grid on the same node"
            getlogger().warning(f"{words}: they measure the same; give others by -S placements=...")
        script = submission.write(Path(self.stagedir), planned, self._program)
        lines = script.words(
            lambda launch: self._lines(launch, only_if_placed=script.only_if_placed), self.preparations
        )
        self.prerun_cmds = lines
        self.job.options += planned.options
        self._launch_locally(len(script.launches))

    def _launch_locally(self, launches: int) -> None:
        """Let the job script launch, so that ReFrame's own launcher only prints how many launches ended."""
        self.job.launcher = getlauncher("local")()
        self.executable = "echo"
        self.executable_opts = [str(launches), "launches ended"]

    def _submitted(self, launcher: Launcher) -> Submitted:
        """Return the job as it is to be submitted."""
        prepared, spec = self.prepared, self._spec()
        scale = {"scale": str(prepared.scale)} if prepared.is_scaled else {}
        return Submitted(
            spec=dataclasses.replace(spec, parameters={**scale, **spec.parameters}),
            site=dataclasses.replace(prepared.where, launcher=launcher.name),
            roles=prepared.companions,
            image=prepared.carried.provenance if prepared.carried else None,
            read_by=self._read_by(),
            reframe={"version": rfm.VERSION, "session": interrupted.session(), "check": self.unique_name},
            stderr=str(self.job.stderr),
            id=uuid.uuid4().hex,
            written=provenance.state(),
            owner=interrupted.owner(),
        )

    def _program(self, index: int, whose: Software) -> list[str]:
        """Return what each rank of a launch runs."""
        own = [self.benchmark, *self.options, "--json", f"launch-{index:03d}.json"]
        carried = self.prepared.carried
        return [*carried.command, *own] if carried and whose is Software.IMAGE else own

    def _lines(self, launch: Planned, *, only_if_placed: bool) -> list[str]:
        """Return a launch as lines of the job script."""
        limit_s = 0 if self.prepared.where.is_computed else self.launch_limit_s
        return schedule.lines(launch, only_if_placed=only_if_placed, limit_s=limit_s)

    def _read_by(self) -> dict[str, Any] | None:
        """Return the patterns that read the program's output; None for a program with a parser."""
        return None

    @run_before("run")
    def open_the_record(self) -> None:
        """List the job before it runs, so that a job which times out has a record, too."""
        if not self.is_dry_run():
            interrupted.submitted(Path(self.stagedir), lambda: str(self.job.state))

    @run_before("sanity")
    @plainly()
    def write_record(self) -> None:
        """Make one record of all launches, good and bad, before anything is judged."""
        if self.is_dry_run():
            return
        folder = Path(self.stagedir)
        if stagedir.torus_of(folder) is None and self.prepared.where.origin == "emulated":
            interrupted.recorded(folder)
            raise SanityError(f"the job had no torus: {complaints.first(folder / str(self.job.stderr))}")
        self.record: Record = stagedir.keep(folder, f"the job ended as {self.job.state}")
        interrupted.recorded(folder)
        self.record_path, self.record_sha256 = stagedir.record_path(folder), self.record.sha256
        self.reference_case = references.case_name(self.record)

    @sanity_function
    def every_launch_is_good(self) -> Any:
        """Fail unless every launch has verified data, exit status 0, every rank on its node, and a sound guard."""
        if self.is_dry_run():
            return True
        placed = submitted.read_placed(Path(self.stagedir))
        wrong = verdict.fault(self.record, placed.cannot if placed else ())
        return sn.assert_eq(wrong, "", msg=f"{wrong} (record: {self.record_path})")

    @run_before("performance")
    def report_foms(self) -> None:
        """Report to ReFrame the median over launches of each launch's median; the record contains the samples."""
        if self.is_dry_run():
            return
        self.perf_variables = {
            name: performance_function(units.unit_of(watched.figure(name)).text)(lambda _, v=value: v)(self)
            for name, value in self._foms().items()
        }

    @run_before("performance")
    @plainly()
    def name_regressions(self) -> None:
        """Fail for regressions, naming the commit that passed last, which ReFrame's own message does not contain."""
        if self.is_dry_run():
            return
        folder = runtime().get_option("general/0/reference_prefix") or CHECKOUT / "checks"
        expected = references.load(Path(folder, REFERENCES))
        judged = references.judged(type(self).__name__, self.reference_case, self._foms(), expected)
        for line in judged.missing:
            getlogger().warning(line)
        if judged.worse:
            raise PerformanceError("; ".join(judged.worse))

    def _foms(self) -> dict[str, float]:
        return references.values(self.record, self.nics)
