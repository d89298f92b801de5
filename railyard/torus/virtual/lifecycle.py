"""Bring tori up and down, and list them. Each torus that is up has a folder under /run/railyard.

    /run/railyard/lock                 locked while a torus is made, changed or removed (virtual/locks.py)
    /run/railyard/.autogroup           exists while autogroups are off because of tori (virtual/kernel_limits.py)
    /run/railyard/NAME/launching       locked by a launch on the torus
    /run/railyard/NAME/torus.json      the request, and whether the torus is complete
    /run/railyard/NAME/hosts           /etc/hosts of every host of the torus
    /run/railyard/NAME/hostfile        Open MPI's default host file
    /run/railyard/NAME/hydra.hosts     the same for Hydra (MPICH, Intel MPI)
    /run/railyard/NAME/coordinates     the nodes' coordinates, for the benchmarks (docs/formats.md)
    /run/railyard/NAME/topology.yml    its topology as a file, for other programs
    /run/railyard/NAME/containers/     engine docker: the first process of each node (engines/docker_engine.py)
    /run/railyard/NAME/router*         network `router`: its description, counters and log (engines/router.py)
    /run/railyard/NAME/slurm/          the Slurm that runs on it (slurm/cluster.py)

The folder is written before the first namespace is made and removed after the last one, so `down` finds what a killed
`up` or `down` has left. Containers are found by their label even without the folder.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import yaml

from railyard.base import parent
from railyard.base.decoded import decoded
from railyard.base.errors import InputError, RunError
from railyard.base.json_files import json_object
from railyard.placements.launchers import files
from railyard.placements.topology import catalog
from railyard.placements.topology import faults as fault_model
from railyard.placements.topology.base import Topology
from railyard.placements.topology.faults import Faults
from railyard.torus.engines import DEFAULT, engines, netns, router
from railyard.torus.engines.base import Containers, NodeOrder, Progress, replace_file
from railyard.torus.plan import plan
from railyard.torus.plan.parts import Parts, divide, own_plan
from railyard.torus.plan.plan import Shape, TorusPlan
from railyard.torus.slurm import cluster
from railyard.torus.virtual import kernel_limits, locks, machines

RUN = Path("/run/railyard")
NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")
#: Names that no torus can have, because files below RUN have or had them.
RESERVED = frozenset({"lock", "launch"})
#: The file in a torus's folder that a launch on the torus locks.
LAUNCHING = "launching"
UNFINISHED_S = 1.0  # seconds in which Docker finishes the containers that a killed `up` requested


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A job script that has a torus of its own, which reframe.yml names `job$$`.

    It is known by its process number and its start time in the kernel's ticks, because a number can be used again.
    """

    pid: int
    started: str

    @classmethod
    def of(cls, name: str) -> Owner | None:
        """Return the job script that calls this process, if the torus of this name is its own; None if not."""
        pid = os.getppid()
        return cls(pid=pid, started=parent.started(pid)) if name == f"job{pid}" else None

    def lives(self) -> bool:
        """Return whether this process still runs, and not another one with its number."""
        return parent.started(self.pid) == self.started


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualTorus:
    """A torus as it was requested; `status` compares it with the kernel.

    It is not `complete` while it is made or removed. `pending` are the faults of a change that was not finished.
    `containers` is None if nodes are namespaces. `owner` is the job script that a torus named `jobPID` was made for.
    """

    name: str
    engine: str
    topology: Topology
    shape: Shape
    complete: bool
    faults: Faults = plan.HEALTHY
    pending: Faults | None = None
    containers: Containers | None = None
    slurm: bool = False
    owner: Owner | None = field(default=None, compare=False)
    parts: Parts | None = None

    @property
    def folder(self) -> Path:
        """Return the folder of the torus under /run/railyard."""
        return RUN / self.name

    def plan(self, faults: Faults | None = None) -> TorusPlan:
        """Return the plan of this machine's part of the torus, with the torus's faults or with `faults`."""
        whole = plan.make(self.topology, self.shape, self.faults if faults is None else faults)
        return own_plan(whole, self.parts) if self.parts else whole

    @property
    def machine_of(self) -> Mapping[str, int]:
        """Return the number of the machine of each node and router, by name; nothing on one machine."""
        return divide(self.topology, len(self.parts.machines)) if self.parts else {}

    def provenance(self) -> dict[str, Any]:
        """Return what a record stores of the torus, in `provenance.torus` (docs/formats.md)."""
        made_of = self.containers
        return {
            "name": self.name,
            "engine": self.engine,
            "rate_scale": self.shape.rate_scale,
            "mtu_bytes": self.shape.mtu_bytes,
            "burst_bytes": self.shape.burst_bytes,
            "latency_scaled": self.shape.latency_scaled,
            "network": self.shape.network,
            **({"buffer_cells": self.shape.buffer_cells} if self.shape.network == "router" else {}),
            **self.topology.routes.to_dict(),
            "faults": list(self.faults.summary),
            **({"image": made_of.image, "image_sha256": made_of.image_sha256} if made_of else {}),
            **({"machines": len(self.parts.machines)} if self.parts else {}),
            **({"slowed_from": self.shape.slowed_from} if self.shape.slowed_from else {}),
        }


