"""What Open MPI 4 and 5 share: the sequential mapper, the rank file, and parameters as options.

Ranks without a binding are placed by the sequential mapper, ranks with one by a rank file. Both take any order. The
order `scheduler` fills the slots of the chosen nodes (mpirun(1), --map-by slot, --hostfile).
"""

from __future__ import annotations

from collections.abc import Mapping

from placements.hosts.binding import Binding
from placements.launchers.base import BATCH_NODE_FILES, Launcher, Passed, Rendered, numa_of
from placements.launchers.files import openmpi_hostfile
from placements.orders.placement import Placement
from placements.orders.spec import Kind

MCA = "OMPI_MCA_"


def launcher(
    name: str, features: tuple[str, ...], rankfile_option: str, *, source: str, allocates: bool = False
) -> Launcher:
    """Return an Open MPI's launcher; `rankfile_option` is how it takes a rank file, with {} for the file's name.

    One that `allocates` refuses the nodes of a rank file that neither a scheduler nor a host file grants, and ranks
    that share cores unless they may overload them. (With `:OVERSUBSCRIBE` Open MPI 5.0.11 would bind none of them.)
    """

    def render(placed: Placement, stem: str) -> Rendered:
        ranks = ("mpirun", "-np", str(len(placed.indices)))
        if placed.kind == Kind.SCHEDULER and placed.binding == Binding.NONE:
            file = f"{stem}.hostfile"
            by_slot = ("--map-by", "slot", "--hostfile", file, "--bind-to", "none")
            return Rendered(command=(*ranks, *by_slot), files={file: _slots(placed)})
        if placed.binding == Binding.NONE:
            file = f"{stem}.hostfile"
            seq = ("--map-by", "seq", "--hostfile", file, "--bind-to", "none")
            return Rendered(command=(*ranks, *seq), files={file: openmpi_hostfile(placed.nodes)})
        file = f"{stem}.rankfile"
        where = rankfile_option.format(file).split()
        if allocates and placed.binding == Binding.NUMA:
            where += ["--bind-to", "package:overload-allowed"]
        hosts = {f"{stem}.hostfile": _slots(placed)} if allocates else {}
        granted = tuple(word for name in hosts for word in ("--hostfile", name))
        return Rendered(command=(*ranks, *granted, *where), files={**hosts, file: rankfile(placed)})

    return Launcher(
        name=name,
        render=render,
        selected_by=tuple(
            (started, feature) for started in ("mpirun", "mpirun-openmpi") for feature in features
        ),
        local_rank=("OMPI_COMM_WORLD_LOCAL_RANK",),
        node_files=BATCH_NODE_FILES,
        pass_variables=pass_by_options,
        source=source,
    )


def _slots(placed: Placement) -> str:
    """Return the chosen nodes with their slots, in the order of the allocation."""
    return "".join(f"{node.name} slots={placed.ranks_per_node}\n" for node in placed.allocation.nodes)


def rankfile(placed: Placement) -> str:
    """Return the rank file: the node of each rank, and its core or all cores of its socket (`slot=SOCKET:*`)."""
    lines = []
    for rank, (node, local) in enumerate(zip(placed.nodes, placed.local_ranks, strict=True)):
        whole_socket = f"{numa_of(placed, int(local))}:*"
        bound = whole_socket if placed.binding == Binding.NUMA else str(local)
        lines.append(f"rank {rank}={node.name} slot={bound}\n")
    return "".join(lines)


def pass_by_options(variables: Mapping[str, str]) -> Passed:
    """Pass Open MPI's parameters as `--mca` options, which override the environment; export the others by `-x`."""
    parameters = {n.removeprefix(MCA): value for n, value in variables.items() if n.startswith(MCA)}
    others = {n: value for n, value in variables.items() if not n.startswith(MCA)}
    mca = (word for n, value in parameters.items() for word in ("--mca", n, value))
    export = (word for n in others for word in ("-x", n))
    return Passed(options=(*mca, *export), environment=others)
