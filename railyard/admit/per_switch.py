"""Print one job of `railyard admit` for the idle nodes of each leaf switch, as Slurm's topology has them.

Models: a machine in use has no time at which all nodes are free, so each switch is tested when its nodes are idle, by a
job of these nodes alone. Leaves out: when to submit them, and paths between switches.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence

from railyard.base import host_names, programs
from railyard.base.errors import RunError, as_seen
from railyard.placements.hosts.sources import slurm

TOPOLOGY = ("scontrol", "show", "topology")
IDLE = ("sinfo", "--noheader", "--Node", "--states=idle", "--format=%N")


def of_slurm(command: Sequence[str], fewest: int) -> Iterator[str]:
    """Yield the lines of a shell that submit the jobs; RunError where Slurm does not answer."""
    yield from lines(_output(TOPOLOGY), _output(IDLE).split(), command, fewest)


def lines(topology: str, idle: Iterable[str], command: Sequence[str], fewest: int) -> Iterator[str]:
    """Yield a job for the idle nodes of each leaf; a comment for a leaf with fewer than `fewest` of them.

    InputError for a topology that cannot be read.
    """
    is_idle = set(idle)
    leaves: dict[tuple[int, ...], list[str]] = {}
    for node, at in slurm.parse_conf(topology, " ".join(TOPOLOGY)).coordinates.items():
        leaves.setdefault(at, []).append(node)
    for number, nodes in enumerate(leaves.values()):
        ready = [node for node in nodes if node in is_idle]
        if len(ready) < fewest:
            yield f"# {_folded(nodes)}: {len(ready)} of {len(nodes)} nodes are idle; {fewest} are needed"
            continue
        job = shlex.join([*command, "--output", f"admission/leaf-{number}"])
        options = f"--exclusive --nodes={len(ready)} --nodelist={_folded(ready)}"
        yield f"sbatch {options} --job-name=admit-leaf-{number} --wrap={shlex.quote(job)}"


def _folded(nodes: Sequence[str]) -> str:
    return ",".join(host_names.folded(nodes))


def _output(command: Sequence[str]) -> str:
    try:
        done = programs.run(command)
    except OSError as error:
        raise RunError(f"{command[0]}: {(error.strerror or '').lower()}; run on a node of Slurm's") from error
    if done.returncode != 0 or not done.stdout.strip():
        why = as_seen(" ".join(done.stderr.split()))[:200] or "no output"
        raise RunError(f"{shlex.join(command)}: {why}; expected Slurm with topology/tree or topology/block")
    return done.stdout
