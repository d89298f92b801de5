"""What every check of this suite does: one job, all placements in seeded random order, evidence, a record.

A check says what to run (`benchmark`, `options`) and on which grid; this class turns each placement into what the
launcher needs, writes every launch as a plain line of the job script, and afterwards makes one record of them all.
Every combination of a placement, a NIC policy and a software (the machine's own programs, or an image's:
`checks.image`) is a launch; `checks.launching` words it for the launcher.

Where a job has a virtual torus of its own, its nodes are known before it runs. Where a scheduler grants them, the job
places its ranks itself, by `railyard granted` in its first line.
"""

from __future__ import annotations

import dataclasses
import math
import os
import platform
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.backends import getlauncher
from reframe.core.builtins import performance_function, run_after, run_before, sanity_function, variable
from reframe.core.exceptions import PerformanceError, ReframeError, SanityError
from reframe.core.logging import getlogger
from reframe.core.runtime import runtime

from checks import requirements, scales
from checks.partition import Partition
from placements import launchers
from placements.hosts import naming
from placements.hosts import node as node_layout
from placements.launchers import files
from placements.nics.policies import Host, Kind
from placements.orders.allocation import Allocation, allocate, scheduled, within
from placements.topology import catalog
from placements.topology.base import Node, Topology
from railyard.checkout import CHECKOUT
from railyard.errors import InputError, RunError
from railyard.jobs import image as images
from railyard.jobs import interrupted, job_lock, placing, schedule, stagedir, verdict
from railyard.jobs import node as node_description
from railyard.jobs.stagedir import Job, Planned
from railyard.records import assemble, provenance, references, units
from railyard.records.record import Record, Software
from railyard.records.store import challenge as challenges
from railyard.torus.engines import docker_engine
from railyard.torus.simulated import smpi

#: ReFrame's word for partitions of real machines.
REAL = "+torus %origin=measured"


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


