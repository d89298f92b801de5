"""Read a partition of reframe.yml as one value. docs/cluster.md lists its extras.

Models: `extras: constraint`, where the nodes of a job are in the network, as an option of the scheduler. Sources:
sbatch(1) of Slurm, `--switches=COUNT[@TIME]`; qsub(1B) and pbs_resources(7B) of OpenPBS, `-l place=group=RESOURCE`.
Flux has `--requires=CONSTRAINT` (flux-submit(1)), a filter of nodes by property or name; but ReFrame's backend of Flux
passes no options on. Leaves out: whether the scheduler knows switches, and whether the site has defined the resource.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from railyard.base.errors import InputError
from railyard.jobs.job.submitted import COMPUTED, Site
from railyard.jobs.nodes import allocated_nodes
from railyard.placements.topology import catalog
from railyard.placements.topology.base import Topology
from railyard.torus.engines import DEFAULT, engines
from railyard.torus.virtual import lifecycle

SLURM = frozenset({"slurm", "squeue"})
LOCAL = "local"
#: The tag of checks that run every step of a job, from building to the record, in seconds.
SMOKE = "smoke"
ORIGINS = ("emulated", "measured", *COMPUTED)


_SWITCHES = "COUNT or COUNT@TIME, such as 1@30: the most leaf switches, and the minutes to wait for them"
_RESOURCE = "the name of a resource that has one value on all nodes of a job, such as switch"
#: Scheduler -> its option with `{}` for the value, the regular expression of values, and their description.
CONSTRAINTS: Mapping[str, tuple[str, str, str]] = {
    **dict.fromkeys(("slurm", "squeue"), ("--switches={}", r"[1-9]\d{0,5}(@\d[\d:-]{0,19})?", _SWITCHES)),
    "pbs": ("-l place=group={}", r"[A-Za-z]\w{0,63}", _RESOURCE),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition(Site):
    """A partition: a `Site`, and further settings of reframe.yml.

    `smoke_topology` is the topology of smoke checks where each job makes a torus of its own; empty for `topology`.
    `nodes` is the number of nodes to request if a check names none. `names_nodes`: jobs request the nodes of the
    topology by name. `constraint` is the scheduler's option for `extras: constraint`, or empty. `in_allocation`:
    ReFrame runs inside an allocation, and its jobs use those nodes. `cluster` is the virtual torus whose Slurm runs the
    jobs; None elsewhere. `launch` is the ReFrame launcher that the site's own one wraps. `lacks` lists what the
    environment's MPI cannot do.
    """

    smoke_topology: str
    nodes: int
    names_nodes: bool
    engine: str
    image: str
    cluster: str | None
    in_allocation: bool = False
    constraint: str = ""
    launch: str = ""
    lacks: Collection[str] = ()

    @classmethod
    def read(
        cls, fullname: str, scheduler: str, extras: Mapping[str, Any], variables: Mapping[str, str], **programs: Any
    ) -> Partition:
        """Return a partition of reframe.yml, by its full name, its scheduler's name and its extras.

        `variables` are those of this process, `programs` the fields `environment`, `features` and `lacks`. Raises
        InputError for an origin, an engine or a constraint that there is not.
        """
        constraint = str(extras.get("constraint") or "")
        in_allocation = extras.get("nodes_from") == "environment"
        names = ("topology", "smoke_topology", "coordinates", "image", "launch")
        programs |= {name: str(extras.get(name) or "") for name in names}
        engine = "docker" if programs["image"] else DEFAULT
        return cls(
            fullname=fullname,
            scheduler=scheduler,
            origin=_one_of(extras, "origin", "measured", valid=ORIGINS, partition=fullname),
            engine=_one_of(extras, "engine", engine, valid=tuple(engines()), partition=fullname),
            nodes=int(extras.get("nodes") or 0) or (len(allocated_nodes.names(variables)) if in_allocation else 0),
            names_nodes=bool(extras.get("names_nodes", scheduler == LOCAL and not in_allocation)),
            devices=extras.get("nics"),
            cluster=extras.get("cluster"),
            in_allocation=in_allocation,
            constraint=option(scheduler, constraint, fullname) if constraint else "",
            **programs,
        )

    @property
    def scheduled(self) -> bool:
        """Return whether a scheduler grants the nodes; it may have done so already."""
        return self.scheduler != LOCAL or self.in_allocation

    @property
    def is_slurm(self) -> bool:
        return self.scheduler in SLURM

    @property
    def makes_torus(self) -> bool:
        """Return whether each job has a torus of its own, of the topology that its check names."""
        return self.origin != "measured" and not self.scheduled

    def torus_for(self, tags: Collection[str], topology: str) -> str:
        """Return the topology of the torus that a job makes: `topology`, which the check names, or the smoke checks'.

        Empty means the partition's own. Smoke checks are those with the tag `smoke`; they need few nodes.
        """
        return self.smoke_topology if not topology and self.makes_torus and SMOKE in tags else topology

    def with_torus(self, topology: str) -> Partition:
        """Return the partition with the topology of the torus that a job makes: `topology`, or its own if empty."""
        return dataclasses.replace(self, topology=topology) if topology and self.makes_torus else self

    @property
    def is_certain(self) -> bool:
        """Return whether the nodes are known before the job; a placement that they do not allow is then an error."""
        return self.names_nodes and bool(self.topology)

    @property
    def without_coordinates(self) -> str:
        """Return why placements that need coordinates cannot be made; empty if they can."""
        return "" if self.topology else f"no coordinates: {self.configuration} names no topology for {self.fullname}"

    @property
    def known_topology(self) -> Topology | None:
        """Return the topology that reframe.yml names; None if it names none."""
        return catalog.load(self.topology) if self.topology else None

    @property
    def no_place_for_images(self) -> str:
        """Return why nothing can be run here from an image; empty if it can."""
        if self.is_computed:
            return f"{self.fullname} computes its launches: nothing runs there, from an image or not"
        return f"nodes of {self.fullname} are images already ({self.image})" if self.image else ""

    @property
    def extents(self) -> tuple[int, ...]:
        """Return the number of routers by dimension; empty if no topology is known."""
        return self.known_topology.extents if self.known_topology else ()

    @property
    def rails(self) -> int:
        """Return the number of NICs per node, at least 1."""
        return max(self.known_topology.rails if self.known_topology else 1, len(self.devices or []))

    def node_count(self, requested: int) -> int:
        """Return the number of nodes of a job, of which so many were requested (0: none); 0 if it is not known."""
        here, count = self.known_topology, requested or self.nodes
        return len(here.nodes) if here and (self.names_nodes or not count) else count

    def missing(self) -> str:
        """Return why no job can run here now, in one line: a missing image or cluster; empty if one can."""
        if self.image and (reason := engines()[self.engine].missing(self.image)):
            return reason
        if not self.cluster:
            return ""
        if Path(self.topology).is_file():
            torus = lifecycle.read(self.cluster)
            if torus is None or torus.containers is None:
                return ""
            of_image = f"are containers of {torus.containers.image}, in which a job has no railyard"
            return f"nodes of the torus {self.cluster} {of_image}; `railyard torus srun` launches there"
        up = "railyard torus up TOPOLOGY --name NAME --slurm"
        return f"the torus {self.cluster} (RAILYARD_TORUS) is not up; `{up}` makes one (docs/cluster.md)"


def option(scheduler: str, value: str, partition: str) -> str:
    """Return the scheduler's option for a constraint; InputError for a scheduler without one, or a bad value."""
    none = f"none with the scheduler {scheduler}; {', '.join(sorted(CONSTRAINTS))} have one"
    template, form, valid = CONSTRAINTS.get(scheduler, ("", "", none))
    if not template or not re.fullmatch(form, value):
        raise InputError("reframe.yml", f"{partition}: extras.constraint", value, valid)
    return template.format(value)


def _one_of(extras: Mapping[str, Any], name: str, default: str, *, valid: Sequence[str], partition: str) -> str:
    chosen = str(extras.get(name, default))
    if chosen not in valid:
        raise InputError("reframe.yml", f"{partition}: extras.{name}", chosen, ", ".join(valid))
    return chosen
