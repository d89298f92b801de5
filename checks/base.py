"""What every check of this suite does: one job, all placements in seeded random order, evidence, a record.

A check says what to run (`benchmark`, `options`) and on which grid; this class turns each placement into what the
launcher needs, writes every launch as a plain line of the job script, and afterwards makes one record of them all.
Every combination of a placement and a NIC policy is a launch; `checks.launching` words it for the launcher.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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
from reframe.core.runtime import runtime

from checks import launching
from checks.launching import Prepared
from placements import render
from placements import topology as topologies
from placements.allocation import Allocation, allocate, within
from placements.placement import Placement, place
from placements.topology import Node
from railyard.errors import InputError, RunError
from results import archive, assemble, provenance, references, units
from results.record import Record, Verdict
from torus import docker_engine, smpi

CHECKOUT = Path(__file__).resolve().parent.parent
TORUS_FIELDS = ("name", "engine", "rate_scale", "mtu_bytes", "burst_bytes", "latency_scaled", "faults")
COMPUTED = frozenset({"simulated", "modelled"})
TORUS_FIELDS_OF_ENGINE = ("image", "image_sha256")


@contextmanager
def _plainly() -> Iterator[None]:
    """Bad input as ReFrame's own error: its report then shows the one line, not our source code."""
    try:
        yield
    except (InputError, RunError) as error:
        raise ReframeError(str(error)) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One planned launch: its number in the job, what it is to measure, and its line in the job script."""

    index: int
    placement: str
    nic_policy: str
    repeat: int
    prepared: Prepared

    @property
    def stem(self) -> str:
        """Its files in the stage directory are `launch-007.json`, `.out`, `.err`, `.begun`, `.ended`, `.evidence`."""
        return f"launch-{self.index:03d}"

    @property
    def command(self) -> str:
        return self.prepared.command


class PlacedCheck(rfm.RunOnlyRegressionTest):
    """A benchmark under several placements, in one job on one allocation."""

    valid_systems = ["+torus"]
    valid_prog_environs = ["+mpi"]
    sourcesdir = None

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

    #: Topology to bring up where the job makes a virtual torus of its own; empty for the partition's.
    #:
    #: :type: :class:`str`
    #: :default: ``''``
    torus = variable(str, value="")

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

    #: Seed of the order of launches, of random allocations and of random placements.
    #:
    #: :type: :class:`int`
    #: :default: ``1``
    seed = variable(int, value=1)

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

    #: References from the archive; `railyard references update` writes the file.
    reference = {"$ref": "references/archive.yaml"}

    #: Which case of the references is meant; known when the record is.
    #:
    #: :type: :class:`str`
    #: :default: ``''`` (none)
    reference_case = variable(str, value="")

    @run_after("init")
    def tag_studies(self) -> None:
        self.tags |= set(self.studies)

    @run_after("setup")
    def need_the_image(self) -> None:
        """Where the partition's nodes are containers, skip without an engine that has their image."""
        image = self.current_partition.extras.get("image")
        if image and (reason := docker_engine.missing(image)):
            self.skip(reason)

    @run_after("setup")
    def need_the_simulator(self) -> None:
        """What is computed repeats bit for bit: one launch of each combination says all. Without SimGrid, skip."""
        if self.current_partition.extras["origin"] not in COMPUTED:
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
    @_plainly()
    def place_ranks(self) -> None:
        """Compute every placement; bad input skips nothing: it fails the check with its one line."""
        if not self.placements or not self.nics or self.launches < 1:
            asked = (
                f"{len(self.placements)} placements, {len(self.nics)} NIC policies, {self.launches} launches"
            )
            raise InputError(self.name, "placements, nics, launches", asked, "at least one of each")
        self.topology = topologies.load(self._topology())
        self.granted: Allocation = allocate(
            self.topology, self.allocation, block=tuple(self.block) or None, seed=self.seed
        )
        if self.cube:
            self.granted = within(self.granted, tuple(self.cube))
        self.grid = self.grid or self._whole_grid()
        grid = tuple(self.grid)
        self.placed: dict[str, Placement] = {
            kind: place(kind, self.granted, grid, ranks_per_node=self.ranks_per_node, seed=self.seed)
            for kind in self.placements
        }
        self.num_tasks = len(self.placed[self.placements[0]].indices)
        self.num_tasks_per_node = self.ranks_per_node

    def _topology(self) -> str:
        """The partition's topology, or the one that its virtual torus is to have instead."""
        extras = self.current_partition.extras
        if self.torus and extras["origin"] == "measured":
            raise InputError(self.name, "torus", self.torus, f"'' on {self.current_partition.fullname}")
        return self.torus or str(extras["topology"])

    def _is_simulated(self) -> bool:
        return bool(self.current_partition.extras["origin"] == "simulated")

    def _whole_grid(self) -> list[int]:
        """All slots; like the block where all of it was granted, nodes of a router along Y, ranks of a node along Z."""
        x, y, z = self.granted.block
        slots = len(self.granted.indices) * self.ranks_per_node
        whole = [x, y * self.topology.nodes_per_router, z * self.ranks_per_node]
        return whole if slots == math.prod(whole) else [slots]

    @run_before("run")
    @_plainly()
    def write_job(self) -> None:
        """Write what the launches read, and the launches as lines that can be pasted."""
        folder = Path(self.stagedir)
        (folder / "topology").write_text(f"{self._topology()}\n")
        (folder / "coordinates").write_text(render.coordinates(self.topology, self._located()))
        self.plan = list(self._plan())
        for launch in self.plan:
            for name, text in {**launch.prepared.files, **launch.prepared.scripts}.items():
                (folder / name).write_text(text)
            for name in launch.prepared.scripts:
                (folder / name).chmod(0o755)
        lines = [line for launch in self.plan for line in self._lines(launch)]
        self.prerun_cmds = [*self.preparations, *lines]
        self.job.launcher = getlauncher("local")()
        self.executable = "echo"
        self.executable_opts = [str(len(self.plan)), "launches ended"]

    def _located(self) -> Sequence[Node]:
        """Whose coordinates a program is told: all nodes; of a computed machine, which may be large, those granted."""
        if self.current_partition.extras["origin"] not in COMPUTED:
            return self.topology.nodes
        return [self.topology.nodes[index] for index in sorted(self.granted.indices.tolist())]

    def _plan(self) -> Iterator[Launch]:
        """Every combination once in each round, each round in its own random order: drift spares none of them."""
        shuffle = random.Random(self.seed)
        combinations = list(itertools.product(self.placements, self.nics))
        for repeat in range(self.launches):
            for place_in_round, (kind, policy) in enumerate(shuffle.sample(combinations, len(combinations))):
                index = repeat * len(combinations) + place_in_round
                yield Launch(
                    index=index,
                    placement=kind,
                    nic_policy=policy,
                    repeat=repeat,
                    prepared=self._prepared(index, kind, policy),
                )

    def _prepared(self, index: int, kind: str, policy: str) -> Prepared:
        features = self.current_environ.features
        launcher = launching.launcher_of(self.current_partition.launcher_type.registered_name, features)
        program = [self.benchmark, *self.options, "--json", f"launch-{index:03d}.json"]
        return launching.prepare(self.placed[kind], policy, launcher, features, stem=kind, program=program)

    def _lines(self, launch: Launch) -> list[str]:
        stem = launch.stem
        return [
            f"# launch {launch.index}: {launch.placement}, {launch.nic_policy}, repeat {launch.repeat}",
            f"export RAILYARD_EVIDENCE={stem}.evidence",
            f"date +%s.%N > {stem}.begun",
            f"{launch.command} > {stem}.out 2> {stem}.err; echo $? $(date +%s.%N) > {stem}.ended",
        ]

    @run_before("sanity")
    @_plainly()
    def write_record(self) -> None:
        """One record of all launches, good and bad, before anything is judged."""
        if self.is_dry_run():
            return
        torus = self._torus()
        if torus is None and self.current_partition.extras["origin"] == "emulated":
            raise SanityError(f"the job had no torus: {_complaint(Path(self.stagedir, str(self.stderr)))}")
        self.record: Record = assemble.assemble(
            case=self._described(),
            system={
                "name": self.current_system.name,
                "partition": self.current_partition.name,
                "environment": self.current_environ.name,
            },
            origin=self.current_partition.extras["origin"],
            provenance=self._provenance(torus),
            launches=[self._run_of(launch) for launch in self.plan],
        )
        self.record_path = archive.add(self.record, Path(self.archive))
        self.reference_case = references.case_name(self.record)

    @sanity_function
    def every_launch_is_good(self) -> Any:
        """Verified data, exit status 0, every rank where its placement put it, and a machine that carried the load."""
        if self.is_dry_run():
            return True
        void = [
            f"launch {launch.index} is void: {'; '.join(launch.guard.reasons)}"
            for launch in self.record.launches
            if launch.is_void and launch.guard
        ]
        wrong = self.record.reason or (void[0] if void else "")
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
    @_plainly()
    def name_regressions(self) -> None:
        """Say of each regression at which commit it last passed; ReFrame's own message cannot."""
        if self.is_dry_run():
            return
        folder = runtime().get_option("general/0/reference_prefix") or self.prefix
        known = references.load(Path(folder, "references", "archive.yaml"))
        worse = references.regressions(type(self).__name__, self.reference_case, self._foms(), known)
        if worse:
            raise PerformanceError("; ".join(worse))

    def _foms(self) -> dict[str, float]:
        samples: dict[str, list[float]] = {}
        for launch in self.record.launches:
            for series in launch.series:
                if not series.labels:
                    name = f"{self._side(launch.placement, launch.nic_policy)}/{series.fom}"
                    samples.setdefault(name, []).append(median(series.samples))
        return {name: median(values) for name, values in samples.items()}

    def _side(self, placement: str, nic_policy: str) -> str:
        """What tells a launch from the job's others: its placement, and its NIC policy where there are several."""
        return placement if len(self.nics) == 1 else f"{placement}/{nic_policy}"

    def _described(self) -> dict[str, Any]:
        topology = self.topology
        return {
            "check": self.name.split(" ")[0],
            "benchmark": self.benchmark,
            "studies": self.studies,
            "parameters": self.parameters,
            "topology": {
                "name": topology.name,
                "sha256": topology.sha256,
                "extents": list(topology.extents),
                "nodes_per_router": topology.nodes_per_router,
                "rails": topology.rails,
            },
            "allocation": {
                "order": str(self.granted.order),
                "seed": self.granted.seed,
                "nodes": [{"name": n.name, "coordinate": list(n.coordinate)} for n in self.granted.nodes],
            },
            "placements": self.placements,
            "nic_policies": self.nics,
            "seed": self.seed,
            "launches_per_combination": self.launches,
        }

    def _provenance(self, torus: dict[str, Any] | None) -> dict[str, Any]:
        return provenance.collect(
            reframe={
                "version": rfm.VERSION,
                "session": _session(),
                "check": self.unique_name,
            },
            torus=torus,
        )

    def _torus(self) -> dict[str, Any] | None:
        """What `railyard torus status` said of the job's torus, where it ran on one; of a simulation what it was."""
        if self._is_simulated():
            return self._simulation()
        path = Path(self.stagedir, "torus.json")
        if not path.is_file() or not path.stat().st_size:
            return None
        said = json.loads(path.read_text())
        of_engine = [name for name in TORUS_FIELDS_OF_ENGINE if name in said]
        return {name: said[name] for name in (*TORUS_FIELDS, *of_engine)}

    def _simulation(self) -> dict[str, Any] | None:
        """What simulated the launches, in a torus's words; the same for all of them."""
        for launch in self.plan:
            if said := _json(Path(self.stagedir, f"{launch.stem}.evidence")).get("simulation"):
                engine = f"SimGrid {said['simgrid']}"
                kept = ("calibration", "calibration_sha256", "faults")
                return {
                    "name": "simulated",
                    "engine": engine,
                    "rate_scale": 1.0,
                    "latency_scaled": True,
                    **{name: said[name] for name in kept},
                }
        return None

    def _run_of(self, launch: Launch) -> assemble.LaunchRun:
        """What a launch left in the stage directory."""
        evidence = _json(Path(self.stagedir, f"{launch.stem}.evidence"))
        begun = _words(Path(self.stagedir, f"{launch.stem}.begun"))
        ended = _words(Path(self.stagedir, f"{launch.stem}.ended"))
        start = float(begun[0]) if begun else None
        placed = self.placed[launch.placement]
        hosts = [node.name for node in placed.nodes]
        nic = launching.judge_nics(placed, launch.nic_policy, hosts, evidence.get("nics"))
        return assemble.LaunchRun(
            index=launch.index,
            placement=launch.placement,
            nic_policy=launch.nic_policy,
            repeat=launch.repeat,
            command=launch.command,
            exit_status=int(ended[0]) if ended else None,
            started=assemble.utc_text(datetime.fromtimestamp(start, UTC)) if start else None,
            elapsed_s=float(ended[1]) - start if ended and start else None,
            output=Path(self.stagedir, f"{launch.stem}.json"),
            expected_hosts=hosts,
            reason=_complaint(Path(self.stagedir, f"{launch.stem}.err")) if begun else self._job_ended_by(),
            guard=evidence.get("guard"),
            nics=evidence.get("nics"),
            nic_verdict=Verdict(nic.verdict),
            nic_reason=nic.reason,
        )

    def _job_ended_by(self) -> str:
        """The last line that the job script wrote to its standard error: why its launches never began."""
        return _complaint(Path(self.stagedir, str(self.stderr)), place=-1)


def _session() -> str:
    """One name for all records of a ReFrame run: its start and its process number. ReFrame keeps its own to itself."""
    started = datetime.fromtimestamp(Path("/proc/self").stat().st_ctime, UTC)
    return f"{assemble.utc_text(started)}-{os.getpid()}"


def _json(path: Path) -> dict[str, Any]:
    """What a launch's evidence says; nothing when it was not watched."""
    return dict(json.loads(path.read_text())) if path.is_file() else {}


def _words(path: Path) -> list[str]:
    return path.read_text().split() if path.is_file() else []


def _complaint(path: Path, place: int = 0) -> str:
    """The first line (or that at `place`) that a program wrote to its standard error, mpirun's own frame left out."""
    lines = path.read_text(errors="replace").splitlines() if path.is_file() else []
    said = [line for line in lines if line.strip("- ") and not line.startswith("mpirun")]
    return said[place] if said else ""
