"""Place a job on the nodes that a scheduler granted. Runs inside the job, before its launches.

A placement that these nodes do not allow is reported in one line and not launched; the record lists it as not measured.
If a node's coordinate is not known, placements that need one are not launched.

A step with a task per node writes the nodes' descriptions (`railyard.jobs.nodes.node`) to files, because Slurm passes
long lines of output on in pieces, which can mix. Slurm starts it by srun, whatever launcher the launches have;
elsewhere it is a launch of `railyard node-info` by the job's own launcher, one rank per node.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from railyard.base import host_names, programs
from railyard.base.errors import InputError, RunError
from railyard.base.json_files import json_object
from railyard.jobs import placing
from railyard.jobs.job import submitted
from railyard.jobs.job.job_folder import ENVIRONMENT, TORUS
from railyard.jobs.job.submitted import Site, Submitted
from railyard.jobs.nodes import kinds as node_kinds
from railyard.jobs.nodes import node, observed, surroundings
from railyard.jobs.placing import Nodes
from railyard.placements import launchers
from railyard.placements.arrays import np
from railyard.placements.hosts import hostfile, in_job, naming, sources
from railyard.placements.hosts.sources.located import NodeCoordinates
from railyard.placements.hosts.text import readable
from railyard.placements.launchers import Rendered, files
from railyard.placements.orders.allocation import allocate, scheduled
from railyard.placements.orders.placement import place as placed_ranks
from railyard.placements.topology import catalog
from railyard.placements.topology.base import Coordinate
from railyard.records import assemble, provenance
from railyard.records.store import archive

#: Variables that name a host file: the user's own first, then those of batch systems.
NODE_FILES = ("RAILYARD_NODES", *launchers.variables("node_files"))
#: The number of components of a heterogeneous job of Slurm, by today's name and by that before 20.02.
COMPONENTS = ("SLURM_HET_SIZE", "SLURM_PACK_SIZE")
LSF = "LSB_DJOB_HOSTFILE"
PBS = "PBS_NODEFILE"
#: The source of coordinates where no file is named.
ITSELF = "the nodes themselves"


def names(environment: Mapping[str, str]) -> list[str]:
    """Return the nodes of the job that this process belongs to, in the scheduler's order.

    Raises InputError outside a job of a scheduler that is known, RunError where a launcher's own command fails.
    """
    own = bool(environment.get("RAILYARD_NODES"))
    if parts := next((environment[name] for name in COMPONENTS if environment.get(name, "1") != "1"), ""):
        problem = f"a heterogeneous job of {parts} components, of which srun's steps use the first alone"
        valid = "a job of one component, or the nodes to use as a host file in RAILYARD_NODES"
        if not own:
            raise InputError("environment", "SLURM_HET_SIZE", problem=problem, valid=valid)
    for variable in () if own else launchers.variables("node_list"):
        if nodelist := environment.get(variable):
            return list(hostfile.slots(hostfile.parse(nodelist, variable)))
    for variable in NODE_FILES:
        if path := environment.get(variable):
            return _in_file(variable, Path(path))
    for variable, command in launchers.node_commands().items():
        if variable in environment:
            try:
                done = programs.run(command)
            except OSError as error:
                raise RunError(f"{command[0]}: {error.strerror}") from error
            if done.returncode != 0:
                raise RunError(f"{' '.join(command[:3])} failed: {done.stderr.strip()}")
            return list(hostfile.slots(hostfile.parse(done.stdout, command[0])))
    variables = ", ".join((*launchers.variables("node_list"), *NODE_FILES, *launchers.node_commands()))
    valid = f"a job, which sets one of {variables}; or a host file, one node per line, in RAILYARD_NODES"
    raise InputError("environment", "", problem="no variable that lists nodes", valid=valid)


def _in_file(variable: str, path: Path) -> list[str]:
    """Return the nodes of a host file, each once; LSF's batch node is left out, which is reported in one line.

    PBS may name a part of a host, a vnode: HOST[NUMBER].
    """
    if variable == PBS:
        text = re.sub(r"\[[0-9]+\]$", "", readable(path), flags=re.MULTILINE)
        return list(hostfile.slots(hostfile.parse(text, str(path))))
    if variable != LSF:
        return hostfile.names(path)
    nodes, batch = hostfile.without_batch_node(hostfile.entries(path))
    if batch:
        what = f"{variable}: {batch} has one slot and every other node more: left out as the batch node"
        print(f"railyard: {what}; to keep it, list the nodes in RAILYARD_NODES", file=sys.stderr)
    return nodes


def place(folder: Path, granted: Sequence[str]) -> dict[str, str]:
    """Place the job of a stage directory on the nodes granted, and write the files that its launches read.

    Returns placement -> reason for the placements that these nodes do not allow. Raises InputError for a folder without
    a job.
    """
    job = submitted.read(folder)
    is_measured, has_torus = job.site.origin == "measured", (folder / TORUS).exists()
    described = describe(folder, granted, job.site) if is_measured or not has_torus else {}
    if (evidence := observed.emulated(described)) and not has_torus:
        print(f"railyard: the origin is emulated: {evidence}", file=sys.stderr)
        archive.write_whole(folder / TORUS, json.dumps(observed.torus(described)))
    granted = as_numbered(granted, described)
    kinds = node_kinds.of(described, job.site.devices) if is_measured else []
    nodes = dataclasses.replace(allocation(job, granted, described), kinds=kinds, boots=observed.boots(described))
    plan = placing.plan(job, nodes)
    if not nodes.without:
        text = files.coordinates(nodes.allocation.topology, nodes.allocation.nodes)
        (folder / "coordinates").write_text(text)
    placing.write_plan(folder, plan)
    noted = surroundings.described(os.environ)
    for name, document in (("machine.json", provenance.machine()), ("nodes.json", described), (ENVIRONMENT, noted)):
        archive.write_whole(folder / name, json.dumps(document))
    return dict(plan.placed.cannot)


def allocation(
    job: Submitted, granted: Sequence[str], described: Mapping[str, Mapping[str, Any]] | None = None
) -> Nodes:
    """Return the nodes granted as an allocation: in the job's own order if they are those that it requested.

    Otherwise they are in the scheduler's order. `described` maps a node to its description, which gives its coordinate
    if no file does. If the coordinates cannot be read or do not fit the topology, they are unknown, with the reason.
    """
    try:
        coordinates = _coordinates_of(job, granted, described or {})
    except InputError as error:
        return _unknown(job, granted, {}, str(error))
    if not job.site.topology:
        return _unknown(job, granted, coordinates, f"{job.site.configuration} names no topology for the partition")
    topology = catalog.load(job.site.topology)
    try:
        topology = naming.named(topology, coordinates, job.site.coordinates or ITSELF) if coordinates else topology
    except InputError as error:
        return _unknown(job, granted, coordinates, str(error))
    index = {node.name: k for k, node in enumerate(topology.nodes)}
    strangers = [name for name in granted if name not in (coordinates or index)]
    if strangers:
        where = job.site.coordinates or f"the topology {topology.name}"
        more = f" (and {len(strangers) - 1} more)" if len(strangers) > 1 else ""
        return _unknown(job, granted, coordinates, f"{where} has no coordinate of {strangers[0]}{more}")
    indices = np.array([index[name] for name in granted], dtype=np.int64)
    requested = allocate(topology, job.spec.allocation, block=job.spec.block or None, seed=job.spec.seed)
    same = set(requested.indices.tolist()) == set(indices.tolist())
    in_order = scheduled(topology, indices)
    chosen = dataclasses.replace(requested, counted=indices) if same else in_order
    return Nodes(allocation=chosen, scheduled=in_order)


def as_numbered(granted: Sequence[str], described: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the nodes in the order in which a step of the scheduler numbers them, where every node has its number.

    Slurm numbers a step's nodes in the order of its own table, whatever the order of names in its options.
    """
    numbers = [str(described.get(name, {}).get("node_id", "")) for name in granted]
    if not all(number.isdigit() for number in numbers) or len(set(numbers)) < len(numbers):
        return list(granted)
    return [name for _, name in sorted(zip(map(int, numbers), granted, strict=True))]


