"""Define the base class of all checks: one job that runs all placements in seeded random order and makes a record.

A check names what to run (`benchmark`, `options`) and on which grid. The job and its record are those of the mixin
`railyard.Placed`. This class adds what railyard's own programs have: sizes by scale, an image, JSON output that gives
the figures, and references from the archive.
"""

from __future__ import annotations

import dataclasses
import math
import os
import types
from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe import VERSION
from reframe.core.builtins import performance_function, run_after, run_before, sanity_function, variable
from reframe.core.exceptions import PerformanceError
from reframe.core.logging import getlogger
from reframe.core.runtime import runtime

from checks import scales
from railyard.analysis.stats import contrast
from railyard.base.checkout import CHECKOUT
from railyard.base.errors import InputError
from railyard.jobs import image as images
from railyard.jobs.job import spec as job_spec
from railyard.jobs.job.spec import JobSpec
from railyard.jobs.partition import Partition
from railyard.placed.mixin import Placed, plainly, warn_of_features
from railyard.placed.variables import define_others
from railyard.records import programs, references
from railyard.records.record import Software
from railyard.records.units import Fom

#: Partitions of real machines, in ReFrame's syntax.
REAL = "+torus %origin=measured"

#: The ways to choose the nodes of a job on a network of groups that the study `dragonfly-placement` compares.
GROUP_PLACEMENTS = ["plain@contiguous", "plain@random:1", "plain@random-switches:1", "plain@random-groups:1"]

#: Further tags of the checks of a study: short names for people.
SHORT = {"llnl-multirail": "poster"}

#: The file of references, below the folder of checks, and what names another folder.
REFERENCES = "references/archive.yaml"
PREFIX = "RFM_REFERENCE_PREFIX"
#: Whether this ReFrame reads a file of references. With an earlier one railyard alone compares.
TAKES_FILE = tuple(map(int, VERSION.split(".")[:2])) >= (4, 10)

warn_of_features()
KNOBS = tuple(name for name, _, _ in job_spec.variables())
#: The variables of every check: those of the mixin, and the other fields of a job.
Knobs: Any = types.new_class("Knobs", (rfm.RunOnlyRegressionTest, Placed), exec_body=define_others)


