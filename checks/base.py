"""What every check of this suite does: one job, all placements in seeded random order, evidence, a record.

A check names what to run (`benchmark`, `options`) and on which grid. This class is its face towards ReFrame: variables,
hooks at ReFrame's stages, skips and verdicts. What a job is, is in `railyard.jobs`: what a partition can give
(`request`), the files and lines of the launches (`submission`), the record (`stagedir`) and its verdict (`verdict`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.backends import getlauncher
from reframe.core.builtins import performance_function, run_after, run_before, sanity_function, variable
from reframe.core.exceptions import PerformanceError, ReframeError, SanityError
from reframe.core.logging import getlogger
from reframe.core.runtime import runtime

from checks import scales
from placements import launchers
from placements.orders.allocation import Allocation
from placements.topology.base import Topology
from railyard.checkout import CHECKOUT
from railyard.errors import InputError, RunError
from railyard.jobs import image as images
from railyard.jobs import interrupted, request, roles, schedule, stagedir, submission, verdict
from railyard.jobs.partition import Partition
from railyard.jobs.request import Request
from railyard.jobs.roles import Roles
from railyard.jobs.stagedir import Planned
from railyard.jobs.submission import Submission, Surroundings
from railyard.records import assemble, references, units
from railyard.records.record import Record, Software
from railyard.records.store import challenge as challenges
from railyard.torus.simulated import smpi

#: For the lines of reframe.yml in job scripts: ReFrame may run in any folder.
os.environ.setdefault("RAILYARD_CHECKOUT", str(CHECKOUT))

#: ReFrame's word for partitions of real machines.
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
    """Bad input as ReFrame's own error: its report then shows the one line, not our source code."""
    try:
        yield
    except (InputError, RunError) as error:
        raise ReframeError(str(error)) from None  # ReFrame would print the cause's line again


def loaded_quickly(check: type[rfm.RunOnlyRegressionTest]) -> type[rfm.RunOnlyRegressionTest]:
    """Take ReFrame's deprecated name of `env_vars` from a class of checks and those below it.

    ReFrame 4.10 reads that name for every check that it loads, and looks each time for the line of source to warn
    about, to then suppress the warning: a quarter of the processor time of `reframe -l`.
    """
    space = getattr(check, "_rfm_var_space", None)
    getattr(space, "_namespace", {}).pop("variables", None)
    return check