def _coordinates_of(
    job: Submitted, granted: Sequence[str], described: Mapping[str, Mapping[str, Any]]
) -> dict[str, Coordinate]:
    """Return granted name -> coordinate, from the configured file, or else from the nodes' descriptions.

    Empty if the topology itself has these names. Raises InputError for a file that cannot be read.
    """
    topology = catalog.load(job.site.topology) if job.site.topology else None
    source = job.site.coordinates or ITSELF
    if job.site.coordinates:
        located: NodeCoordinates | None = sources.read(Path(source))
        if located and (note := located.note(source)):
            print(f"railyard: {note}", file=sys.stderr)
    elif topology and {node.name for node in topology.nodes} >= set(granted):
        return {}
    else:
        located = in_job.coordinates(described) if set(described) >= set(granted) else None
    if not located:
        return {}
    coordinates = naming.fitted(topology, located, source) if topology else located.coordinates
    return naming.by_host(granted, coordinates)


def _unknown(job: Submitted, granted: Sequence[str], coordinates: Mapping[str, Coordinate], why: str) -> Nodes:
    topology = naming.flat(granted, rails=len(job.site.devices or [""]))
    in_order = scheduled(topology, np.arange(len(granted), dtype=np.int64))
    return Nodes(allocation=in_order, scheduled=in_order, coordinates=coordinates, without=f"no coordinates: {why}")