class PlacedCheck(rfm.RunOnlyRegressionTest):
    """A benchmark under several placements, in one job on one allocation."""

    valid_systems = ["+torus"]
    valid_prog_environs = ["+mpi"]
    sourcesdir = None
    exclusive_access = True

    #: Whether the benchmark cannot run without knowing where its nodes stand.
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

    #: Apptainer image (a SIF file) to run the benchmark from; empty for the machine's own programs.
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

    #: Order in which the scheduler grants the nodes: snake, contiguous, random, axes.
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

    #: Which case of the references is meant; known when the record is.
    #:
    #: :type: :class:`str`
    #: :default: ``''`` (none)
    reference_case = variable(str, value="")

    @run_after("init")
    def tag_studies(self) -> None:
        self.tags |= set(self.studies)

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
        self.where = Partition.of(self.current_partition)
        if (image := self.where.image) and (reason := docker_engine.missing(image)):
            self.skip(reason)
        if reason := self.where.missing():
            self.skip(reason)
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
        if reason := images.missing(file) or self._no_place_for_images():
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
        if not self.placements or not self.nics or self.launches < 1:
            asked = (
                f"{len(self.placements)} placements, {len(self.nics)} NIC policies, {self.launches} launches"
            )
            raise InputError(self.name, "placements, nics, launches", asked, "at least one of each")
        self._skip_what_needs_another_machine()
        self.granted: Allocation = self._allocation()
        self.topology: Topology = self.granted.topology
        self.grid = self.grid or self._whole_grid()
        self.num_tasks = len(self.granted.indices) * self.ranks_per_node
        self.num_tasks_per_node = self.ranks_per_node

    def _skip_what_needs_another_machine(self) -> None:
        where = self.where
        if self.needs_coordinates and not where.knows_coordinates:
            self.skip(f"needs the nodes' coordinates; {where.fullname} names no topology (docs/cluster.md)")
        if where.makes_torus:
            return
        processor = self.current_partition.processor
        machine = where.machine(self.nodes or where.nodes, int(processor.num_cpus or 0) if processor else 0)
        if reason := requirements.missing(self._needs(), machine):
            self.skip(reason)
        if self.block and not requirements.holds(machine.extents, self.block):
            self.block, self.cube = [], []
        self._leave_out_what_cannot_be(machine.rails)

    def _needs(self) -> requirements.Needs:
        """What the check takes; a block of a torus only where it walks one."""
        order, block = self.allocation, self.block
        return requirements.Needs(
            nodes=requirements.nodes(self.torus, self.grid, self.ranks_per_node, order=order, block=block),
            rails=requirements.rails(self.nics),
            ranks_per_node=self.ranks_per_node,
            block=tuple(block) if self.needs_coordinates else (),
        )

    def _leave_out_what_cannot_be(self, rails: int) -> None:
        """Drop placements and NIC policies that this machine can never do, in a line for each; skip if none is left."""
        where = self.where
        if where.origin == "measured" and str(Kind.LOCAL_NIC) in self.nics:
            self.placements = requirements.bound(self.placements)
        self.placements, unplaced = requirements.split_placements(self.placements, where.without_coordinates)
        names = tuple(where.devices or (f"nic{rail}" for rail in range(rails)))
        host = Host(nics=names, nearest=(0,) * self.ranks_per_node)
        self.nics, untold = requirements.split_policies(self.nics, self.current_environ.features, host)
        for name, reason in {**unplaced, **untold}.items():
            getlogger().warning(f"{self.short_name}: {name} is left out on {where.fullname}: {reason}")
        if not self.placements or not self.nics:
            self.skip(next(iter({**unplaced, **untold}.values())))

    def _allocation(self) -> Allocation:
        """The nodes of the job: those it will have, or where the scheduler chooses as many of the same kind."""
        where = self.where
        named = self.torus if where.makes_torus and self.torus else where.topology
        count = self.nodes or where.nodes
        if named and (where.names_nodes or self.block or not count):
            box = tuple(self.block) or None
            found = allocate(catalog.load(named), self.allocation, block=box, seed=self.seed)
            return within(found, tuple(self.cube)) if self.cube else found
        if not count:
            valid = "nodes: a number, in the partition's extras or by -S nodes=N"
            raise InputError("reframe.yml", f"{where.fullname}: extras.nodes", count, valid)
        if named:
            whole = allocate(catalog.load(named), self.allocation, seed=self.seed)
            return scheduled(whole.topology, whole.indices[:count])
        names = [f"node{k}" for k in range(count)] if where.scheduled else [platform.node()]
        return allocate(naming.flat(names, rails=len(where.devices or [""])), "contiguous")

    def _whole_grid(self) -> list[int]:
        """All slots; like the block where all of it was granted, nodes of a router along Y, ranks of a node along Z."""
        slots = len(self.granted.indices) * self.ranks_per_node
        whole = list(self.topology.box_of_cells(self.granted.block))
        whole[-1] *= self.ranks_per_node
        if self._is_certain():
            return whole if slots == math.prod(whole) else [slots]
        return whole if slots == math.prod(whole) and self.block else schedule.cubic(slots)

    @run_before("run")
    @plainly()
    def write_job(self) -> None:
        """Write what the launches read, and the launches as lines that can be pasted."""
        folder = Path(self.stagedir)
        (folder / "topology").write_text(f"{self.torus or self.where.topology}\n")
        if self.network:
            (folder / "network").write_text(f"{self.network}\n")
        (folder / "coordinates").write_text(files.coordinates(self.topology, self._located()))
        job = self._what_is_asked()
        if self._is_certain():
            placed, cannot = placing.place_all(job, self.granted), dict[str, str]()
        else:
            placed, cannot = placing.place_what_can(job, self.granted, self.where.without_coordinates)
        for names in placing.equal(placed):
            words = f"{self.name}: placements {', '.join(names)} put every rank of the grid on the same node"
            getlogger().warning(f"{words}: they measure the same; give others by -S placements=...")
        job = dataclasses.replace(
            job, launches=schedule.launches(job, self.granted, placed, self._counted_program)
        )
        stagedir.write(folder, job)
        only_if_placed = self.where.scheduled or not self._is_certain()
        lines = [
            line for launch in job.launches for line in self._lines(launch, only_if_placed=only_if_placed)
        ]
        begun, ended = (schedule.digests(job.launches, when) for when in ("begun", "ended"))
        self.prerun_cmds = [job_lock.LINE, *self.preparations, *begun, *lines, *ended]
        if self.where.scheduled:
            self.prerun_cmds = ["railyard granted || exit 1", *self.prerun_cmds]
            self._ask_the_scheduler()
        else:
            node = node_layout.parse(node_description.describe()) if job.binds_by_script else None
            placing.write_files(folder, job, placed, node)
            stands: dict[str, Any] | None = None if self.where.topology else {}
            stagedir.write(folder, placing.described(job, self.granted, placed, cannot, stands, node))
        self.job.launcher = getlauncher("local")()
        self.executable = "echo"
        self.executable_opts = [str(len(job.launches)), "launches ended"]

    def _located(self) -> Sequence[Node]:
        """Whose coordinates a program is told: all nodes; of a computed machine, which may be large, those granted."""
        if not self.where.is_computed:
            return self.topology.nodes
        return [self.topology.nodes[index] for index in sorted(self.granted.indices.tolist())]

    def _program(self, index: int, whose: Software) -> list[str]:
        """What each rank of a launch runs."""
        own = [self.benchmark, *self.options, "--json", f"launch-{index:03d}.json"]
        return [*self.carried.command, *own] if self.carried and whose is Software.IMAGE else own

    def _counted_program(self, index: int, whose: Software) -> list[str]:
        """The same; on a real machine its ranks count what their nodes' NICs send, because nothing else does."""
        counting = (
            ["env", f"RAILYARD_NICS=launch-{index:03d}.nics"] if self.where.origin == "measured" else []
        )
        return [*counting, *self._program(index, whose)]

    def _lines(self, launch: Planned, *, only_if_placed: bool) -> list[str]:
        """A launch in the job script."""
        limit_s = 0 if self.where.is_computed else self.launch_limit_s
        return schedule.lines(launch, only_if_placed=only_if_placed, limit_s=limit_s)

    def _is_certain(self) -> bool:
        """Whether the nodes are known now: then a placement that they do not allow is a mistake, not bad luck."""
        return self.where.names_nodes and bool(self.where.topology)

    def _ask_the_scheduler(self) -> None:
        """The very nodes where the partition is to have them; never a second run over the files of the first."""
        if not self.where.is_slurm:
            return
        self.job.options += ["--no-requeue", f"--nodes={len(self.granted.indices)}"]
        if self.where.names_nodes:
            self.job.options += [f"--nodelist={','.join(node.name for node in self.granted.nodes)}"]

    def _what_is_asked(self) -> Job:
        return Job(
            case=self._described(),
            system={
                "name": self.current_system.name,
                "partition": self.current_partition.name,
                "environment": self.current_environ.name,
            },
            origin=self.where.origin,
            reframe={"version": rfm.VERSION, "session": _session(), "check": self.unique_name},
            archive=str(Path(self.archive).absolute()),
            topology=self.where.topology,
            coordinates=self.where.coordinates,
            needs_coordinates=self.needs_coordinates,
            order=self.allocation,
            block=list(self.block),
            cube=list(self.cube),
            challenge=self.challenge,
            id=uuid.uuid4().hex,
            written=provenance.state(),
            grid=list(self.grid),
            ranks_per_node=self.ranks_per_node,
            seed=self.seed,
            launcher=launchers.selected(
                self.current_partition.launcher_type.registered_name, self.current_environ.features
            ).name,
            features=list(self.current_environ.features),
            devices=self.where.devices,
            image=self.carried.provenance if self.carried else None,
            read_by=self._read_by(),
            stderr=str(self.job.stderr),
            owner=interrupted.owner(),
            launch_limit_s=0 if self.where.is_computed else self.launch_limit_s,
            launches=[],
        )

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
        samples: dict[str, list[float]] = {}
        for launch in self.record.launches:
            for series in launch.series:
                if not series.labels:
                    side = references.side(launch.placement, launch.nic_policy, launch.software, self.nics)
                    samples.setdefault(f"{side}/{series.fom}", []).append(median(series.samples))
        return {name: median(values) for name, values in samples.items()}

    def _described(self) -> dict[str, Any]:
        return {
            "check": self.name.split(" ")[0],
            "benchmark": self.benchmark,
            "studies": self.studies,
            "parameters": {**({"scale": str(self.chosen_scale)} if self.scaled else {}), **self.parameters},
            "placements": self.placements,
            "nic_policies": self.nics,
            "software": list(map(str, self.chosen)),
            "seed": self.seed,
            "launches_per_combination": self.launches,
        }


def _session() -> str:
    """One name for all records of a ReFrame run: its start and its process number. ReFrame keeps its own to itself."""
    started = datetime.fromtimestamp(Path("/proc/self").stat().st_ctime, UTC)
    return f"{assemble.utc_text(started)}-{os.getpid()}"
