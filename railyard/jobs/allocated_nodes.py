"""The nodes that a scheduler granted, and a job's placements on them: runs in the job, before its launches.

What cannot be placed on them is said in one line and left out of the job; the record lists it as not measured. Where a
node's coordinate is not known, placements that need one are left out, the others stay.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from placements import launchers
from placements.hosts import naming, sources
from placements.launchers import files
from placements.orders.allocation import Allocation, allocate, scheduled
from placements.topology import catalog
from placements.topology.base import Coordinate
from railyard.errors import InputError, RunError
from railyard.jobs import placing, stagedir, surroundings
from railyard.jobs.stagedir import Job
from railyard.records import archive, provenance


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """The allocation; `stands` where only some coordinates are known, and `without` says which are not.

    `scheduled` is the same in the scheduler's own order.
    """

    allocation: Allocation
    scheduled: Allocation
    stands: Mapping[str, Coordinate] | None = None
    without: str = ""


def names(environment: Mapping[str, str]) -> list[str]:
    """The nodes of the job that this process belongs to, in the scheduler's order.

    Raises InputError outside a job of a scheduler that is known, RunError where Slurm's scontrol fails.
    """
    for variable in launchers.node_list_variables():
        if nodelist := environment.get(variable):
            return _expanded(nodelist)
    for variable in launchers.node_file_variables():
        if path := environment.get(variable):
            return list(dict.fromkeys(Path(path).read_text().split()))
    known = ", ".join((*launchers.node_list_variables(), *launchers.node_file_variables()))
    raise InputError("environment", "", "no job of a scheduler", f"one of {known}")


def _expanded(nodelist: str) -> list[str]:
    command = ["scontrol", "show", "hostnames", nodelist]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunError(f"scontrol show hostnames failed: {done.stderr.strip()}")
    return done.stdout.split()


def place(folder: Path, granted: Sequence[str]) -> dict[str, str]:
    """Place the job of a stage directory on the nodes granted, write what its launches read; placement -> why not."""
    job = stagedir.read(folder)
    found = allocation(job, granted)
    placed, cannot = placing.place_what_can(job, found.allocation, found.without, found.scheduled)
    placing.write_files(folder, job, placed)
    if not found.without:
        text = files.coordinates(found.allocation.topology, found.allocation.nodes)
        (folder / "coordinates").write_text(text)
    stagedir.write(folder, placing.described(job, found.allocation, placed, cannot, found.stands))
    archive.write_whole(folder / "machine.json", json.dumps(provenance.machine()), replace=True)
    noted = json.dumps(surroundings.described(os.environ))
    archive.write_whole(folder / surroundings.FILE, noted, replace=True)
    return cannot


def allocation(job: Job, granted: Sequence[str]) -> Granted:
    """The nodes granted as an allocation, in the scheduler's order, or in the job's own if they are what it asked for.

    Raises InputError for a topology or a source of coordinates that cannot be read, or that do not fit.
    """
    stands = sources.read(Path(job.coordinates)).stands if job.coordinates else {}
    if not job.topology:
        return _unknown(job, granted, stands, "reframe.yml names no topology for the partition")
    topology = catalog.load(job.topology)
    if stands:
        topology = naming.named(topology, stands, job.coordinates)
    index = {node.name: k for k, node in enumerate(topology.nodes)}
    strangers = [name for name in granted if name not in (stands or index)]
    if strangers:
        where = job.coordinates or f"the topology {topology.name}"
        return _unknown(job, granted, stands, f"{where} does not say where {_some(strangers)} stands")
    indices = np.array([index[name] for name in granted], dtype=np.int64)
    asked = allocate(topology, job.order, block=tuple(job.block) or None, seed=job.seed)
    same = set(asked.indices.tolist()) == set(indices.tolist())
    in_order = scheduled(topology, indices)
    return Granted(allocation=asked if same else in_order, scheduled=in_order)


def _unknown(job: Job, granted: Sequence[str], stands: Mapping[str, Coordinate], why: str) -> Granted:
    topology = naming.flat(granted, rails=len(job.devices or [""]))
    order = np.arange(len(granted), dtype=np.int64)
    without = f"no coordinates: {why}"
    in_order = scheduled(topology, order)
    return Granted(allocation=in_order, scheduled=in_order, stands=stands, without=without)


def _some(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} (and {len(names) - 1} more)"
