"""What a partition of reframe.yml says of its machine, in the words of the checks. docs/cluster.md lists the extras."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checks.requirements import Machine
from placements.topology import catalog
from placements.topology.base import Topology
from railyard.errors import InputError
from railyard.jobs import allocated_nodes
from railyard.torus.virtual import lifecycle

SLURM = frozenset({"slurm", "squeue"})
LOCAL = "local"
COMPUTED = ("simulated", "modelled")
ORIGINS = ("emulated", "measured", *COMPUTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """`topology` and `coordinates` are names or paths, empty where nothing is known.

    `nodes` is how many to ask for where a check does not say. `names_nodes`: jobs ask for the very nodes of the
    topology by name. `in_allocation`: ReFrame runs inside an allocation, whose nodes its jobs use. `cluster`: the
    torus that a scheduler on a virtual torus runs on; None where it is no such
    partition.
    """

    fullname: str
    scheduler: str
    origin: str
    topology: str
    coordinates: str
    nodes: int
    names_nodes: bool
    devices: list[str] | None
    image: str
    cluster: str | None
    in_allocation: bool = False

    @classmethod
    def of(cls, partition: Any) -> Partition:
        """Of ReFrame's own; InputError for an origin that there is not."""
        extras = partition.extras
        origin = str(extras.get("origin", "measured"))
        if origin not in ORIGINS:
            where = f"{partition.fullname}: extras.origin"
            raise InputError("reframe.yml", where, origin, ", ".join(ORIGINS))
        scheduler = partition.scheduler.registered_name
        in_allocation = extras.get("nodes_from") == "environment"
        return cls(
            fullname=partition.fullname,
            scheduler=scheduler,
            origin=origin,
            topology=str(extras.get("topology") or ""),
            coordinates=str(extras.get("coordinates") or ""),
            nodes=int(extras.get("nodes") or 0)
            or (len(allocated_nodes.names(os.environ)) if in_allocation else 0),
            names_nodes=bool(extras.get("names_nodes", scheduler == LOCAL and not in_allocation)),
            devices=extras.get("nics"),
            image=str(extras.get("image") or ""),
            cluster=extras.get("cluster"),
            in_allocation=in_allocation,
        )

    @property
    def scheduled(self) -> bool:
        """Whether a scheduler grants the nodes; it may have done so already."""
        return self.scheduler != LOCAL or self.in_allocation

    @property
    def is_slurm(self) -> bool:
        return self.scheduler in SLURM

    @property
    def makes_torus(self) -> bool:
        """Whether each job has a torus of its own, of the topology that its check asks for."""
        return self.origin != "measured" and not self.scheduled

    @property
    def is_computed(self) -> bool:
        """Whether its numbers are worked out, the same each time."""
        return self.origin in COMPUTED

    @property
    def knows_coordinates(self) -> bool:
        return bool(self.topology)

    @property
    def without_coordinates(self) -> str:
        """Why placements that need coordinates cannot be; empty where they can."""
        return "" if self.topology else f"no coordinates: reframe.yml names no topology for {self.fullname}"

    @property
    def known_topology(self) -> Topology | None:
        """The topology that reframe.yml names; None where it names none."""
        return catalog.load(self.topology) if self.topology else None

    def machine(self, nodes: int, cpus: int) -> Machine:
        """What checks may need of it; `nodes` is how many a job is to have where no topology says it."""
        here = self.known_topology
        known = len(here.nodes) if here and (self.names_nodes or not nodes) else nodes
        rails = max(here.rails if here else 1, len(self.devices or []))
        extents = here.extents if here else ()
        return Machine(name=self.fullname, nodes=known, rails=rails, cpus=cpus, extents=extents)

    def missing(self) -> str:
        """Why the partition's cluster cannot take jobs, in one line; empty where it can."""
        if self.cluster is None:
            return ""
        if self.cluster and Path(self.topology).is_file():
            return _no_jobs(self.cluster)
        up = "railyard torus up TOPOLOGY --name NAME --slurm"
        if not self.cluster:
            return f"RAILYARD_TORUS names no torus with Slurm; `{up}` makes one (docs/cluster.md)"
        return f"the torus {self.cluster} (RAILYARD_TORUS) is not up; `{up}` makes one (docs/cluster.md)"


def _no_jobs(cluster: str) -> str:
    """Why jobs cannot run railyard on a torus's nodes; empty where they can."""
    torus = lifecycle.read(cluster)
    if torus is None or torus.containers is None:
        return ""
    return (
        f"nodes of the torus {cluster} are containers of {torus.containers.image}, in which a job has no railyard; "
        "`railyard torus srun` launches there"
    )
