"""Provide what all launchers based on Slurm's srun share: its command, the nodes of a step, and how it binds."""

from __future__ import annotations

from railyard.placements.arrays import np
from railyard.placements.hosts.node import Binding
from railyard.placements.launchers.base import numa_of
from railyard.placements.orders.placement import Placement

#: Without the option a step whose rank died waits for the others until the job's time limit.
SRUN = ("srun", "--kill-on-bad-exit=1")

#: ReFrame's launchers that are srun. `srunalloc` runs inside an allocation that all launches share.
STARTED_BY = ("srun", "srunalloc")

#: srun(1), --gpu-bind: without it a site's default may leave each task one GPU, which then has the number 0.
ALL_GPUS = {"SLURM_GPU_BIND": "none"}


def blocks(placed: Placement, stem: str) -> tuple[str, ...]:
    """Return srun's options for a step on the nodes of a placement, which are filled one after another.

    Without names a step takes the first nodes of the job (srun(1), --nodelist: a name with a slash is a file's).
    """
    count = len(np.unique(placed.indices))
    per_node = -(-len(placed.indices) // count)
    words = ("--nodes", str(count), "--nodelist", f"./{stem}.nodes", "--ntasks-per-node", str(per_node))
    return (*words, "--distribution=block")


def fills(placed: Placement) -> bool:
    """Return whether ranks fill the nodes one after another and equally, in the order in which srun numbers them."""
    launched = placed.allocation.as_launched
    slot_of = np.full(len(placed.allocation.topology.nodes), -1, dtype=np.int64)
    slot_of[launched] = np.arange(len(launched))
    slots = slot_of[placed.indices]
    _, counts = np.unique(slots, return_counts=True)
    return bool((np.diff(slots) >= 0).all() and slots[0] >= 0 and (counts == counts[0]).all())


def node_file(placed: Placement, stem: str) -> dict[str, str]:
    """Return the file that `blocks` names: the nodes that have a rank, in srun's own order."""
    used = placed.allocation.as_launched[np.isin(placed.allocation.as_launched, placed.indices)]
    nodes = placed.allocation.topology.nodes
    return {f"{stem}.nodes": "".join(f"{nodes[index].name}\n" for index in used)}


def cpu_bind(placed: Placement) -> tuple[str, ...]:
    """Return srun's option for the placement's binding."""
    local = range(placed.ranks_per_node)
    match placed.binding:
        case Binding.NONE:
            return ("--cpu-bind=none",)
        case Binding.CORE:
            return ("--cpu-bind=map_cpu:" + ",".join(map(str, local)),)
        case Binding.NUMA:
            return ("--cpu-bind=map_ldom:" + ",".join(str(numa_of(placed, k)) for k in local),)
        case Binding.LAUNCHER:
            return ()
