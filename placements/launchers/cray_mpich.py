"""Cray MPICH: rank reorder file, slots filled node by node (intro_mpi(3): MPICH_RANK_REORDER_METHOD=3).

The file lists ranks in the order of slots. Every node must be full, because srun fills node by node.
"""

from __future__ import annotations

import numpy as np

from placements.launchers.base import Launcher, Rendered
from placements.launchers.srun import SRUN, cpu_bind
from placements.orders.placement import Placement
from placements.orders.spec import Kind
from railyard.errors import InputError


def render(placed: Placement, stem: str) -> Rendered:
    """Return the launch; raises InputError for unequal numbers of ranks per node."""
    counts = np.bincount(placed.indices, minlength=len(placed.allocation.topology.nodes))
    counts = counts[placed.allocation.indices]
    if len(set(counts.tolist())) > 1:
        what = f"{placed.kind} with {counts.min()} to {counts.max()} ranks a node"
        raise InputError("launcher", "placement", what, "for cray-mpich as many ranks on every node")
    per_node = ("--ntasks-per-node", str(placed.ranks_per_node))
    command = (*SRUN, "--ntasks", str(len(placed.indices)), *per_node)
    bound = cpu_bind(placed)
    if placed.kind == Kind.SCHEDULER:
        return Rendered(command=(*command, *bound), environment={"MPICH_RANK_REORDER_METHOD": "1"})
    place_of = np.empty(len(placed.allocation.topology.nodes), dtype=np.int64)
    place_of[placed.allocation.indices] = np.arange(len(placed.allocation.indices))
    ranks = np.argsort(place_of[placed.indices], kind="stable").reshape(-1, placed.ranks_per_node)
    file = f"{stem}.rank_order"
    return Rendered(
        command=(*command, *bound),
        environment={"MPICH_RANK_REORDER_METHOD": "3", "MPICH_RANK_REORDER_FILE": file},
        files={file: "".join(",".join(map(str, node)) + "\n" for node in ranks)},
    )


LAUNCHER = Launcher(
    name="cray-mpich",
    render=render,
    selected_by=(("srun", "cray-mpich"),),
    local_rank=("SLURM_LOCALID",),
    node_list=("SLURM_JOB_NODELIST",),
)