def up(
    topo: Topology,
    *,
    name: str,
    shape: Shape,
    engine: str = DEFAULT,
    containers: Containers | None = None,
    with_slurm: bool = False,
    progress: Progress = lambda done: None,
    divided: Parts | None = None,
    sockets: Mapping[int, int] | None = None,
) -> tuple[VirtualTorus, bool]:
    """Bring a torus up; return it, and True if it was made now or False if the same torus was up already.

    `progress` is called with the number of containers, namespaces and (`with_slurm`) nodes of Slurm that are made.
    `divided` are the machines of a torus on several; with `sockets`, connections to their routers by number, only this
    machine's part is made. Raises InputError for a bad name, the name of another torus, or a shape that the kernel
    cannot have. Raises RunError if the kernel, Docker or Slurm fails, after everything made has been removed.
    """
    if not NAME.fullmatch(name) or name in RESERVED:
        valid = "a letter, then up to 30 letters (lower case), digits or dashes; not lock or launch"
        raise InputError("--name", "", name, valid)
    requested = VirtualTorus(
        name=name,
        engine=engine,
        topology=topo,
        shape=shape,
        complete=True,
        containers=containers,
        slurm=with_slurm,
        owner=Owner.of(name),
        parts=divided,
    )
    torus_plan = requested.plan()
    with lock():
        if existing := _existing(requested):
            return existing, False
        for orphan in _orphans():
            with contextlib.suppress(RunError):  # `_collect` reports it
                _end(orphan)  # otherwise this command would wait for the orphan's launch
    with locks.turn(), lock():
        if existing := _existing(requested):
            return existing, False
        _collect()
        # A killed `up` leaves its folder. Without the folder no engine is still making containers for it.
        _remove(name, also=engine, finished=not (RUN / name).exists())
        _keep_in_memory(RUN / name)
        write(dataclasses.replace(requested, complete=False), torus_plan)
        kernel_limits.turn_off_groups(RUN)
        try:
            if divided is None or sockets is not None:
                _create(requested, torus_plan, progress, sockets or {})
            else:
                machines.make_others(
                    name, to_document(requested), divided, lambda own: _create(requested, torus_plan, progress, own)
                )
        except BaseException:
            _remove(name)
            raise
        write(requested, torus_plan)
    return requested, True


def _existing(requested: VirtualTorus) -> VirtualTorus | None:
    """Return the torus that is up if it equals the requested one; InputError if a different torus has its name."""
    existing = read(requested.name)
    if existing is None or not existing.complete:
        return None
    if existing != requested:
        valid = f"a name not in use; `railyard torus down {requested.name}` would free it"
        raise InputError("--name", "", requested.name, valid)
    return existing if carries(existing) else None


def carries(torus: VirtualTorus) -> bool:
    """Return whether packets of a torus are forwarded: by the kernel always, by a user-space router while it runs."""
    return torus.shape.network == "kernel" or router.state(torus.name, torus.folder) is not None


def down(name: str) -> None:
    """Remove a torus with everything that runs in it, complete or not. InputError if there is none of this name.

    Kills its processes at once, a launch on it included, and removes the rest when no other launch runs.
    """
    torus = read(name)
    down_part(name)
    if torus and torus.parts:
        machines.on_others(torus.parts, [*machines.PART, "down", name])


def down_part(name: str) -> None:
    """Do what `down` does on this machine alone."""
    with lock():
        existing = names() if name in names() else names() | _left_to_engines()
        if name not in existing:
            raise InputError("torus", "", name, ", ".join(sorted(existing)) or "none is up")
        finished = _end(name)
    with locks.turn(), lock():
        _remove(name, finished=finished)


