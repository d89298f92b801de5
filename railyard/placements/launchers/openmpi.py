"""Open MPI 4 and 5: the sequential mapper, the rank file, and parameters as options.

Ranks without a binding are placed by the sequential mapper, ranks with one by a rank file. Both take any order. The
order `scheduler` fills the slots of the chosen nodes (mpirun(1), --map-by slot, --hostfile).

Open MPI 4: mpirun(1) of 4.1, "rankfile", "seq". Open MPI 5 has the same mappers in PRRTE's words (prte-map(1): --map-by
seq, rankfile:file=). Without a scheduler PRRTE refuses a rank file whose nodes no host file grants; Open MPI 4 takes
them from the rank file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from railyard.placements.hosts.node import Binding
from railyard.placements.launchers.base import (
    BATCH_NODE_FILES,
    PMIX_SEGMENTS,
    AgentHosts,
    AgentVariables,
    Launcher,
    Passed,
    Rendered,
    numa_of,
)
from railyard.placements.launchers.files import openmpi_hostfile
from railyard.placements.orders.placement import Placement

MCA = "OMPI_MCA_"
PRRTE = "PRTE_MCA_"
#: Parameters of Open MPI 4 that Open MPI 5 lacks.
GONE = frozenset({"OMPI_MCA_osc", "OMPI_MCA_hwloc_base_binding_policy"})
#: Open MPI's own default of the number of daemons that one daemon starts or forwards to.
RADIX = 64
#: What precedes the version in what `mpirun --version` prints, such as `mpirun (Open MPI) 4.1.4`; a pattern.
PRODUCT = r"\((?:Open MPI|OpenRTE)\) "


def launcher(
    name: str,
    features: tuple[str, ...],
    rankfile_option: str,
    *,
    majors: str,
    on_agent_hosts: Callable[[AgentHosts], AgentVariables],
    source: str,
    allocates: bool = False,
) -> Launcher:
    """Return an Open MPI's launcher; `rankfile_option` is how it takes a rank file, with {} for the file's name.

    `majors` is a pattern of the major versions that it belongs to.

    One that `allocates` refuses the nodes of a rank file that neither a scheduler nor a host file grants, and ranks
    that share cores unless they may overload them. (With `:OVERSUBSCRIBE` Open MPI 5.0.11 would bind none of them.)
    """

    def render(placed: Placement, stem: str) -> Rendered:
        ranks = ("mpirun", "-np", str(len(placed.indices)))
        if not placed.binding.is_known:
            file = f"{stem}.hostfile"
            by_slot = placed.order.by_launcher
            words = ("--map-by", "slot" if by_slot else "seq", "--hostfile", file)
            unbound = ("--bind-to", "none") if placed.binding == Binding.NONE else ()
            text = _slots(placed) if by_slot else openmpi_hostfile(placed.nodes)
            return Rendered(command=(*ranks, *words, *unbound), files={file: text})
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
            (started, feature) for started in ("mpirun", "mpirun-openmpi", "mpiexec") for feature in features
        ),
        local_rank=("OMPI_COMM_WORLD_LOCAL_RANK",),
        node_files=BATCH_NODE_FILES,
        pass_variables=pass_by_options,
        on_agent_hosts=on_agent_hosts,
        version=rf"{PRODUCT}(?:{majors})\.\d",
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


def parameters(values: Mapping[str, str], prefix: str = MCA) -> dict[str, str]:
    """Return the variables that set parameters of Open MPI, or of PRRTE by its own prefix."""
    return {f"{prefix}{name}": value for name, value in values.items()}


def rank_variables(hosts: AgentHosts) -> dict[str, str]:
    """Return the variables of Open MPI's ranks on hosts that are one machine's namespaces, whoever starts the ranks."""
    return parameters(
        {
            "pml": "ob1",
            # Ranks of one node talk over TCP too: no poll() sees shared memory, so a rank that waits would wake every
            # millisecond (railyard/torus/native/idle.c).
            "btl": "self,tcp",
            "btl_tcp_if_include": ",".join(hosts.nics),
            # Not `put`: its handshake waits behind data in the stream; 128 KiB faces take 1.6 times as long.
            "btl_tcp_flags": "send",
            "osc": "pt2pt",  # for one-sided calls, because the other components need `put`
            "mpi_yield_when_idle": "1",
            "hwloc_base_binding_policy": "none",
        }
    )


def reach_parameters(hosts: AgentHosts, component: str, radix: str, hostfile: str) -> dict[str, str]:
    """Return the parameters by which mpirun finds and starts its daemons: `component` is `plm_rsh` or `plm_ssh`.

    At this radix every daemon connects to the head alone, whose neighbour entry is permanent, so that the kernel's
    small table of other neighbours does not overflow.
    """
    start = {"agent": hosts.agent, "no_tree_spawn": "1", "num_concurrent": "4096"}
    return {
        **{f"{component}_{name}": value for name, value in start.items()},
        radix: str(max(RADIX, hosts.count)),
        hostfile: hosts.hostfile,
    }


def as_root(*programs: str) -> dict[str, str]:
    """Return the variables that let root run ranks: the only user of a container or a user namespace is root."""
    return {f"{name}_ALLOW_RUN_AS_ROOT{more}": "1" for name in programs for more in ("", "_CONFIRM")}


def on_agent_hosts_4(hosts: AgentHosts) -> AgentVariables:
    """Return the variables of Open MPI 4's mpirun, of its daemons and ranks."""
    reach = {"plm": "rsh", **reach_parameters(hosts, "plm_rsh", "routed_radix", "orte_default_hostfile")}
    daemons = {"orte_tmpdir_base": hosts.folder, "oob_tcp_if_include": hosts.management}
    run = {**parameters(daemons), **rank_variables(hosts), **as_root("OMPI")}
    return AgentVariables(reach=parameters(reach), run=run, defaults=PMIX_SEGMENTS)


def on_agent_hosts_5(hosts: AgentHosts) -> AgentVariables:
    """Return the variables of Open MPI 5's mpirun and ranks, and of its daemons, which are PRRTE's."""
    reach = reach_parameters(hosts, "plm_ssh", "rml_base_radix", "prte_default_hostfile")
    daemons = {"prte_tmpdir_base": hosts.folder, "prte_if_include": hosts.management}
    ranks = {name: value for name, value in rank_variables(hosts).items() if name not in GONE}
    return AgentVariables(
        reach=parameters(reach, PRRTE), run={**parameters(daemons, PRRTE), **ranks, **as_root("OMPI", "PRTE")}
    )


LAUNCHERS = (
    launcher(
        "openmpi4",
        ("openmpi",),
        "--rankfile {}",
        majors="[0-4]",
        on_agent_hosts=on_agent_hosts_4,
        source="[mpirun(1) of 4.1](https://www.open-mpi.org/doc/v4.1/man1/mpirun.1.php)",
    ),
    launcher(
        "openmpi5",
        ("openmpi5",),
        "--map-by rankfile:file={}",
        majors=r"[5-9]|\d\d+",
        on_agent_hosts=on_agent_hosts_5,
        source="[mpirun(1) of 5.0](https://docs.open-mpi.org/en/v5.0.x/man-openmpi/man1/mpirun.1.html), prte-map(1)",
        allocates=True,
    ),
)
