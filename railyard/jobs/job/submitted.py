"""Read and write a job as it was submitted (`job.json`), and where its ranks were placed (`placed.json`).

Models: `Submitted` contains the request (`JobSpec`), the machine (`Site`) and the launches. Jobs that an older railyard
submitted are read, too. Leaves out: what the job leaves (`railyard.jobs.stagedir`),
and how the script is made (`railyard.jobs.submission`).
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from railyard.base.decoded import decoded
from railyard.base.errors import InputError
from railyard.base.json_files import json_object
from railyard.jobs.job.spec import JobSpec
from railyard.jobs.roles import Roles
from railyard.records.record import Software
from railyard.records.store import archive

FILE, PLACED = "job.json", "placed.json"
FORMAT = "railyard-job/2"
COMPUTED = ("simulated", "modelled")
#: The file that defines partitions, where ReFrame was given no other.
CONFIGURATION = "reframe.yml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The machine that a job runs on, as ReFrame's configuration names it.

    `topology` and `coordinates` are names or paths, empty where nothing is known; a job that makes a torus of its own
    has that torus's. `devices` are the names of a node's NICs, None where the partition names none. `launcher` is
    railyard's name of it, empty until one is chosen. `wrapper` is the program that the site starts in its place; empty
    for the launcher itself. `configuration` is the file that defines the partition.
    """

    fullname: str
    scheduler: str
    origin: str
    topology: str
    coordinates: str
    devices: list[str] | None
    environment: str = ""
    features: Sequence[str] = ()
    launcher: str = ""
    wrapper: str = ""
    configuration: str = CONFIGURATION

    @property
    def system(self) -> dict[str, str]:
        """Return the record's `system`: name, partition and environment."""
        system, _, partition = self.fullname.partition(":")
        return {"name": system, "partition": partition, "environment": self.environment}

    @property
    def is_computed(self) -> bool:
        """Return whether launches are computed, by a simulation or a model, and so repeat exactly."""
        return self.origin in COMPUTED

    @property
    def binds_by_script(self) -> bool:
        """Return whether a script binds the ranks to CPUs; nodes of a virtual torus have no CPUs of their own."""
        return self.origin == "measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One planned launch: its number in the job, what it is to measure, and its line in the job script.

    `roles` are the programs that run beside it: name, role, command, and whether it is started again when it has ended.
    """

    index: int
    placement: str
    nic_policy: str
    repeat: int
    command: str
    software: str = Software.NATIVE
    roles: Sequence[Mapping[str, Any]] = ()

    @property
    def stem(self) -> str:
        """Return the beginning of the names of its files, such as `launch-007`."""
        return f"launch-{self.index:03d}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """A job: the request, the machine, and what its submission added.

    `roles` are the companions of the measured program, with sizes for this machine. `image` describes the image as the
    record does, `owner` is the process that waits for the job, `written` the code that wrote it. `read_by` contains the
    patterns of a program without a parser, and `stderr` names the file with the script's error messages. The site's
    `launcher_modifier` and `launcher_options` are ReFrame's, for every launch line.
    """

    spec: JobSpec
    site: Site
    reframe: Mapping[str, str]
    stderr: str
    roles: Roles | None = None
    image: Mapping[str, Any] | None = None
    read_by: Mapping[str, Any] | None = None
    launcher_modifier: Sequence[str] = ()
    launcher_options: Sequence[str] = ()
    launches: Sequence[Planned] = ()
    id: str = ""
    written: Mapping[str, Any] | None = None
    owner: Mapping[str, Any] = field(default_factory=dict)
    format: str = FORMAT

    @property
    def software(self) -> list[Software]:
        return [Software(name) for name in self.spec.software or (Software.NATIVE,)]

    @property
    def limit_s(self) -> int:
        """Return the seconds after which a launch is ended; 0 for no limit, as for all computed launches."""
        return 0 if self.site.is_computed else self.spec.launch_limit_s

    def of_rounds(self, count: int) -> Submitted:
        """Return the job as if its first rounds were all that was requested."""
        launches = [launch for launch in self.launches if launch.repeat < count]
        return dataclasses.replace(self, spec=dataclasses.replace(self.spec, launches=count), launches=launches)

    def case(self) -> dict[str, Any]:
        """Return the record's case without topology and allocation, which may be known only inside the job."""
        companions = {"roles": dataclasses.asdict(self.roles)} if self.roles else {}
        return {**self.spec.case(), "devices": self.site.devices, **companions}