def down_all() -> list[str]:
    """Remove every torus, also what killed commands have left; return their names.

    If one cannot be removed the others still are. Then raises RunError with the first reason.
    """
    failed: list[str] = []
    finished: set[str] = set()
    with lock():
        all_names = sorted(names() | _left_to_engines())
        divided = {name: torus.parts for name in all_names if (torus := read(name)) and torus.parts}
        for name in all_names:
            with contextlib.suppress(RunError, OSError, ValueError):  # `_remove` raises it again
                finished |= {name} if _end(name) else set()
    with locks.turn(), lock():
        for name in all_names:
            try:
                _remove(name, finished=name in finished)
            except (RunError, OSError, ValueError) as error:
                failed.append(f"torus {name} could not be removed: {error}")
    for name, parts in divided.items():
        try:
            machines.on_others(parts, [*machines.PART, "down", name])
        except RunError as error:
            failed.append(f"torus {name} could not be removed: {error}")
    if failed:
        raise RunError(failed[0])
    return all_names


def names() -> set[str]:
    """Return the names of the tori that have a folder or a namespace. Only `down` also finds mere containers."""
    return {p.name for p in RUN.glob("*") if p.is_dir()} | netns.tori()


def _left_to_engines() -> set[str]:
    """Return the names of the tori that have a node in an engine."""
    return set[str]().union(*(engine.tori() for engine in engines().values()))


def get(name: str) -> VirtualTorus:
    """Return the complete torus of a name; InputError if there is none."""
    torus = read(name)
    if torus is None or not torus.complete:
        if torus or name in names():
            raise InputError("torus", "", name, "one that is complete (take this one down and up again)")
        if there := sorted(names()):
            raise InputError("torus", "", name, ", ".join(there))
        problem = f"{name!r}: no torus is up"
        raise InputError("torus", "", problem=problem, valid="one that is up; run: railyard torus up TOPOLOGY")
    return torus


