"""A placement in the words of each launcher: arguments, environment and files. Pure: the caller writes the files.

    openmpi4    sequential mapper, or a rank file where ranks are bound   (mpirun(1) of Open MPI 4.1, "rankfile", "seq")
    openmpi5    the same mappers in PRRTE's words                         (prte-map(1): --map-by seq, rankfile:file=)
    mpich       host file of Hydra, NODE:COUNT in the order of ranks      (mpiexec -help of MPICH 4.0: -f, -bind-to)
    slurm       arbitrary distribution along a host file                  (srun(1): -m arbitrary, SLURM_HOSTFILE)
    cray-mpich  rank reorder file, slots filled node by node              (intro_mpi(3): MPICH_RANK_REORDER_METHOD=3)
    smpi        host file, and the topology that is simulated             (`railyard sim`)
    linkload    the same for the link-load model in a program's place     (`railyard model`)

The order `scheduler` tells the launcher nothing but its own block order. What a launcher cannot say is an InputError
that names both. Leaves out NICs (`placements.nics`).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import yaml

from placements.launchers.files import openmpi_hostfile
from placements.orders.placement import Placement
from placements.orders.spec import Binding, Kind
from railyard.errors import InputError

#: Without the option a step whose rank died waits for the others until the job's time limit.
SRUN = ("srun", "--kill-on-bad-exit=1")


class Launcher(StrEnum):
    """The launchers there are."""

    OPENMPI4 = "openmpi4"
    OPENMPI5 = "openmpi5"
    MPICH = "mpich"
    SLURM = "slurm"
    CRAY_MPICH = "cray-mpich"
    SMPI = "smpi"
    LINKLOAD = "linkload"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """What to call: `command` up to the program, `environment` to set, `files` (name -> text) to write beside."""

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


def render(launcher: str, placed: Placement, *, stem: str = "placement") -> Rendered:
    """A placement for a launcher; `stem` begins the names of its files.

    Raises InputError for an unknown launcher, or a placement that it cannot express.
    """
    if launcher not in set(Launcher):
        raise InputError("launcher", "", launcher, ", ".join(Launcher))
    match Launcher(launcher):
        case Launcher.OPENMPI4 | Launcher.OPENMPI5 as openmpi:
            return _openmpi(openmpi, placed, stem)
        case Launcher.MPICH:
            return _mpich(placed, stem)
        case Launcher.SLURM:
            return _slurm(placed, stem)
        case Launcher.CRAY_MPICH:
            return _cray(placed, stem)
        case Launcher.SMPI:
            return _on_topology("sim", placed, stem)
        case Launcher.LINKLOAD:
            return _on_topology("model", placed, stem)


def _openmpi(launcher: Launcher, placed: Placement, stem: str) -> Rendered:
    """Ranks without binding by the sequential mapper, with binding by a rank file: both take any order."""
    ranks = ("mpirun", "-np", str(len(placed.indices)))
    if placed.kind == Kind.SCHEDULER and placed.binding == Binding.NONE:
        return Rendered(command=(*ranks, "--map-by", "slot", "--bind-to", "none"))
    if placed.binding == Binding.NONE:
        name = f"{stem}.hostfile"
        seq = ("--map-by", "seq", "--hostfile", name, "--bind-to", "none")
        return Rendered(command=(*ranks, *seq), files={name: openmpi_hostfile(placed.nodes)})
    name = f"{stem}.rankfile"
    where = ("--rankfile", name) if launcher == Launcher.OPENMPI4 else ("--map-by", f"rankfile:file={name}")
    return Rendered(command=(*ranks, *where), files={name: _rankfile(placed)})


def _rankfile(placed: Placement) -> str:
    """Rank k's node and core, or all cores of its socket (`slot=SOCKET:*`)."""
    lines = []
    for rank, (node, local) in enumerate(zip(placed.nodes, placed.local_ranks, strict=True)):
        whole_socket = f"{_numa_of(placed, int(local))}:*"
        bound = whole_socket if placed.binding == Binding.NUMA else str(local)
        lines.append(f"rank {rank}={node.name} slot={bound}\n")
    return "".join(lines)


def _mpich(placed: Placement, stem: str) -> Rendered:
    """Hydra counts a host that comes again as another node, whose ranks do not share memory with the first."""
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
        raise InputError("launcher", "binding", "numa for mpich", valid)
    file = f"{stem}.hosts"
    command = ("mpiexec", "-f", file, "-n", str(len(placed.indices)), *bindings[placed.binding])
    return Rendered(command=command, files={file: text})


def _slurm(placed: Placement, stem: str) -> Rendered:
    command = (*SRUN, "--ntasks", str(len(placed.indices)))
    bound = _cpu_bind(placed)
    if placed.kind == Kind.SCHEDULER:
        nodes = ("--nodes", str(len(set(placed.nodes))), "--ntasks-per-node", str(placed.ranks_per_node))
        return Rendered(command=(*command, *nodes, "--distribution=block", *bound))
    file = f"{stem}.hosts"
    return Rendered(
        command=(*command, "--distribution=arbitrary", *bound),
        environment={"SLURM_HOSTFILE": file},
        files={file: openmpi_hostfile(placed.nodes)},
    )


def _cray(placed: Placement, stem: str) -> Rendered:
    """The file lists ranks in the order of slots; every node must be full, since srun fills node by node."""
    counts = np.bincount(placed.indices, minlength=len(placed.allocation.topology.nodes))
    counts = counts[placed.allocation.indices]
    if len(set(counts.tolist())) > 1:
        what = f"{placed.kind} with {counts.min()} to {counts.max()} ranks a node"
        raise InputError("launcher", "placement", what, "for cray-mpich as many ranks on every node")
    per_node = ("--ntasks-per-node", str(placed.ranks_per_node))
    command = (*SRUN, "--ntasks", str(len(placed.indices)), *per_node)
    bound = _cpu_bind(placed)
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


def _on_topology(command: str, placed: Placement, stem: str) -> Rendered:
    """Rank by rank, as the sequential mapper, on a topology that is no machine: no core to be bound to."""
    if placed.binding != Binding.NONE:
        raise InputError("launcher", "binding", f"{placed.binding} for railyard {command}", "none")
    name, topology = f"{stem}.hostfile", "topology.yml"
    text = yaml.safe_dump(placed.allocation.topology.to_dict(), sort_keys=False)
    return Rendered(
        command=("railyard", command, "--hostfile", name, topology),
        files={name: openmpi_hostfile(placed.nodes), topology: text},
    )


def _cpu_bind(placed: Placement) -> tuple[str, ...]:
    local = range(placed.ranks_per_node)
    match placed.binding:
        case Binding.NONE:
            return ("--cpu-bind=none",)
        case Binding.CORE:
            return ("--cpu-bind=map_cpu:" + ",".join(map(str, local)),)
        case Binding.NUMA:
            return ("--cpu-bind=map_ldom:" + ",".join(str(_numa_of(placed, k)) for k in local),)


def _numa_of(placed: Placement, local: int) -> int:
    """The ranks of a node fill its NUMA nodes (a socket each) in equal blocks."""
    return local * placed.allocation.topology.sockets_per_node // placed.ranks_per_node