#: Folder of the descriptions, below the stage directory.
DESCRIPTIONS = "nodes"
STEP_S = 180
Descriptions = dict[str, dict[str, Any]]


def describe(folder: Path, granted: Sequence[str], site: Site) -> Descriptions:
    """Return node -> description; if the step fails, this is reported in one line and only this node is described.

    The nodes write into the stage directory `folder`; `site` has the launcher that starts the step.
    """
    here = node.describe()
    own = next(iter(by_name([here], granted)), "")
    if own and len(granted) == 1:
        return {own: here}
    try:
        _run(folder, granted, site)
    except (OSError, InputError, subprocess.SubprocessError) as error:
        why = assemble.one_line(str(getattr(error, "stderr", "") or error))
        print(f"railyard: only this node is described: {why}", file=sys.stderr)
    return collected(folder, granted) or {own or granted[0]: here}


def collected(folder: Path, granted: Sequence[str]) -> Descriptions:
    """Return the descriptions that the nodes wrote below a stage directory, by the names granted."""
    described = map(json_object, sorted((folder / DESCRIPTIONS).glob("*.json")))
    return by_name([one for one in described if one], granted)  # one that is cut off counts as not there


def by_name(descriptions: Sequence[Mapping[str, Any]], granted: Sequence[str]) -> Descriptions:
    """Return the descriptions by the names granted: the scheduler's own name of a node, or else its host's."""
    of_node = {str(one.get("node_name", "")): one for one in descriptions}
    of_host = {str(one.get("host", "")): one for one in descriptions}
    matches = host_names.matched(granted, of_host)
    matched = {name: of_node.get(name) or of_host.get(matches.get(name, "")) for name in granted}
    return {name: dict(one) for name, one in matched.items() if one}


def _run(folder: Path, granted: Sequence[str], site: Site) -> None:
    into = folder / DESCRIPTIONS
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir()
    count = str(len(granted))
    srun = ("srun", "--overlap", "--mpi=none", "--cpu-bind=none", "--nodes", count, "--ntasks", count)
    by_srun = Rendered(command=(*srun, "--ntasks-per-node=1"))
    rendered = by_srun if "SLURM_JOB_ID" in os.environ else by_launcher(granted, site)
    for name, text in rendered.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    # By its path, because a shell on another node may lack the PATH of the job.
    own = shutil.which("railyard") or str(Path(sys.executable).with_name("railyard"))
    command = [*rendered.command, own, "node-info", "--into", str(into.resolve())]
    environment = {**os.environ, **rendered.environment}
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=STEP_S, check=True)


def by_launcher(granted: Sequence[str], site: Site) -> Rendered:
    """Return the step as a launch of one rank per node; raises InputError for a launcher that cannot express it."""
    order = np.arange(len(granted), dtype=np.int64)
    allocation = scheduled(naming.flat(list(granted)), order)
    placed = placed_ranks("scheduler", allocation, (len(granted),), ranks_per_node=1)
    rendered = launchers.render(site.launcher, placed, stem="where")
    return dataclasses.replace(rendered, command=(site.wrapper or rendered.command[0], *rendered.command[1:]))
