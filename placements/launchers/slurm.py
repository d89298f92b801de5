"""Slurm: arbitrary distribution along a host file (srun(1): -m arbitrary, SLURM_HOSTFILE)."""

from __future__ import annotations

from placements.launchers.base import Launcher, Rendered
from placements.launchers.files import openmpi_hostfile
from placements.launchers.srun import ALL_GPUS, SRUN, blocks, cpu_bind, node_file
from placements.orders.placement import Placement
from placements.orders.spec import Kind


def render(placed: Placement, stem: str) -> Rendered:
    """Return the launch; any order is possible."""
    command = (*SRUN, "--ntasks", str(len(placed.indices)))
    bound = cpu_bind(placed)
    if placed.kind == Kind.SCHEDULER:
        return Rendered(command=(*command, *blocks(placed, stem), *bound), files=node_file(placed, stem))
    file = f"{stem}.hosts"
    return Rendered(
        command=(*command, "--distribution=arbitrary", *bound),
        environment={"SLURM_HOSTFILE": file},
        files={file: openmpi_hostfile(placed.nodes)},
    )


LAUNCHER = Launcher(
    name="slurm",
    render=render,
    selected_by=(("srun", "mpi"), ("srun", "mpich")),
    local_rank=("SLURM_LOCALID",),
    node_list=("SLURM_JOB_NODELIST",),
    all_gpus=ALL_GPUS,
    general=True,
    source="[srun(1)](https://slurm.schedmd.com/srun.html)",
)
