"""MPICH: host file of Hydra, NODE:COUNT in the order of ranks (mpiexec -help of MPICH 4.0: -f, -bind-to).

Intel MPI and MVAPICH2 have the same launcher; a rank of MVAPICH2 has its local number in a variable of its own.
"""

from __future__ import annotations

import itertools
from collections import Counter

from placements.hosts.binding import Binding
from placements.launchers.base import BATCH_NODE_FILES, Launcher, Rendered
from placements.orders.placement import Placement
from railyard.errors import InputError


def render(placed: Placement, stem: str) -> Rendered:
    """Return the launch; refuses a node that recurs, because Hydra then takes it for another node."""
    runs = [(node, len(list(same))) for node, same in itertools.groupby(placed.indices.tolist())]
    node, times = Counter(node for node, _ in runs).most_common(1)[0]
    if times > 1:
        name = placed.allocation.topology.nodes[node].name
        what = f"{placed.kind}, which comes back to {name}"
        valid = "for mpich the ranks of a node one after another (cart-create, snake, scheduler) or one rank a node"
        raise InputError("launcher", "placement", what, valid)
    names = placed.allocation.topology.nodes
    text = "".join(f"{names[node].name}:{count}\n" for node, count in runs)
    bindings: dict[Binding, tuple[str, ...]] = {
        Binding.NONE: (),
        Binding.CORE: ("-bind-to", "user:" + ",".join(map(str, range(placed.ranks_per_node)))),
        Binding.NUMA: ("-bind-to", "numa", "-map-by", "numa"),
    }
    numa_nodes = placed.allocation.topology.sockets_per_node
    if placed.binding == Binding.NUMA and placed.ranks_per_node > numa_nodes > 1:
        valid = f"none, core, or at most {numa_nodes} ranks a node (mpich deals ranks to NUMA nodes in turn)"
        raise InputError("launcher", "binding", problem="mpich cannot bind by numa", valid=valid)
    file = f"{stem}.hosts"
    command = ("mpiexec", "-f", file, "-n", str(len(placed.indices)), *bindings[placed.binding])
    return Rendered(command=command, files={file: text})


HYDRA = ("mpich", "intel-mpi", "mvapich2")

LAUNCHER = Launcher(
    name="mpich",
    render=render,
    selected_by=tuple((name, mpi) for name in ("mpiexec", "mpirun", "mpirun-intelmpi") for mpi in HYDRA),
    local_rank=("MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK"),
    node_files=BATCH_NODE_FILES,
)
