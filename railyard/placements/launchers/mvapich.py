"""MVAPICH2 by Hydra: its host file, and bindings by the library's own variables.

Source: user guide of MVAPICH2 2.3, "Run using Hydra" and "Running with Efficient CPU (Core) Mapping". MVAPICH2 binds
ranks unless MV2_ENABLE_AFFINITY is 0. MV2_CPU_MAPPING holds a core for each rank of a node, with colons between. Leaves
out NUMA nodes, because their cores would have to be listed, and no launch knows them before the job.
"""

from __future__ import annotations

from railyard.placements.hosts.binding import Binding
from railyard.placements.launchers import hydra
from railyard.placements.launchers.base import BATCH_NODE_FILES, Launcher, Rendered
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


LAUNCHER = Launcher(
    name="mvapich",
    render=render,
    selected_by=(("mpiexec", "mvapich2"), ("mpirun", "mvapich2")),
    local_rank=LOCAL_RANK,
    node_files=BATCH_NODE_FILES,
    bindings=BINDINGS,
    source=SOURCE,
    cannot=hydra.CANNOT,
)
