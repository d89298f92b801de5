"""MVAPICH2 by Hydra, with its host file, and by mpirun_rsh; bindings by the library's own variables.

Source: user guide of MVAPICH2 2.3, "Run using Hydra" and "Running with Efficient CPU (Core) Mapping"; "Run using
mpirun_rsh", "Hostfile Format" and "Specifying Environmental Variables": line k of the host file is the node of rank k,
so any order is possible, and variables precede the program. MVAPICH2 binds
ranks unless MV2_ENABLE_AFFINITY is 0. MV2_CPU_MAPPING holds a core for each rank of a node, with colons between. Leaves
out NUMA nodes, because their cores would have to be listed, and no launch knows them before the job.
"""

from __future__ import annotations

from collections.abc import Mapping

from railyard.placements.hosts.node import Binding
from railyard.placements.launchers import hydra
from railyard.placements.launchers.base import BATCH_NODE_FILES, Launcher, Passed, Rendered
from railyard.placements.launchers.files import openmpi_hostfile
from railyard.placements.orders.placement import Placement

BINDINGS = frozenset({Binding.NONE, Binding.CORE, Binding.LAUNCHER})
SOURCE = "[user guide of MVAPICH2 2.3](https://mvapich.cse.ohio-state.edu/userguide/)"
LOCAL_RANK = ("MV2_COMM_WORLD_LOCAL_RANK",)


def affinity(placed: Placement) -> dict[str, str]:
    """Return MVAPICH2's variables for a placement's binding."""
    if placed.binding == Binding.LAUNCHER:
        return {}
    if placed.binding == Binding.NONE:
        return {"MV2_ENABLE_AFFINITY": "0"}
    cores = ":".join(map(str, range(placed.ranks_per_node)))
    return {"MV2_ENABLE_AFFINITY": "1", "MV2_CPU_MAPPING": cores}


def render(placed: Placement, stem: str) -> Rendered:
    """Return the command and files that start the ranks as placed; InputError if a node's ranks are not consecutive."""
    file = f"{stem}.hosts"
    text = hydra.host_file(placed, "mvapich")
    return Rendered(command=hydra.command(placed, file), environment=affinity(placed), files={file: text})


def render_rsh(placed: Placement, stem: str) -> Rendered:
    """Return the command and files that start the ranks as placed; any order of ranks is possible."""
    file = f"{stem}.hosts"
    ranks = ("mpirun_rsh", "-np", str(len(placed.indices)), "-hostfile", file)
    settings = pass_before_program(affinity(placed)).options
    return Rendered(command=(*ranks, *settings), files={file: openmpi_hostfile(placed.nodes)})


def pass_before_program(variables: Mapping[str, str]) -> Passed:
    """Write the variables as NAME=VALUE between mpirun_rsh's own options and the program."""
    return Passed(options=tuple(f"{name}={value}" for name, value in variables.items()))


LAUNCHERS = (
    Launcher(
        name="mvapich",
        render=render,
        selected_by=(("mpiexec", "mvapich2"), ("mpirun", "mvapich2")),
        local_rank=LOCAL_RANK,
        node_files=BATCH_NODE_FILES,
        bindings=BINDINGS,
        source=SOURCE,
        cannot=hydra.CANNOT,
    ),
    Launcher(
        name="mpirun-rsh",
        render=render_rsh,
        selected_by=(("mpirun", "mpirun-rsh"), ("mpiexec", "mpirun-rsh")),
        local_rank=LOCAL_RANK,
        node_files=BATCH_NODE_FILES,
        bindings=BINDINGS,
        pass_variables=pass_before_program,
        source=SOURCE,
    ),
)
