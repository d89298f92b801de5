"""Cray MPICH under Slurm: nodes by name, filled in blocks, and a rank reorder file that deals ranks to the slots.

Sources: intro_mpi(3) of HPE Cray MPI, MPICH_RANK_REORDER_METHOD=3 and MPICH_RANK_REORDER_FILE
(https://cpe.ext.hpe.com/docs/mpt/mpich/intro_mpi.html); srun(1), --nodes, --nodelist, --distribution. Without
`--distribution=block` srun deals tasks cyclically if there are no more tasks than nodes, and LUMI's documents warn that
reordering then does not work. srun sorts the names of `--nodelist`, so the reorder file follows srun's own order.
"""

from __future__ import annotations

from railyard.base.errors import InputError
from railyard.placements.arrays import np
from railyard.placements.launchers.base import Launcher, Rendered
from railyard.placements.launchers.srun import ALL_GPUS, SRUN, STARTED_BY, blocks, cpu_bind, node_file
from railyard.placements.orders.placement import Placement


def render(placed: Placement, stem: str) -> Rendered:
    """Return the command and files that start the ranks as placed; InputError for unequal numbers of ranks per node."""
    nodes, counts = np.unique(placed.indices, return_counts=True)
    if len(set(counts.tolist())) > 1:
        what = f"{placed.order} with {counts.min()} to {counts.max()} ranks per node"
        raise InputError("launcher", "placement", what, "for cray-mpich as many ranks on every node")
    command = (*SRUN, "--ntasks", str(len(placed.indices)), *blocks(placed, stem), *cpu_bind(placed))
    files = node_file(placed, stem)
    if placed.order.by_launcher:
        return Rendered(command=command, environment={"MPICH_RANK_REORDER_METHOD": "1"}, files=files)
    launched = placed.allocation.as_launched
    slot_of = np.empty(len(placed.allocation.topology.nodes), dtype=np.int64)
    slot_of[launched] = np.arange(len(launched))
    ranks = np.argsort(slot_of[placed.indices], kind="stable").reshape(len(nodes), -1)
    file = f"{stem}.rank_order"
    return Rendered(
        command=command,
        environment={"MPICH_RANK_REORDER_METHOD": "3", "MPICH_RANK_REORDER_FILE": file},
        files={**files, file: "".join(",".join(map(str, node)) + "\n" for node in ranks)},
    )


LAUNCHER = Launcher(
    name="cray-mpich",
    render=render,
    selected_by=tuple((name, "cray-mpich") for name in STARTED_BY),
    local_rank=("SLURM_LOCALID",),
    node_list=("SLURM_JOB_NODELIST",),
    all_gpus=ALL_GPUS,
    source="[intro_mpi(3)](https://cpe.ext.hpe.com/docs/mpt/mpich/intro_mpi.html), "
    "[srun(1)](https://slurm.schedmd.com/srun.html)",
    cannot="nodes with unequal numbers of ranks",
)
