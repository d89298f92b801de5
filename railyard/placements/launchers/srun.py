"""The launchers in jobs of Slurm: srun itself, Cray MPICH's reorder file under srun, and ibrun of TACC.

Slurm: srun(1), -m block, --nodelist, -m arbitrary, SLURM_HOSTFILE, in which NODE*COUNT means so many ranks in a row.
Nodes are named and filled in blocks where that is the order, otherwise there is a host file with every rank, for which
slurmctld compares each node of the step with each rank under its locks. Where a topology is named the job alone knows
whether its nodes come in the order of the placement, and the command, which is written before, has the host file.

Cray MPICH: intro_mpi(3) of HPE Cray MPI, MPICH_RANK_REORDER_METHOD=3 and MPICH_RANK_REORDER_FILE
(https://cpe.ext.hpe.com/docs/mpt/mpich/intro_mpi.html). Nodes are filled in blocks, and the reorder file deals ranks to
the slots. Without `--distribution=block` srun deals tasks cyclically if there are no more tasks than nodes, and LUMI's
documents warn that reordering then does not work. srun sorts the names of `--nodelist`, so the reorder file follows
srun's own order.

ibrun: "Launching applications" in TACC's user guides. `ibrun -n TASKS -o OFFSET` takes TASKS slots of the job from slot
OFFSET on, in the scheduler's own order. It names no node, so only an order that fills the first granted nodes is
possible. ibrun starts Intel MPI or MVAPICH2, which bind ranks unless their variables are 0. Leaves out bindings by
these libraries: on real machines a script binds. Not run: no such machine was at hand.
"""

from __future__ import annotations

from railyard.base.errors import InputError
from railyard.placements.arrays import Ints, np
from railyard.placements.hosts import naming
from railyard.placements.hosts.node import Binding
from railyard.placements.launchers.base import Launcher, Rendered, numa_of
from railyard.placements.launchers.files import counted_hostfile
from railyard.placements.orders.placement import Placement

#: Without the option a step whose rank died waits for the others until the job's time limit.
SRUN = ("srun", "--kill-on-bad-exit=1")

#: ReFrame's launchers that are srun. `srunalloc` runs inside an allocation that all launches share.
STARTED_BY = ("srun", "srunalloc")

#: srun(1), --gpu-bind: without it a site's default may leave each task one GPU, which then has the number 0.
ALL_GPUS = {"SLURM_GPU_BIND": "none"}
#: What turns off the bindings of Intel MPI and MVAPICH2.
UNBOUND = {"I_MPI_PIN": "0", "MV2_ENABLE_AFFINITY": "0"}


