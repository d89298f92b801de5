"""Flux: tasks dealt to the lines of a host file, within an allocation that Flux granted.

Sources: flux-run(1), --requires (RFC 35: `hosts:LIST`), --taskmap, --exclusive; flux-shell(1), cpu-affinity and
gpu-affinity; flux-core's own test of `--taskmap=hostfile:FILE`, t/t2617-job-shell-taskmap-hostfile.t. Without a task
map Flux fills the nodes in blocks. The plugin mpibind of LLNL's machines would bind over `cpu-affinity`; it is off.
Leaves out NUMA nodes, because their cores would have to be listed. ReFrame has no launcher of that name: an environment
with the feature `flux` selects this one.
"""

from __future__ import annotations

from railyard.placements.hosts.node import Binding
from railyard.placements.launchers.base import Launcher, Rendered
from railyard.placements.launchers.files import openmpi_hostfile
from railyard.placements.orders.placement import Placement


def render(placed: Placement, stem: str) -> Rendered:
    """Return the command and files that start the ranks as placed; any order of ranks is possible."""
    names = list(dict.fromkeys(node.name for node in placed.nodes))
    file = f"{stem}.hosts"
    where = ("--exclusive", f"--requires=hosts:{','.join(names)}", f"--taskmap=hostfile:{file}")
    ranks = ("flux", "run", "--nodes", str(len(names)), "--ntasks", str(len(placed.indices)))
    return Rendered(command=(*ranks, *where, *_affinity(placed)), files={file: openmpi_hostfile(placed.nodes)})


def _affinity(placed: Placement) -> tuple[str, ...]:
    """Return the shell's options: a core for each task of a node in its order there, or none, or no options."""
    if placed.binding == Binding.LAUNCHER:
        return ()
    cores = "map:" + ";".join(map(str, range(placed.ranks_per_node)))
    bound = "off" if placed.binding == Binding.NONE else cores
    return ("-o", "mpibind=off", "-o", f"cpu-affinity={bound}", "-o", "gpu-affinity=off")


LAUNCHER = Launcher(
    name="flux",
    render=render,
    selected_by=tuple((started, "flux") for started in ("local", "mpiexec", "mpirun")),
    local_rank=("FLUX_TASK_LOCAL_ID",),
    node_commands={"FLUX_URI": ("flux", "hostlist", "--expand", "--delimiter=\n", "local")},
    bindings=frozenset({Binding.NONE, Binding.CORE, Binding.LAUNCHER}),
    source="[flux-run(1)](https://flux-framework.readthedocs.io/projects/flux-core/en/latest/man1/flux-run.html), "
    "flux-shell(1), RFC 35",
)
