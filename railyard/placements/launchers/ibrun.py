"""ibrun: TACC's launcher, which fills the nodes of a Slurm job in the scheduler's own order.

Source: "Launching applications" in TACC's user guides: `ibrun -n TASKS -o OFFSET` takes TASKS slots of the job from
slot OFFSET on. It names no node, so only an order that fills the first granted nodes is possible. ibrun starts Intel
MPI or MVAPICH2, which bind ranks unless their variables are 0. Leaves out bindings by these libraries: on real machines
a script binds. Not run: no such machine was at hand.
"""

from __future__ import annotations

from railyard.base.errors import InputError
from railyard.placements.arrays import np
from railyard.placements.hosts.node import Binding
from railyard.placements.launchers.base import Launcher, Rendered
from railyard.placements.launchers.srun import fills
from railyard.placements.orders.placement import Placement

UNBOUND = {"I_MPI_PIN": "0", "MV2_ENABLE_AFFINITY": "0"}


def render(placed: Placement, stem: str) -> Rendered:
    """Return the command that starts the ranks; InputError for an order that does not fill the first granted nodes."""
    if not placed.order.by_launcher and not _is_first(placed):
        valid = "for ibrun scheduler, or an order that fills the first granted nodes one after another"
        raise InputError("launcher", "placement", str(placed.order), valid)
    command = ("ibrun", "-n", str(len(placed.indices)), "-o", "0")
    return Rendered(command=command, environment=UNBOUND if placed.binding == Binding.NONE else {})


def _is_first(placed: Placement) -> bool:
    """Return whether ranks fill the first granted nodes in the scheduler's order."""
    count = len(np.unique(placed.indices))
    return fills(placed) and set(placed.allocation.as_launched[:count]) == set(placed.indices)


LAUNCHER = Launcher(
    name="ibrun",
    render=render,
    selected_by=(("ibrun", "mpi"),),
    local_rank=("MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK"),
    node_list=("SLURM_JOB_NODELIST",),
    bindings=frozenset({Binding.NONE, Binding.LAUNCHER}),
    source="[user guide of Stampede3](https://docs.tacc.utexas.edu/hpc/stampede3/) of TACC",
    cannot="an order that does not fill the first granted nodes one after another; on real machines a script binds",
)