def _blocks(placed: Placement, stem: str) -> tuple[str, ...]:
    """Return srun's options for a step on the nodes of a placement, which are filled one after another.

    Without names a step takes the first nodes of the job (srun(1), --nodelist: a name with a slash is a file's).
    """
    count = len(np.unique(placed.indices))
    per_node = -(-len(placed.indices) // count)
    words = ("--nodes", str(count), "--nodelist", f"./{stem}.nodes", "--ntasks-per-node", str(per_node))
    return (*words, "--distribution=block")


def _fills(placed: Placement) -> bool:
    """Return whether ranks fill the nodes one after another and equally, in the order in which srun numbers them."""
    slots = _slots(placed)
    _, counts = np.unique(slots, return_counts=True)
    return bool((np.diff(slots) >= 0).all() and slots[0] >= 0 and (counts == counts[0]).all())


def _slots(placed: Placement) -> Ints:
    """Return the place of every rank's node in srun's own order, -1 for a node that is not in it; shape (ranks,)."""
    launched = placed.allocation.as_launched
    slot_of = np.full(len(placed.allocation.topology.nodes), -1, dtype=np.int64)
    slot_of[launched] = np.arange(len(launched))
    return np.asarray(slot_of[placed.indices])


def _node_file(placed: Placement, stem: str) -> dict[str, str]:
    """Return the file that `_blocks` names: the nodes that have a rank, in srun's own order."""
    used = placed.allocation.as_launched[np.isin(placed.allocation.as_launched, placed.indices)]
    nodes = placed.allocation.topology.nodes
    return {f"{stem}.nodes": "".join(f"{nodes[index].name}\n" for index in used)}


def _cpu_bind(placed: Placement) -> tuple[str, ...]:
    """Return srun's option for the placement's binding."""
    local = range(placed.ranks_per_node)
    bindings: dict[Binding, tuple[str, ...]] = {
        Binding.NONE: ("--cpu-bind=none",),
        Binding.CORE: ("--cpu-bind=map_cpu:" + ",".join(map(str, local)),),
        Binding.NUMA: ("--cpu-bind=map_ldom:" + ",".join(str(numa_of(placed, k)) for k in local),),
    }
    return bindings.get(placed.binding, ())


def render_slurm(placed: Placement, stem: str) -> Rendered:
    """Return the command and files that start the ranks as placed; any order of ranks is possible."""
    command = (*SRUN, "--ntasks", str(len(placed.indices)))
    bound, file = _cpu_bind(placed), f"{stem}.hosts"
    hosts = {file: counted_hostfile(placed.nodes)}
    if placed.order.by_launcher:
        return Rendered(command=(*command, *_blocks(placed, stem), *bound), files=_node_file(placed, stem))
    if naming.is_flat(placed.allocation.topology) and _fills(placed):
        files = {**_node_file(placed, stem), **hosts}  # those of a job whose coordinates turned out to be unknown, too
        return Rendered(command=(*command, *_blocks(placed, stem), *bound), files=files)
    return Rendered(
        command=(*command, "--distribution=arbitrary", *bound), environment={"SLURM_HOSTFILE": file}, files=hosts
    )


def render_cray_mpich(placed: Placement, stem: str) -> Rendered:
    """Return the command and files that start the ranks as placed; InputError for unequal numbers of ranks per node."""
    nodes, counts = np.unique(placed.indices, return_counts=True)
    if len(set(counts.tolist())) > 1:
        what = f"{placed.order} with {counts.min()} to {counts.max()} ranks per node"
        raise InputError("launcher", "placement", what, "for cray-mpich as many ranks on every node")
    command = (*SRUN, "--ntasks", str(len(placed.indices)), *_blocks(placed, stem), *_cpu_bind(placed))
    files = _node_file(placed, stem)
    if placed.order.by_launcher:
        return Rendered(command=command, environment={"MPICH_RANK_REORDER_METHOD": "1"}, files=files)
    ranks = np.argsort(_slots(placed), kind="stable").reshape(len(nodes), -1)
    file = f"{stem}.rank_order"
    return Rendered(
        command=command,
        environment={"MPICH_RANK_REORDER_METHOD": "3", "MPICH_RANK_REORDER_FILE": file},
        files={**files, file: "".join(",".join(map(str, node)) + "\n" for node in ranks)},
    )


def render_ibrun(placed: Placement, stem: str) -> Rendered:
    """Return the command that starts the ranks; InputError for an order that does not fill the first granted nodes."""
    first = placed.allocation.as_launched[: len(np.unique(placed.indices))]
    if not placed.order.by_launcher and not (_fills(placed) and set(first) == set(placed.indices)):
        valid = "for ibrun scheduler, or an order that fills the first granted nodes one after another"
        raise InputError("launcher", "placement", str(placed.order), valid)
    command = ("ibrun", "-n", str(len(placed.indices)), "-o", "0")
    return Rendered(command=command, environment=UNBOUND if placed.binding == Binding.NONE else {})


LAUNCHERS = (
    Launcher(
        name="slurm",
        render=render_slurm,
        selected_by=tuple((name, feature) for name in STARTED_BY for feature in ("mpi", "mpich")),
        local_rank=("SLURM_LOCALID",),
        node_list=("SLURM_JOB_NODELIST",),
        all_gpus=ALL_GPUS,
        general=True,
        source="[srun(1)](https://slurm.schedmd.com/srun.html)",
    ),
    Launcher(
        name="cray-mpich",
        render=render_cray_mpich,
        selected_by=tuple((name, "cray-mpich") for name in STARTED_BY),
        local_rank=("SLURM_LOCALID",),
        node_list=("SLURM_JOB_NODELIST",),
        all_gpus=ALL_GPUS,
        source="[intro_mpi(3)](https://cpe.ext.hpe.com/docs/mpt/mpich/intro_mpi.html), "
        "[srun(1)](https://slurm.schedmd.com/srun.html)",
        cannot="nodes with unequal numbers of ranks",
    ),
    Launcher(
        name="ibrun",
        render=render_ibrun,
        selected_by=(("ibrun", "mpi"),),
        local_rank=("MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK"),
        node_list=("SLURM_JOB_NODELIST",),
        bindings=frozenset({Binding.NONE, Binding.LAUNCHER}),
        source="[user guide of Stampede3](https://docs.tacc.utexas.edu/hpc/stampede3/) of TACC",
        cannot="an order that does not fill the first granted nodes one after another; on real machines a script binds",
    ),
)