def read(name: str) -> VirtualTorus | None:
    """Return the torus as torus.json describes it, complete or not.

    Returns None without the file, and for a file that is cut off or of another version.
    """
    try:
        return from_document(name, json.loads((RUN / name / "torus.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def from_document(name: str, document: Mapping[str, Any]) -> VirtualTorus:
    """Return the torus of a document that `to_document` made.

    Raises what `read` takes for no torus: InputError, KeyError or TypeError.
    """
    source, pending = f"{RUN}/{name}/torus.json", document.get("pending")
    return decoded(
        VirtualTorus,
        document,
        source,
        name=name,
        engine=engines()[document["engine"]].name,
        topology=catalog.parse(document["topology"], source=source),
        faults=fault_model.parse(document["faults"]),
        pending=None if pending is None else fault_model.parse(pending),
    )


def _keep_in_memory(folder: Path) -> None:
    """Make the folder of a torus, in memory also where /run is on a disk, as in containers.

    Each rank's session folder is there. On ext4 a launch of 64 ranks took 30 % longer.
    """
    folder.mkdir(parents=True, exist_ok=True)
    mount = '[ "$(stat -f -c %T "$0")" = tmpfs ] || mount -t tmpfs -o mode=755 tmpfs "$0"'
    with contextlib.suppress(OSError):  # where it is refused, the folder is on the disk
        subprocess.run(["sh", "-c", mount, folder], capture_output=True, check=False)


def write(torus: VirtualTorus, torus_plan: TorusPlan) -> None:
    """Write torus.json and the files that launches need, each atomically."""
    torus.folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "hosts": "".join(f"{address} {name}\n" for name, address in (("localhost", "127.0.0.1"), *torus_plan.hosts)),
        "hostfile": files.openmpi_default_hostfile(torus.topology),
        "hydra.hosts": "".join(f"{node.name}\n" for node in torus.topology.nodes),
        "coordinates": files.coordinates(torus.topology),
        "topology.yml": yaml.safe_dump(torus.topology.to_dict(), sort_keys=False),
        "torus.json": json.dumps(to_document(torus), indent=1),
    }
    for name, text in texts.items():
        path = torus.folder / name
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue  # a daemon may have mounted it, and no file can be mounted over one that has been replaced
        replace_file(path, text)


def to_document(torus: VirtualTorus) -> dict[str, Any]:
    """Return the content of torus.json."""
    return {
        "engine": torus.engine,
        "topology": torus.topology.to_dict(),
        "shape": asdict(torus.shape),
        "containers": torus.containers and asdict(torus.containers),
        "slurm": torus.slurm,
        "complete": torus.complete,
        "owner": torus.owner and asdict(torus.owner),
        "faults": torus.faults.to_dict(),
        "pending": None if torus.pending is None else torus.pending.to_dict(),
        "parts": torus.parts and asdict(torus.parts),
    }


def _create(torus: VirtualTorus, torus_plan: TorusPlan, progress: Progress, sockets: Mapping[int, int]) -> None:
    """Make all of a torus, or its part on this machine: nodes, network, router, and Slurm if it has one."""
    nodes = [node.name for node in torus.topology.nodes]
    name, folder = torus.name, torus.folder
    order = NodeOrder(torus=name, nodes=nodes, made_of=torus.containers, hosts=dict(torus_plan.hosts), folder=folder)
    if torus.slurm:
        cluster.prepare(name, torus.topology, folder)
        mounts = functools.partial(cluster.mounts, folder)
        order = dataclasses.replace(order, environment=cluster.environment(folder), mounts=mounts)
    pids = engines()[torus.engine].create(order, progress)
    count_before = len(pids)

    def start_router() -> None:
        if torus.shape.network == "router":
            router.start(name, torus_plan, folder, parts=torus.parts, sockets=sockets)

    netns.create(name, torus_plan, lambda done: progress(count_before + done), pids, before_configuring=start_router)
    if torus.parts:
        machines.join_heads(name, torus.parts)
    count_before += len(torus_plan.namespaces)
    if torus.slurm:
        cluster.start(
            name, nodes, folder, progress=lambda done: progress(count_before + done), containers=torus.containers
        )


def _end(name: str) -> bool:
    """Kill what runs in a torus, a launch included; return whether the torus was complete.

    Works also if torus.json is of another version. Marks the torus as incomplete first.
    """
    namespaces = netns.namespaces(name)
    netns.refuse_inside(netns.identities(namespaces))
    torus, path = read(name), RUN / name / "torus.json"
    if document := json_object(path):
        replace_file(path, json.dumps({**document, "complete": False}, indent=1))
    netns.kill(namespaces)
    return torus is not None and torus.complete


def _remove(name: str, *, also: str = "", finished: bool = False) -> None:
    """Kill what runs in a torus and remove all of it, also nodes of the engine `also`.

    `finished` is True if the torus was complete before, or nothing of it existed. Otherwise an engine may still be
    making nodes for it, so they are waited for.
    """
    finished = _end(name) or finished
    torus = read(name)
    netns.remove(name)
    for engine in engines().values():
        # Without torus.json any engine may have nodes of this name.
        has_nodes = torus.engine == engine.name if torus is not None else name in engine.tori()
        if engine.name == also or has_nodes:
            engine.remove(name, 0 if finished else UNFINISHED_S)
    if (RUN / name).is_mount():
        subprocess.run(["umount", "--lazy", RUN / name], capture_output=True, check=False)
    shutil.rmtree(RUN / name, ignore_errors=True)


def _orphans() -> dict[str, int]:
    """Return name -> process number of the job script, for tori whose script has ended."""
    tori = filter(None, map(read, sorted(names())))
    return {torus.name: torus.owner.pid for torus in tori if torus.owner and not torus.owner.lives()}


def remove_orphans() -> None:
    """Remove the tori of job scripts that have ended, as every command that makes or removes a torus does."""
    if _orphans():
        with lock():
            _collect()


def _collect() -> None:
    """Remove the tori of job scripts that have ended without taking them down; report each on stderr."""
    for name, pid in _orphans().items():
        reason = f"its job (process {pid}) has ended"
        try:
            _remove(name)
            print(f"railyard: removed torus {name}: {reason}", file=sys.stderr)
        except RunError as error:
            print(f"railyard: torus {name} stays, although {reason}: {error}", file=sys.stderr)


@contextlib.contextmanager
def lock() -> Iterator[None]:
    """Hold the lock of commands that make, change or remove tori within the block; wait for others first.

    At the end, if no torus is left, restores the kernel's autogroups and removes /run/railyard.
    """
    descriptor = locks.acquire(RUN / "lock", what="another torus command on this machine")
    try:
        yield
    finally:
        if not names():
            kernel_limits.restore_groups(RUN)
            shutil.rmtree(RUN, ignore_errors=True)
        os.close(descriptor)
