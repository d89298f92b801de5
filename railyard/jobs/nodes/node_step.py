"""Run one step at the start of a job, with a task per node that writes the node's description to a file.

Slurm starts the step by srun, whatever launcher the launches have; elsewhere it is a launch of `railyard node-info` by
the job's own launcher, one rank per node. The step writes files because Slurm passes long lines of output on in pieces,
which can mix. Leaves out the content of a description (`railyard.jobs.nodes.node`).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from railyard.base import host_names
from railyard.base.errors import InputError
from railyard.base.json_files import json_object
from railyard.jobs.nodes import node
from railyard.placements import launchers
from railyard.placements.arrays import np
from railyard.placements.hosts import naming
from railyard.placements.launchers import Rendered
from railyard.placements.orders.allocation import scheduled
from railyard.placements.orders.placement import place
from railyard.records import assemble

#: Folder of the descriptions, below the stage directory.
DESCRIPTIONS = "nodes"
STEP_S = 180
Descriptions = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What starts the step: the stage directory, the nodes, the job's launcher, its wrapper and environment."""

    folder: Path
    granted: Sequence[str]
    launcher: str
    environment: Mapping[str, str]
    wrapper: str = ""


def describe(step: Step) -> Descriptions:
    """Return node -> description; if the step fails, this is reported in one line and only this node is described."""
    here = node.describe(environment=step.environment)
    own = next(iter(by_name([here], step.granted)), "")
    if own and len(step.granted) == 1:
        return {own: here}
    try:
        _run(step)
    except (OSError, InputError, subprocess.SubprocessError) as error:
        why = assemble.one_line(str(getattr(error, "stderr", "") or error))
        print(f"railyard: only this node is described: {why}", file=sys.stderr)
    return collected(step.folder, step.granted) or {own or step.granted[0]: here}


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


def _run(step: Step) -> None:
    into = step.folder / DESCRIPTIONS
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir()
    rendered = _by_srun(step) if "SLURM_JOB_ID" in step.environment else by_launcher(step)
    for name, text in rendered.files.items():
        (step.folder / name).write_text(text, encoding="utf-8")
    command = [*rendered.command, _railyard(), "node-info", "--into", str(into.resolve())]
    subprocess.run(
        command,
        cwd=step.folder,
        env={**step.environment, **rendered.environment},
        capture_output=True,
        text=True,
        timeout=STEP_S,
        check=True,
    )


def _railyard() -> str:
    """Return this railyard's path: a shell on another node may lack the PATH of the job."""
    return shutil.which("railyard") or str(Path(sys.executable).with_name("railyard"))


def _by_srun(step: Step) -> Rendered:
    count = str(len(step.granted))
    words = ("srun", "--overlap", "--mpi=none", "--cpu-bind=none", "--nodes", count, "--ntasks", count)
    return Rendered(command=(*words, "--ntasks-per-node=1"))


def by_launcher(step: Step) -> Rendered:
    """Return the step as a launch of one rank per node.

    Raises InputError for a launcher that cannot express it.
    """
    order = np.arange(len(step.granted), dtype=np.int64)
    allocation = scheduled(naming.flat(list(step.granted)), order)
    placed = place("scheduler", allocation, (len(step.granted),), ranks_per_node=1)
    rendered = launchers.render(step.launcher, placed, stem="where")
    return replace(rendered, command=(step.wrapper or rendered.command[0], *rendered.command[1:]))
