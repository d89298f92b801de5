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
from collections.abc import Mapping, Sequence
from enum import StrEnum
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
from railyard.records.store import entries

#: Partitions of real machines, in ReFrame's syntax.
REAL = "+torus %origin=measured"

#: The ways to choose the nodes of a job on a network of groups that the study `dragonfly-placement` compares.
GROUP_PLACEMENTS = ["plain@contiguous", "plain@random:1", "plain@random-switches:1", "plain@random-groups:1"]

#: The NIC policies that LLNL's poster compares.
POSTER = ["round-robin", "nic-0", "nic-1", "local-nic"]

#: Further tags of the checks of a study: short names for people.
SHORT = {"llnl-multirail": "poster"}

#: The file of references, below the folder of checks, and what names another folder.
REFERENCES = "references/archive.yaml"
PREFIX = "RFM_REFERENCE_PREFIX"
#: Whether this ReFrame reads a file of references. With an earlier one railyard alone compares.
TAKES_FILE = tuple(map(int, VERSION.split(".")[:2])) >= (4, 10)

#: Values that mean "not set by the user", for variables where that is neither empty nor 0.
UNSET: Mapping[str, Any] = {"warmups": -1, "launches": 1}
#: Message sizes on a machine, each 16 times the one before, from 64 B to 4 MiB, and a word of 8 B.
SWEEP = [8, *(1 << power for power in range(6, 23, 4))]


class Scale(StrEnum):
    """Names of the scales: `small` for slow links, the others for real machines.

    A check names its sizes in class attributes of those names, each a mapping from variable to value. A class inherits
    the sizes of its bases and replaces what it names. A variable that was set by hand is left alone.
    """

    SMALL = "small"
    STANDARD = "standard"
    LARGE = "large"


def chosen(check: str, named: str, origin: str) -> Scale:
    """Return the scale that was named, or else that of the numbers' origin; raises InputError for an unknown name."""
    if named:
        if named not in set(Scale):
            raise InputError(check, "scale", named, ", ".join(Scale))
        return Scale(named)
    return Scale.STANDARD if origin == "measured" else Scale.SMALL


def sizes(check: type, scale: Scale) -> dict[str, Any]:
    """Return the variables of a scale, those of a class before those of its bases; `large` begins with `standard`."""
    values: dict[str, Any] = {}
    names = (Scale.STANDARD, Scale.LARGE) if scale is Scale.LARGE else (scale,)
    for base in reversed(check.__mro__):
        for name in names:
            values |= vars(base).get(str(name), {})
    return values


def is_set(name: str, value: Any) -> bool:
    """Return whether a variable was set by hand."""
    return bool(value != UNSET[name] if name in UNSET else value)


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
        if self.num_tasks not in (None, 1):
            valid = "-S nodes=N or -S grid=X,Y,Z, which give the number of ranks"
            raise InputError(self.name, "num_tasks", self.num_tasks, valid)
        self._set({"ranks_per_node": self.num_tasks_per_node or self.ranks_per_node})
        self.prepared = self._prepare()
        spec = self.prepared.spec
        # Launches too few to name a winner; a model needs no test, and a smoke check names no winner.
        count = len(spec.placements) * len(spec.nics) * len(spec.software)
        is_test = not self.prepared.where.is_computed and "smoke" not in self.tags
        if is_test and (shortage := contrast.shortage(count, spec.launches)):
            getlogger().warning(f"{self.short_name}: {shortage}; run: railyard plan {spec.check} --find 5%")
        self._set({name: job_spec.as_variable(getattr(spec, name)) for name in KNOBS})
        self._set({"num_tasks": self.prepared.ranks, "num_tasks_per_node": spec.ranks_per_node})

    def _requested(self, where: Partition) -> JobSpec:
        self._set({"torus": where.torus_for(self.tags, self.torus)})
        self.run_scale = self._scale(where)
        sized = sizes(type(self), self.run_scale).items()
        self._set({name: value for name, value in sized if not is_set(name, getattr(self, name))})
        return self._spec()

    def _spec(self) -> JobSpec:
        """Return the present values of the check's variables as a specification."""
        return JobSpec.of({name: getattr(self, name) for name in ("name", *KNOBS)})

    def _scale(self, where: Partition) -> Scale:
        return chosen(self.name, self.scale, where.origin)

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
        return {"scale": str(self.run_scale)} if sizes(type(self), self.run_scale) else {}

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
            is_located=bool(where.topology),
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
    @plainly()
    def report_foms(self) -> None:
        """Report to ReFrame the median over launches of each launch's median; the record contains the samples.

        Regressions fail, with the commit that passed last, which ReFrame's own message does not contain.
        """
        if self.is_dry_run():
            return
        from railyard.analysis.references import judging  # imported here: lists and dry runs do not need it

        foms = references.medians(entries.of_record(self.record))
        self.perf_variables = {
            name: performance_function(name.unit.text)(lambda _, v=value: v)(self) for name, value in foms.items()
        }
        folder = runtime().get_option("general/0/reference_prefix") or CHECKOUT / "checks"
        expected = references.load(Path(folder, REFERENCES))
        judged = judging.judged(type(self).__name__, self.reference_case, foms, expected)
        for line in judged.missing:
            getlogger().warning(line)
        if judged.worse:
            raise PerformanceError("; ".join(judged.worse))


class RepeatedCheck(PlacedCheck):
    """A check of one of railyard's own benchmarks, which measures every point several times in each launch."""

    #: Samples of each point in each launch.
    #: :default: by `scale`
    repeats = variable(int, value=0)

    #: Parameters of the case, by the names that `railyard/records/programs` has -> the variables with their values.
    case_of: Mapping[str, str] = {}
    #: Further variables that are parameters unless they have these values.
    case_unless: Mapping[str, Any] = {}
    #: Variables that are options but no parameters, because they do not change the work.
    unrecorded: Sequence[str] = ()

    @run_after("setup")
    def choose_options(self) -> None:
        """Make the program's options from the case's parameters."""
        self.parameters = self.case()
        self.options = self._options(**{name: getattr(self, name) for name in self.unrecorded})

    def case(self) -> dict[str, Any]:
        """Return the parameters of the case."""
        own = {name: getattr(self, variable) for name, variable in self.case_of.items()}
        others = {name: getattr(self, name) for name in self.case_unless}
        return own | {name: value for name, value in others.items() if value != self.case_unless[name]}


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
