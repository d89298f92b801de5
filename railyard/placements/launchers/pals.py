"""PALS: HPE's mpiexec on Cray EX under PBS, ranks dealt to the lines of a host file (mpiexec(1) of PALS).

Leaves out orders that return to a node, which need Cray MPICH's reorder file, and bindings by PALS itself: a script
binds ranks on real machines.
"""

from __future__ import annotations

import itertools

from railyard.base.errors import InputError
from railyard.placements.hosts.node import Binding
from railyard.placements.launchers.base import BATCH_NODE_FILES, Launcher, Rendered
from railyard.placements.orders.placement import Placement


def render(placed: Placement, stem: str) -> Rendered:
    """Return the command and files that start the ranks as placed.

    Raises InputError for a node whose ranks are not consecutive, and for unequal numbers of ranks per node.
    """
    names = placed.allocation.topology.nodes
    runs = [(names[node].name, len(list(same))) for node, same in itertools.groupby(placed.indices.tolist())]
    counts = {count for _, count in runs}
    if len({name for name, _ in runs}) < len(runs) or len(counts) > 1:
        valid = "for pals the same number of ranks on every node, one after another (cart-create, snake, scheduler)"
        raise InputError("launcher", "placement", str(placed.order), valid)
    file, (per_node,) = f"{stem}.hosts", counts
    unbound = ("--cpu-bind", "none") if placed.binding == Binding.NONE else ()
    ranks = ("mpiexec", "-n", str(len(placed.indices)), "--ppn", str(per_node))
    return Rendered(
        command=(*ranks, "--hostfile", file, *unbound), files={file: "".join(f"{name}\n" for name, _ in runs)}
    )


LAUNCHER = Launcher(
    name="pals",
    render=render,
    selected_by=(("mpiexec", "pals"), ("mpiexec", "cray-mpich")),
    local_rank=("PALS_LOCAL_RANKID",),
    node_files=BATCH_NODE_FILES,
    bindings=frozenset({Binding.NONE, Binding.LAUNCHER}),
    source="mpiexec(1) of PALS; [Polaris](https://docs.alcf.anl.gov/polaris/running-jobs/) of ALCF",
    cannot="nodes that recur, or with unequal numbers of ranks; on real machines a script binds",
)
