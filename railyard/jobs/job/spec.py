"""Define what a check requests of a job: every variable of a check, in one place.

Models: one frozen value, `JobSpec`. Its fields become the variables of `checks.base.PlacedCheck`, the content of
`job.json` and the case of the record; the comments before them are the page "Checks and variables". A new variable is a
field here and an effect where it acts. Leaves out: where the job runs (`railyard.jobs.job.submitted.Site`), and what a
partition makes of a request (`railyard.jobs.job.request`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_type_hints

from railyard.base.checkout import CHECKOUT

#: Mark of a field that changes what is measured: a value other than the default is a parameter of the record's case.
PARAMETER = {"parameter": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """What is requested of one job. A list is a tuple here, and empty or 0 means that something else decides."""

    # The check's name with its parameters, as ReFrame has it: the one field that is not a variable.
    name: str

    #: Whether the benchmark cannot run without its nodes' coordinates.
    needs_coordinates: bool = False

    #: The benchmark program, which must be on the PATH.
    #: :default: required
    benchmark: str

    #: Its options, `--json` excepted.
    options: tuple[str, ...] = ()

    #: The parameters that make up the case in the record, as the benchmark's own output names them.
    parameters: Mapping[str, Any] = field(default_factory=dict)

    #: Placements to compare, by name: ORDER[:ARGUMENT][@CHOICE[:SEED]][/BINDING] (docs/placements.md).
    placements: tuple[str, ...] = ("plain", "cart-create", "custom")

    #: NIC policies to compare: round-robin, nic-K, local-nic, stripe, library-default.
    nics: tuple[str, ...] = ("library-default",)

    #: Algorithms of collectives to compare under each NIC policy: default, or COLLECTIVE:ALGORITHM with + between
    #: (docs/collectives.md).
    algorithms: tuple[str, ...] = ("default",)

    #: Variables to set in place of those with which the stack obeys a policy, such as GLOO_SOCKET_IFNAME=nic1. The
    #: bytes of the NICs decide whether they obey it. Empty: railyard's own.
    nic_settings: str = field(default="", metadata=PARAMETER)

    #: Image to run the benchmark from: a SIF file, or a folder; empty for the machine's own programs.
    image: str = ""

    #: Whose programs to launch: native, image, or both to compare them in one job.
    #: :default: ``['image']`` where there is an image, otherwise ``['native']``
    software: tuple[str, ...] = ()

    #: Folder with the machine's MPI that takes the place of the image's (the bind model); empty for the image's own.
    host_mpi: str = ""

    #: Launches of each combination; the launch is the sample unit, and fewer than 6 give no 95 % interval.
    launches: int = 6

    #: Half width of the 95 % interval of every ratio to the baseline at which no more rounds begin, such as 2%.
    #: `launches` is then the most. Empty: all launches.
    until: str = field(default="", metadata=PARAMETER)

    #: Record of a job that ended early, by its path: only the rounds are launched that it lacks.
    finishes: str = ""

    #: Order in which the scheduler grants the nodes: snake, snake-8x8x8, contiguous, random, axes.
    allocation: str = "snake"

    #: Routers of the allocation along X, Y and Z, from 0,0,0; empty for the whole torus.
    block: tuple[int, ...] = ()

    #: Nodes of the allocation along X, Y (both nodes of a router) and Z, from 0,0,0; empty for all of the block.
    cube: tuple[int, ...] = ()

    #: Nodes to request from the scheduler, where it chooses them and no block is given; 0 for the partition's `nodes`.
    nodes: int = 0

    #: Topology to bring up where the job makes a virtual torus of its own; empty for the partition's.
    torus: str = ""

    #: Network of the virtual torus that the job creates: `router`, `kernel` or `auto`; empty for the partition default.
    network: str = ""

    #: Rate scale of the virtual torus that the job brings up, where RAILYARD_RATE_SCALE is not set; empty for `auto`.
    #: `auto*N` is for a program that loads few links at once: up to N times as fast.
    rate_scale: str = ""

    #: Ranks on each node; those of a node are consecutive slots.
    ranks_per_node: int = 1

    #: Process grid; empty for all slots of the allocation.
    grid: tuple[int, ...] = ()

    #: What the benchmark needs of an environment beyond plain MPI: an MPI call, or `NIC counters`. Where the
    #: environment's `lacks` names one, the check is skipped.
    needs: tuple[str, ...] = ()

    #: Lines of the job script before the first launch.
    preparations: tuple[str, ...] = ()

    #: Seconds after which a launch is ended, marked as failed, and the next one begins; 0 for no limit.
    launch_limit_s: int = 600

    #: Sizes of the run: small, standard or large; empty for standard on a machine and small elsewhere.
    scale: str = ""

    #: Loads under which to measure, in addition to no load: incast, alltoall, broadcast, allreduce, permutation,
    #: several at once with a full stop between (incast.alltoall), program, or copies (docs/congestion.md).
    #: Empty: no load.
    loads: tuple[str, ...] = ()

    #: How nodes are divided between the measured program and the loads: contiguous, interleaved, by-router, by-group,
    #: random:SEED, nodes:LIST (their numbers in the allocation, a comma between).
    split: str = "interleaved"

    #: Number of nodes of the measured program if there are loads; 0 for half of the job's.
    victim_nodes: int = 0

    #: Command line of the load `program`, which is started again until the measured program has ended.
    load_program: str = ""

    #: Seed of the order of launches, of random allocations and of random placements.
    seed: int = 1

    #: File with what the program sends, measured (docs/fit.md): `optimised` is fitted to it. Empty: a stencil's faces.
    matrix: str = ""

    #: The buyer's challenge of a tender, which decides the seed; empty for none (docs/tender.md).
    challenge: str = ""

    #: The studies that this check belongs to; each is a tag, too.
    studies: tuple[str, ...] = ()

    #: Folder of the archive that the record is added to.
    #: :default: ``results`` in the checkout
    archive: str = str(CHECKOUT / "results")

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> JobSpec:
        """Return a specification from ReFrame's variables or from JSON, whose lists become tuples."""
        frozen: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
        return cls(**frozen)

    @property
    def check(self) -> str:
        """Return the check's name without its parameters."""
        return self.name.split(" ")[0]

    def case(self) -> dict[str, Any]:
        """Return the record's case without what only the job knows: topology, allocation, devices and roles."""
        noted = {
            knob.name: getattr(self, knob.name)
            for knob in dataclasses.fields(self)
            if knob.metadata == PARAMETER and getattr(self, knob.name) != knob.default
        }
        return {
            "check": self.check,
            "benchmark": self.benchmark,
            "studies": self.studies,
            "parameters": {**self.parameters, **noted},
            "placements": self.placements,
            "nic_policies": self.nics,
            "software": self.software,
            "seed": self.seed,
            "launches_per_combination": self.launches,
            "ranks_per_node": self.ranks_per_node,
            "grid": self.grid,
            "block": self.block,
            "cube": self.cube,
            "challenge": self.challenge,
        }


def variables() -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
    """Yield name, type and default (`{"value": ...}`, empty if there is none) of each variable of a check.

    A tuple of the specification is a list there, because ReFrame's variables are lists.
    """
    types = get_type_hints(JobSpec)
    for knob in dataclasses.fields(JobSpec):
        if knob.name == "name":
            continue
        value = knob.default_factory() if callable(knob.default_factory) else knob.default
        given = {} if value is dataclasses.MISSING else {"value": as_variable(value)}
        yield knob.name, types[knob.name], given


def as_variable(value: Any) -> Any:
    """Return a field's value as the value of a ReFrame variable: a tuple becomes a list."""
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
