"""Slurm: nodes by name and filled in blocks where that is the order, otherwise a host file with every rank.

Sources: srun(1), -m block, --nodelist, -m arbitrary, SLURM_HOSTFILE, in which NODE*COUNT means so many ranks in a
row. With a host file slurmctld compares each node of the step with each rank under its locks. Where a topology is named
the job alone knows whether its nodes come in the order of the placement, and the command, which is written before, has
the host file.
"""

from __future__ import annotations

from railyard.placements.hosts import naming
from railyard.placements.launchers.base import Launcher, Rendered
from railyard.placements.launchers.files import counted_hostfile
from railyard.placements.launchers.srun import ALL_GPUS, SRUN, STARTED_BY, blocks, cpu_bind, fills, node_file
from railyard.placements.orders.placement import Placement


def render(placed: Placement, stem: str) -> Rendered:
    """Return the command and files that start the ranks as placed; any order of ranks is possible."""
    command = (*SRUN, "--ntasks", str(len(placed.indices)))
    bound, file = cpu_bind(placed), f"{stem}.hosts"
    hosts = {file: counted_hostfile(placed.nodes)}
    if placed.order.by_launcher:
        return Rendered(command=(*command, *blocks(placed, stem), *bound), files=node_file(placed, stem))
    if naming.is_flat(placed.allocation.topology) and fills(placed):
        files = {**node_file(placed, stem), **hosts}  # those of a job whose coordinates turned out to be unknown, too
        return Rendered(command=(*command, *blocks(placed, stem), *bound), files=files)
    return Rendered(
        command=(*command, "--distribution=arbitrary", *bound), environment={"SLURM_HOSTFILE": file}, files=hosts
    )


LAUNCHER = Launcher(
    name="slurm",
    render=render,
    selected_by=tuple((name, feature) for name in STARTED_BY for feature in ("mpi", "mpich")),
    local_rank=("SLURM_LOCALID",),
    node_list=("SLURM_JOB_NODELIST",),
    all_gpus=ALL_GPUS,
    general=True,
    source="[srun(1)](https://slurm.schedmd.com/srun.html)",
)
