"""What the launchers that run Slurm's srun share: its command, and how it binds."""

from __future__ import annotations

from placements.launchers.base import numa_of
from placements.orders.placement import Placement
from placements.orders.spec import Binding

#: Without the option a step whose rank died waits for the others until the job's time limit.
SRUN = ("srun", "--kill-on-bad-exit=1")


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