@dataclass(frozen=True, slots=True, kw_only=True)
class Assigned:
    """The assigned NICs and GPU of each local rank on `nodes`: policy -> local rank -> NICs, or GPU."""

    nodes: Sequence[str]
    nics: Mapping[str, Sequence[Sequence[str]]]
    gpus: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Where ranks are assigned: the host and the local rank of every rank for each placement, or why it cannot be made.

    `allocation` and `topology` are those of the record. `cannot` maps a placement to the reason. `nics` maps a policy
    to the NICs of each local rank, and `gpus` to its GPU; `others` are the nodes where these differ. `roles` maps a
    placement to the hosts of each companion's ranks. With `has_groups` the first number of a node's coordinate is its
    group. `described` nodes, of `kinds` kinds and `boots` boots of kernels, wrote descriptions. `own_names`
    maps a host's own name to the scheduler's, where they differ.
    """

    allocation: Mapping[str, Any]
    topology: Mapping[str, Any] | None
    hosts: Mapping[str, Sequence[str]]
    local_ranks: Mapping[str, Sequence[int]]
    nics: Mapping[str, Sequence[Sequence[str]]]
    cannot: Mapping[str, str] = field(default_factory=dict)
    has_groups: bool = False
    roles: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    gpus: Mapping[str, Sequence[str]] = field(default_factory=dict)
    described: int = 0
    kinds: int = 0
    boots: int | None = None
    others: Sequence[Assigned] = ()
    own_names: Mapping[str, str] = field(default_factory=dict)

    def rows(self, placement: str) -> Sequence[int]:
        """Return the row of each rank in `nics_by_row` and `gpus_by_row`: its local rank, on usual nodes.

        Rows of the other nodes come after those, kind by kind.
        """
        local = self.local_ranks[placement]
        if not self.others:
            return local
        size = len(next(iter(self.nics.values())))
        before = {node: size * k for k, other in enumerate(self.others, 1) for node in other.nodes}
        return [before.get(host, 0) + rank for host, rank in zip(self.hosts[placement], local, strict=True)]

    def nics_by_row(self, policy: str) -> list[Sequence[str]]:
        """Return the NICs of each local rank, of usual nodes first, then of each kind of the others."""
        return [*self.nics[policy], *(own for other in self.others for own in other.nics[policy])]

    def gpus_by_row(self, policy: str) -> list[str]:
        """Return the GPU of each local rank in the same order; empty for a policy without GPUs."""
        return [*self.gpus.get(policy, ()), *(own for other in self.others for own in other.gpus[policy])]


#: What a job placed that ended before it placed its ranks.
NOT_PLACED = Placed(allocation={}, topology=None, hosts={}, local_ranks={}, nics={})


def write(folder: Path, written: Submitted | Placed) -> None:
    """Write a file as a whole or not at all."""
    name = FILE if isinstance(written, Submitted) else PLACED
    archive.write_whole(folder / name, json.dumps(written, default=_fields))


def _fields(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass as they are: `asdict` copies every host of every rank."""
    return {item.name: getattr(value, item.name) for item in fields(value)}


def read_placed(folder: Path) -> Placed:
    """Return the assigned hosts of all ranks; `NOT_PLACED` if the job ended before it placed them."""
    document = json_object(folder / PLACED)
    return decoded(Placed, document, str(folder / PLACED)) if document else NOT_PLACED


def read(folder: Path) -> Submitted:
    """Return the job of a stage directory; InputError for a folder without a whole `job.json`."""
    document = json_object(folder / FILE)
    name = document.get("format")
    if name != FORMAT:
        raise InputError(str(folder), FILE, name, f"a stage directory with {FORMAT}")
    return decoded(Submitted, document, str(folder / FILE))