@loaded_quickly
class PlacedCheck(rfm.RunOnlyRegressionTest):
    """A benchmark under several placements, in one job on one allocation."""

    valid_systems = ["+torus"]
    valid_prog_environs = ["+mpi"]
    sourcesdir = None
    exclusive_access = True

    #: Whether the benchmark cannot run without its nodes' coordinates.
    #:
    #: :type: :class:`bool`
    #: :default: ``False``
    needs_coordinates = variable(bool, value=False)

    #: The benchmark program, which must be on the PATH.
    #:
    #: :type: :class:`str`
    #: :default: required
    benchmark = variable(str)

    #: Its options, `--json` excepted.
    #:
    #: :type: :class:`List[str]`
    #: :default: ``[]``
    options = variable(typ.List[str], value=[])

    #: The parameters that make up the case in the record, as the benchmark's own output names them.
    #:
    #: :type: :class:`Dict[str, object]`
    #: :default: ``{}``
    parameters = variable(dict, value={})

    #: Placements to compare, by name: ORDER[:ARGUMENT][@CHOICE[:SEED]][/BINDING] (docs/placements.md).
    #:
    #: :type: :class:`List[str]`
    #: :default: ``['plain', 'cart-create', 'custom']``
    placements = variable(typ.List[str], value=["plain", "cart-create", "custom"])

    #: NIC policies to compare: round-robin, nic-K, local-nic, stripe, library-default.
    #:
    #: :type: :class:`List[str]`
    #: :default: ``['library-default']``
    nics = variable(typ.List[str], value=["library-default"])

    #: Image to run the benchmark from: a SIF file, or a folder; empty for the machine's own programs.
    #:
    #: :type: :class:`str`
    #: :default: ``''``
    image = variable(str, value="")

    #: Whose programs to launch: native, image, or both to compare them in one job.
    #:
    #: :type: :class:`List[str]`
    #: :default: ``['image']`` where there is an image, otherwise ``['native']``
    software = variable(typ.List[str], value=[])

    #: Folder with the machine's MPI that takes the place of the image's (the bind model); empty for the image's own.
    #:
    #: :type: :class:`str`
    #: :default: ``''``
    host_mpi = variable(str, value="")

    #: Launches of each combination; the launch is the sample unit, and fewer than 6 give no 95 % interval.
    #:
    #: :type: :class:`int`
    #: :default: ``6``
    launches = variable(int, value=6)

    #: Order in which the scheduler grants the nodes: snake, snake-8x8x8, contiguous, random, axes.
    #:
    #: :type: :class:`str`
    #: :default: ``'snake'``
    allocation = variable(str, value="snake")

    #: Routers of the allocation along X, Y and Z, from 0,0,0; empty for the whole torus.
    #:
    #: :type: :class:`List[int]`
    #: :default: ``[]``
    block = variable(typ.List[int], value=[])

    #: Nodes of the allocation along X, Y (both nodes of a router) and Z, from 0,0,0; empty for all of the block.
    #:
    #: :type: :class:`List[int]`
    #: :default: ``[]``
    cube = variable(typ.List[int], value=[])

    #: Nodes to ask the scheduler for, where it chooses them and no block is given; 0 for the partition's `nodes`.
    #:
    #: :type: :class:`int`
    #: :default: ``0``
    nodes = variable(int, value=0)

    #: Topology to bring up where the job makes a virtual torus of its own; empty for the partition's.
    #:
    #: :type: :class:`str`
    #: :default: ``''``
    torus = variable(str, value="")

    #: What carries the packets of the virtual torus that the job brings up; empty for the partition's choice.
    #:
    #: :type: :class:`str`
    #: :default: ``''``
    network = variable(str, value="")

    #: Rate scale of the virtual torus that the job brings up, where RAILYARD_RATE_SCALE is not set; empty for `auto`.
    #:
    #: :type: :class:`str`
    #: :default: ``''``
    rate_scale = variable(str, value="")

    #: Ranks on each node; those of a node are consecutive slots.
    #:
    #: :type: :class:`int`
    #: :default: ``1``
    ranks_per_node = variable(int, value=1)

    #: Process grid; empty for all slots of the allocation.
    #:
    #: :type: :class:`List[int]`
    #: :default: ``[]``
    grid = variable(typ.List[int], value=[])

    #: What the benchmark needs of an environment beyond plain MPI: an MPI call, or `NIC counters`. Where the
    #: environment's `lacks` names one, the check is skipped.
    #:
    #: :type: :class:`List[str]`
    #: :default: ``[]``
    needs = variable(typ.List[str], value=[])

    #: Lines of the job script before the first launch.
    #:
    #: :type: :class:`List[str]`
    #: :default: ``[]``
    preparations = variable(typ.List[str], value=[])

    #: Seconds after which a launch is ended, marked as failed, and the next one begins; 0 for no limit.
    #:
    #: :type: :class:`int`
    #: :default: ``600``
    launch_limit_s = variable(int, value=600)

    #: Sizes of the run: small, standard or large; empty for standard on a machine and small elsewhere.
    #:
    #: :type: :class:`str`
    #: :default: ``''``
    scale = variable(str, value="")

    #: Variables that differ on a real machine: name -> value where it is computed or emulated, value where it is
    #: measured. One that was set by hand to something else is left alone.
    #:
    #: :type: :class:`Dict[str, tuple]`
    #: :default: ``{}``
    on_a_real_machine = variable(dict, value={})

    #: Loads to measure under besides alone: incast, alltoall, broadcast, allreduce, permutation, several at once with a
    #: full stop between (incast.alltoall), program, or copies (docs/congestion.md). Empty: alone.
    #:
    #: :type: :class:`List[str]`
    #: :default: ``[]``
    loads = variable(typ.List[str], value=[])

    #: Which nodes the measured program gets where there are loads: contiguous, interleaved, by-router, by-group,
    #: random:SEED, nodes:LIST (their numbers in the allocation, a comma between).
    #:
    #: :type: :class:`str`
    #: :default: ``'interleaved'``
    split = variable(str, value="interleaved")

    #: Nodes of the measured program where there are loads; 0 for half of the job's.
    #:
    #: :type: :class:`int`
    #: :default: ``0``
    victim_nodes = variable(int, value=0)

    #: Command line of the load `program`, which is started again until the measured program has ended.
    #:
    #: :type: :class:`str`
    #: :default: ``''``
    load_program = variable(str, value="")

    #: Seed of the order of launches, of random allocations and of random placements.
    #:
    #: :type: :class:`int`
    #: :default: ``1``
    seed = variable(int, value=1)

    #: The buyer's challenge of a tender, which decides the seed; empty for none (docs/tender.md).
    #:
    #: :type: :class:`str`
    #: :default: ``''``
    challenge = variable(str, value="")

    #: The studies that this check belongs to; each is a tag, too.
    #:
    #: :type: :class:`List[str]`
    #: :default: ``[]``
    studies = variable(typ.List[str], value=[])

    #: Folder of the archive that the record is added to.
    #:
    #: :type: :class:`str`
    #: :default: ``results`` in the checkout
    archive = variable(str, value=str(CHECKOUT / "results"))

    #: References from the archive; `railyard references update` writes the file. By its whole path, so that a check in
    #: a folder of a site's own finds it, too; below ReFrame's reference prefix, where there is one.
    reference = {"$ref": REFERENCES if os.environ.get(PREFIX) else str(CHECKOUT / "checks" / REFERENCES)}

    #: Case of the references that the run is compared with; known once the record is.
    #:
    #: :type: :class:`str`
    #: :default: ``''`` (none)
    reference_case = variable(str, value="")

    @run_after("init")
    def tag_studies(self) -> None:
        self.tags |= set(self.studies) | {SHORT[name] for name in self.studies if name in SHORT}

    @run_before("setup")
    @plainly()
    def keep_what_was_left(self) -> None:
        """Record what a killed ReFrame left in this check's stage directories, before they are emptied."""
        if not self.is_dry_run():
            left = Path(runtime().stage_prefix, self.current_system.name)
            interrupted.keep_left_behind(path.parent for path in left.glob(f"*/*/{self.short_name}/job.json"))

    @run_after("setup")
    @plainly()
    def seed_from_challenge(self) -> None:
        self.seed = challenges.seed_of(self.challenge, self.name.split(" ")[0], self.seed)

    @run_after("setup")
    @plainly()
    def need_the_partition(self) -> None:
        """Skip where the partition's nodes are of an image or a cluster that is not there."""
        partition = self.current_partition
        self.where = Partition.read(
            partition.fullname, partition.scheduler.registered_name, partition.extras, os.environ
        )
        if reason := self.where.missing():
            self.skip(reason)
        self.torus = self.where.torus_for(self.tags, self.torus)
        for name, (elsewhere, measured) in self.on_a_real_machine.items():
            if self.where.origin == "measured" and getattr(self, name) == elsewhere:
                setattr(self, name, measured)

    @run_after("setup")
    @plainly()
    def choose_scale(self) -> None:
        """Give each variable that was not set by hand the value of the scale (checks/scales.py)."""
        self.chosen_scale = self._scale()
        self.scaled = scales.sizes(type(self), self.chosen_scale)
        for name, value in self.scaled.items():
            if not scales.is_set(name, getattr(self, name)):
                setattr(self, name, value)

    def _scale(self) -> scales.Scale:
        return scales.chosen(self.name, self.scale, self.where.origin)

    @run_after("setup")
    def need_the_simulator(self) -> None:
        """What is computed repeats bit for bit: one launch of each combination says all. Without SimGrid, skip."""
        if not self.where.is_computed:
            return
        if self._is_simulated() and (reason := smpi.missing()):
            self.skip(reason)
        self.launches = min(self.launches, 1)

    @run_after("setup")
    def need_what_the_environment_has(self) -> None:
        """Skip with the first thing that the benchmark needs and the environment lacks."""
        lacks = self.current_environ.extras.get("lacks", [])
        for name in [*self.needs, *self.nics]:
            if name in lacks:
                self.skip(f"{self.current_environ.name} lacks {name}, which {self.benchmark} needs here")

    @run_after("setup")
    @plainly()
    def add_loads(self) -> None:
        """Launch each placement alone and under every load; skip where launches are computed one program at a time."""
        self.roles: Roles | None = None
        if not self.loads:
            return
        if self.where.is_computed:
            self.skip(
                f"{self.where.fullname} computes one program at a time, and {self.short_name} needs several"
            )
        self.roles = roles.chosen(
            self.name,
            self.loads,
            self.split,
            self.victim_nodes,
            on_a_machine=self.where.origin == "measured",
            program=self.load_program,
        )
        loaded = [f"{name}+{load}" for name in self.placements for load in self.loads]
        self.placements = [*self.placements, *loaded]

    def _is_simulated(self) -> bool:
        return self.where.origin == "simulated"

    @run_after("setup")
    @plainly()
    def open_image(self) -> None:
        """Skip, in one line, where launches are to run from an image that is not there or cannot be run here."""
        named = self._image_file()
        self.chosen = images.software(self.name, self.software, named)
        self.carried: images.Carried | None = None
        if Software.IMAGE not in self.chosen:
            return
        file = Path(named).expanduser()
        if reason := images.missing(file, self.current_environ.features) or self._no_place_for_images():
            self.skip(reason)
        self.carried = images.carried(file, self.host_mpi, self.current_environ.features)

    def _image_file(self) -> str:
        """The image to run from, empty for none."""
        return self.image

    def _no_place_for_images(self) -> str:
        """Why the partition cannot run anything from an image; empty where it can."""
        where = self.where
        if where.is_computed:
            return f"{where.fullname} computes its launches: nothing runs there, from an image or not"
        return f"nodes of {where.fullname} are images already ({where.image})" if where.image else ""

    @run_after("setup")
    @plainly()
    def place_ranks(self) -> None:
        """Compute every placement; bad input skips nothing: it fails the check with its one line."""
        request.refuse_nothing(self._request())
        self._fit_to_the_machine()
        self.granted: Allocation = request.allocation(self._request(), self.where)
        self.topology: Topology = self.granted.topology
        self.grid = self.grid or request.whole_grid(self._request(), self.where, self.granted)
        self.num_tasks = len(self.granted.indices) * self.ranks_per_node
        self.num_tasks_per_node = self.ranks_per_node

    def _fit_to_the_machine(self) -> None:
        """Skip what this machine can never do; leave out the rest of that kind, in a line for each."""
        processor = self.current_partition.processor
        cpus = int(processor.num_cpus or 0) if processor else 0
        if reason := request.lacking(self._request(), self.where, cpus):
            self.skip(reason)
        fitted = request.fitted(self._request(), self.where, self.current_environ.features)
        for name, reason in fitted.left_out.items():
            getlogger().warning(f"{self.short_name}: {name} is left out on {self.where.fullname}: {reason}")
        if fitted.nothing_left:
            self.skip(fitted.nothing_left)
        self.placements, self.nics = list(fitted.placements), list(fitted.nics)
        self.block, self.cube = list(fitted.block), list(fitted.cube)

    def _request(self) -> Request:
        """Return the variables as they are now, as a value."""
        same = (name for name in Request.__dataclass_fields__ if name not in {"software", "parameters"})
        parameters = {**({"scale": str(self.chosen_scale)} if self.scaled else {}), **self.parameters}
        return Request(
            software=self.chosen, parameters=parameters, **{name: getattr(self, name) for name in same}
        )

    @run_before("run")
    @plainly()
    def write_job(self) -> None:
        """Write what the launches read, and the launches as lines that can be pasted."""
        script = submission.write(
            Path(self.stagedir),
            Submission(
                request=self._request(),
                where=self.where,
                granted=self.granted,
                surroundings=self._surroundings(),
                program=self._program,
            ),
        )
        for names in script.equal:
            words = f"{self.name}: placements {', '.join(names)} put every rank of the grid on the same node"
            getlogger().warning(f"{words}: they measure the same; give others by -S placements=...")
        only_if_placed = script.only_if_placed
        lines = script.words(
            lambda launch: self._lines(launch, only_if_placed=only_if_placed), self.preparations
        )
        self.prerun_cmds = ["railyard granted || exit 1", *lines] if self.where.scheduled else lines
        self.job.options += script.options
        self.job.launcher = getlauncher("local")()
        self.executable = "echo"
        self.executable_opts = [str(len(script.launches)), "launches ended"]

    def _surroundings(self) -> Surroundings:
        launcher = self.current_partition.launcher_type.registered_name
        return Surroundings(
            system={
                "name": self.current_system.name,
                "partition": self.current_partition.name,
                "environment": self.current_environ.name,
            },
            reframe={"version": rfm.VERSION, "session": _session(), "check": self.unique_name},
            launcher=launchers.selected(launcher, self.current_environ.features).name,
            features=self.current_environ.features,
            image=self.carried.provenance if self.carried else None,
            read_by=self._read_by(),
            stderr=str(self.job.stderr),
            launch_limit_s=self._limit_s(),
        )

    def _limit_s(self) -> int:
        return 0 if self.where.is_computed else self.launch_limit_s

    def _program(self, index: int, whose: Software) -> list[str]:
        """Return what each rank of a launch runs."""
        own = [self.benchmark, *self.options, "--json", f"launch-{index:03d}.json"]
        return [*self.carried.command, *own] if self.carried and whose is Software.IMAGE else own

    def _lines(self, launch: Planned, *, only_if_placed: bool) -> list[str]:
        """Return a launch as lines of the job script."""
        return schedule.lines(launch, only_if_placed=only_if_placed, limit_s=self._limit_s())

    def _read_by(self) -> dict[str, Any] | None:
        """The patterns that read the program's output; None where a module does."""
        return None

    @run_before("run")
    def open_the_record(self) -> None:
        """From here on what the launches leave is kept; after the run it would be too late for a job that timed out."""
        if not self.is_dry_run():
            interrupted.submitted(Path(self.stagedir), lambda: str(self.job.state))

    @run_before("sanity")
    @plainly()
    def write_record(self) -> None:
        """One record of all launches, good and bad, before anything is judged."""
        if self.is_dry_run():
            return
        folder = Path(self.stagedir)
        if stagedir.torus_of(folder) is None and self.where.origin == "emulated":
            interrupted.recorded(folder)
            raise SanityError(
                f"the job had no torus: {stagedir.first_complaint(folder / str(self.job.stderr))}"
            )
        self.record: Record = stagedir.keep(folder, f"the job ended as {self.job.state}")
        interrupted.recorded(folder)
        self.record_path = stagedir.record_path(folder)
        self.reference_case = references.case_name(self.record)

    @sanity_function
    def every_launch_is_good(self) -> Any:
        """Verified data, exit status 0, every rank where its placement put it, and a machine that carried the load."""
        if self.is_dry_run():
            return True
        placed = stagedir.read_placed(Path(self.stagedir))
        wrong = verdict.fault(self.record, placed.cannot if placed else ())
        return sn.assert_eq(wrong, "", msg=f"{wrong} (record: {self.record_path})")

    @run_before("performance")
    def report_foms(self) -> None:
        """For ReFrame's own report: the median over launches of each launch's median. The record keeps the samples."""
        if self.is_dry_run():
            return
        self.perf_variables = {
            name: performance_function(units.unit_of(name.rpartition("/")[2]).text)(lambda _, v=value: v)(
                self
            )
            for name, value in self._foms().items()
        }

    @run_before("performance")
    @plainly()
    def name_regressions(self) -> None:
        """Say of each regression at which commit it last passed; ReFrame's own message cannot."""
        if self.is_dry_run():
            return
        folder = runtime().get_option("general/0/reference_prefix") or CHECKOUT / "checks"
        known = references.load(Path(folder, REFERENCES))
        worse = references.regressions(type(self).__name__, self.reference_case, self._foms(), known)
        if worse:
            raise PerformanceError("; ".join(worse))

    def _foms(self) -> dict[str, float]:
        return references.values(self.record, self.nics)


def _session() -> str:
    """One name for all records of a ReFrame run: its start and its process number. ReFrame keeps its own to itself."""
    started = datetime.fromtimestamp(Path("/proc/self").stat().st_ctime, UTC)
    return f"{assemble.utc_text(started)}-{os.getpid()}"