class PlacedCheck(Knobs):
    """A benchmark under several placements, in one job on one allocation."""

    valid_systems = ["+torus"]
    valid_prog_environs = ["+mpi"]
    sourcesdir = None
    exclusive_access = True
    maintainers = ["railyard"]
    placements = ["plain", "cart-create", "custom"]

    #: References from the archive; `railyard references update` writes the file. The path is absolute, so that a check
    #: in a site's own folder finds it, too, or below ReFrame's reference prefix if there is one.
    if TAKES_FILE:
        reference = {"$ref": REFERENCES if os.environ.get(PREFIX) else str(CHECKOUT / "checks" / REFERENCES)}

    #: Case of the references that the run is compared with; set when the record is made.
    #: :default: ``''`` (none)
    reference_case = variable(str, value="")

    #: Digest of the run's record, whose id is its first 12 digits. It leads from a line of a perflog to the record.
    #: :default: ``''`` (none)
    record_sha256 = variable(str, value="")

    @run_after("init")
    def tag_studies(self) -> None:
        self.tags |= {"study"} if self.studies else set()
        self.tags |= set(self.studies) | {SHORT[name] for name in self.studies if name in SHORT}

    @run_after("init")
    def save_records_of_a_pipeline(self) -> None:
        """Name the archive's folder of this system as an artefact of the job that `--ci-generate` writes."""
        project = os.environ.get("CI_PROJECT_DIR") or Path.cwd()
        records = os.path.relpath(Path(self.archive, self.current_system.name).absolute(), project)
        self.ci_extras = {"gitlab": {"artifacts": {"paths": [f"{records}/"], "when": "always"}}}

    @run_after("init", always_last=True)
    def tag_size(self) -> None:
        """Tag the check with its number of nodes, where its own grid gives it."""
        if self.grid:
            self.tags |= {f"{-(-math.prod(self.grid) // self.ranks_per_node)}_nodes"}

    @run_after("setup")
    @plainly()
    def prepare(self) -> None:
        """Derive the job from check and partition; skip, in one line, if nothing can be measured."""
        self.refuse_tasks()
        self.prepared = self._prepare()
        spec = self.prepared.spec
        self._warn_of_few_launches(spec, self.prepared.where)
        self._set({name: job_spec.as_variable(getattr(spec, name)) for name in KNOBS})
        self.num_tasks, self.num_tasks_per_node = self.prepared.ranks, spec.ranks_per_node

    def refuse_tasks(self) -> None:
        """Take `num_tasks_per_node` as `ranks_per_node`; raise InputError for a number of tasks: the grid has it."""
        if self.num_tasks not in (None, 1):
            valid = "-S nodes=N or -S grid=X,Y,Z, which give the number of ranks"
            raise InputError(self.name, "num_tasks", self.num_tasks, valid)
        if self.num_tasks_per_node:
            self.ranks_per_node = self.num_tasks_per_node

    def _requested(self, where: Partition) -> JobSpec:
        self._set({"torus": where.torus_for(self.tags, self.torus)})
        self.run_scale = self._scale(where)
        self._set(scales.chosen_values(self, self.run_scale))
        return self._spec()

    def _spec(self) -> JobSpec:
        """Return the present values of the check's variables as a specification."""
        return JobSpec.of({name: getattr(self, name) for name in ("name", *KNOBS)})

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

    def _warn_of_few_launches(self, spec: JobSpec, where: Partition) -> None:
        """Warn before the run of launches too few to name a winner; a model needs no test, a smoke check no winner."""
        count = len(spec.placements) * len(spec.nics) * len(spec.software)
        if where.is_computed or "smoke" in self.tags:
            return
        if shortage := contrast.shortage(count, spec.launches):
            getlogger().warning(f"{self.short_name}: {shortage}; run: railyard plan {spec.check} --find 5%")

    def _is_simulated(self) -> bool:
        return self.prepared.where.origin == "simulated"

    def _write_job(self) -> None:
        """Take the options that hooks of the check chose since the job was prepared."""
        spec = self._spec()
        spec = dataclasses.replace(spec, parameters={**self._scale_parameter(), **spec.parameters})
        self.prepared = dataclasses.replace(self.prepared, spec=spec)
        self._write_launches([*self.preparations, *self.prerun_cmds])

    def _scale_parameter(self) -> dict[str, str]:
        """Return the scale as a parameter, if the check has sizes by scale."""
        return {"scale": str(self.run_scale)} if scales.sizes(type(self), self.run_scale) else {}

    def _program(self, index: int, whose: Software) -> list[str]:
        """Return what each rank of a launch runs."""
        own = [self.benchmark, *self.options, "--json", f"launch-{index:03d}.json"]
        carried = self.prepared.carried
        return [*carried.command, *own] if carried and whose is Software.IMAGE else own

    def _options(self, **unrecorded: float) -> list[str]:
        """Return the options of railyard's own benchmark from the parameters, as the strict check makes them again.

        `unrecorded` are numbers that are not parameters because they do not change the work.
        """
        where = self.prepared.where
        given = programs.Given(
            parameters={**self._scale_parameter(), **self.parameters},
            is_located=where.knows_coordinates,
            is_emulated=where.origin == "emulated",
            unrecorded=unrecorded,
        )
        return programs.options(self.benchmark, given)

    def _read_by(self) -> dict[str, Any] | None:
        """Return the patterns that read the program's output; None for a program with a parser."""
        return None

    def _judges_itself(self) -> bool:
        return True

    def _make_record(self) -> None:
        super()._make_record()
        self.record_sha256, self.reference_case = self.record.sha256, references.case_name(self.record)

    @sanity_function
    def every_launch_is_good(self) -> Any:
        """Fail unless every launch has verified data, exit status 0, every rank on its node, and a sound guard."""
        if self.is_dry_run():
            return True
        wrong = self._wrong()
        return sn.assert_eq(wrong, "", msg=wrong)

    @run_before("performance")
    def report_foms(self) -> None:
        """Report to ReFrame the median over launches of each launch's median; the record contains the samples."""
        if self.is_dry_run():
            return
        self.perf_variables = {
            name: performance_function(name.unit.text)(lambda _, v=value: v)(self)
            for name, value in self._foms().items()
        }

    @run_before("performance")
    @plainly()
    def name_regressions(self) -> None:
        """Fail for regressions, naming the commit that passed last, which ReFrame's own message does not contain."""
        if self.is_dry_run():
            return
        from railyard.analysis.references import judging  # imported here: lists and dry runs do not need it

        folder = runtime().get_option("general/0/reference_prefix") or CHECKOUT / "checks"
        expected = references.load(Path(folder, REFERENCES))
        judged = judging.judged(type(self).__name__, self.reference_case, self._foms(), expected)
        for line in judged.missing:
            getlogger().warning(line)
        if judged.worse:
            raise PerformanceError("; ".join(judged.worse))

    def _foms(self) -> dict[Fom, float]:
        return references.values(self.record, self.record.case.nic_policies)


class RepeatedCheck(PlacedCheck):
    """A check of one of railyard's own benchmarks, which measures every point several times in each launch."""

    #: Samples of each point in each launch.
    #: :default: by `scale`
    repeats = variable(int, value=0)

    @run_after("setup")
    def choose_options(self) -> None:
        """Make the program's options from the case's parameters."""
        self.parameters = self.case()
        self.options = self._options(**self.unrecorded())

    def case(self) -> dict[str, Any]:
        """Return the parameters of the case, by the names that `railyard/records/programs` has."""
        raise NotImplementedError

    def unrecorded(self) -> dict[str, float]:
        """Return the numbers that are options but no parameters, because they do not change the work."""
        return {}


class SizedCheck(RepeatedCheck):
    """A check of messages of several sizes."""

    #: Message sizes in bytes.
    #: :default: by `scale`
    sizes = variable(typ.List[int], value=[])


class WindowCheck(SizedCheck):
    """A check of several messages at a time."""

    #: Messages in flight for bandwidth.
    #: :default: by `scale`
    window = variable(int, value=0)
