"""The launchers of MPICH, Intel MPI and MVAPICH2, which are all Hydra's mpiexec, and mpirun_rsh of MVAPICH2.

Hydra's host file has NODE:COUNT in the order of ranks (mpiexec(1), -f). MPICH has bindings of its own (mpiexec -help of
MPICH 4.0: -bind-to, -map-by); the others bind by variables of the library.

Intel MPI: developer reference 2021, "Process Pinning". With -machinefile the counts of the file hold. With -f ranks are
dealt to nodes by the number of their processors. I_MPI_PIN binds ranks unless it is 0. I_MPI_PIN_PROCESSOR_LIST gives
the i-th rank of a node the i-th processor. I_MPI_PIN_DOMAIN=numa gives each rank a NUMA node in turn. In a job of a
scheduler the file counts only where I_MPI_JOB_RESPECT_PROCESS_PLACEMENT is 0 ("Job Schedulers Support").

MVAPICH2: user guide of 2.3, "Run using Hydra" and "Running with Efficient CPU (Core) Mapping"; "Run using mpirun_rsh",
"Hostfile Format" and "Specifying Environmental Variables": line k of the host file is the node of rank k, so any order
is possible, and variables precede the program. MVAPICH2 binds ranks unless MV2_ENABLE_AFFINITY is 0. MV2_CPU_MAPPING
holds a core for each rank of a node, with colons between. Leaves out NUMA nodes, because their cores would have to be
listed, and no launch knows them before the job.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping

from railyard.base.errors import InputError
from railyard.placements.hosts.node import Binding
from railyard.placements.launchers.base import (
    BATCH_NODE_FILES,
    AgentHosts,
    AgentVariables,
    Launcher,
    Passed,
    Rendered,
    ucx_variables,
)
from railyard.placements.launchers.files import openmpi_hostfile
from railyard.placements.orders.placement import Placement

#: What every Hydra refuses, as its row of docs/placements.md has it.
CANNOT = "an order that comes back to a node: Hydra counts it as another node, without shared memory"
STARTED_BY_INTEL = ("mpiexec", "mpirun", "mpirun-intelmpi")
MVAPICH_BINDINGS = frozenset({Binding.NONE, Binding.CORE, Binding.LAUNCHER})
MVAPICH_SOURCE = "[user guide of MVAPICH2 2.3](https://mvapich.cse.ohio-state.edu/userguide/)"
MVAPICH_LOCAL_RANK = ("MV2_COMM_WORLD_LOCAL_RANK",)


def renderer(
    launcher: str, bound: Callable[[Placement], Passed], option: str = "-f"
) -> Callable[[Placement, str], Rendered]:
    """Return the function that renders a placement for a Hydra; `option` takes its host file, `bound` binds the ranks.

    The function raises InputError for a node that recurs, which Hydra takes for another node, and for ranks that it
    deals to NUMA nodes in turn where these are not the blocks that a placement promises.
    """

    def render(placed: Placement, stem: str) -> Rendered:
        file, names = f"{stem}.hosts", placed.allocation.topology.nodes
        runs = [(node, len(list(same))) for node, same in itertools.groupby(placed.indices.tolist())]
        node, times = Counter(node for node, _ in runs).most_common(1)[0]
        if times > 1:
            what = f"{placed.order}, which comes back to {names[node].name}"
            orders = "cart-create, snake, scheduler"
            valid = f"for {launcher} the ranks of a node one after another ({orders}) or one rank a node"
            raise InputError("launcher", "placement", what, valid)
        numa_nodes = placed.allocation.topology.sockets_per_node
        if placed.binding == Binding.NUMA and placed.ranks_per_node > numa_nodes > 1:
            valid = f"none, core, or at most {numa_nodes} ranks a node ({launcher} deals ranks to NUMA nodes in turn)"
            raise InputError("launcher", "binding", problem=f"{launcher} cannot bind by numa", valid=valid)
        passed = bound(placed)
        return Rendered(
            command=("mpiexec", option, file, "-n", str(len(placed.indices)), *passed.options),
            environment=passed.environment,
            files={file: "".join(f"{names[node].name}:{count}\n" for node, count in runs)},
        )

    return render


def render_rsh(placed: Placement, stem: str) -> Rendered:
    """Return the command and files that start the ranks as placed; any order of ranks is possible."""
    file = f"{stem}.hosts"
    ranks = ("mpirun_rsh", "-np", str(len(placed.indices)), "-hostfile", file)
    settings = pass_before_program(_affinity(placed)).options
    return Rendered(command=(*ranks, *settings), files={file: openmpi_hostfile(placed.nodes)})


def _mpich_options(placed: Placement) -> Passed:
    bindings: dict[Binding, tuple[str, ...]] = {
        Binding.CORE: ("-bind-to", "user:" + ",".join(map(str, range(placed.ranks_per_node)))),
        Binding.NUMA: ("-bind-to", "numa", "-map-by", "numa"),
    }
    return Passed(options=bindings.get(placed.binding, ()))  # Hydra's default is no binding


def _pinning(placed: Placement) -> Passed:
    cores = ",".join(map(str, range(placed.ranks_per_node)))
    bindings = {
        Binding.NONE: {"I_MPI_PIN": "0"},
        Binding.CORE: {"I_MPI_PIN": "1", "I_MPI_PIN_PROCESSOR_LIST": cores},
        Binding.NUMA: {"I_MPI_PIN": "1", "I_MPI_PIN_DOMAIN": "numa"},
        Binding.LAUNCHER: {},
    }
    return Passed(environment={"I_MPI_JOB_RESPECT_PROCESS_PLACEMENT": "0", **bindings[placed.binding]})


def _affinity(placed: Placement) -> dict[str, str]:
    """Return MVAPICH2's variables for a placement's binding."""
    if placed.binding == Binding.LAUNCHER:
        return {}
    if placed.binding == Binding.NONE:
        return {"MV2_ENABLE_AFFINITY": "0"}
    cores = ":".join(map(str, range(placed.ranks_per_node)))
    return {"MV2_ENABLE_AFFINITY": "1", "MV2_CPU_MAPPING": cores}


def on_agent_hosts_of_mpich(hosts: AgentHosts) -> AgentVariables:
    """Return the variables of Hydra, and of UCX in MPICH's ranks.

    Without a host file all ranks would run on the host of mpiexec. An option that names hosts overrides it.
    """
    ucx = ucx_variables(hosts)
    return AgentVariables(
        reach={"HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": hosts.hydra_agent},
        run=ucx.run,
        defaults={"HYDRA_HOST_FILE": hosts.hydra_hosts, **ucx.defaults},
    )


def on_agent_hosts_of_intel_mpi(hosts: AgentHosts) -> AgentVariables:
    """Return the variables of Intel's Hydra; a host file as in `on_agent_hosts_of_mpich`."""
    return AgentVariables(
        reach={"I_MPI_HYDRA_BOOTSTRAP": "ssh", "I_MPI_HYDRA_BOOTSTRAP_EXEC": hosts.hydra_agent},
        defaults={"I_MPI_HYDRA_HOST_FILE": hosts.hydra_hosts},
    )


def pass_before_program(variables: Mapping[str, str]) -> Passed:
    """Write the variables as NAME=VALUE between mpirun_rsh's own options and the program."""
    return Passed(options=tuple(f"{name}={value}" for name, value in variables.items()))


LAUNCHERS = (
    Launcher(
        name="mpich",
        render=renderer("mpich", _mpich_options),
        selected_by=(("mpiexec", "mpich"), ("mpirun", "mpich")),
        local_rank=("MPI_LOCALRANKID",),
        node_files=BATCH_NODE_FILES,
        on_agent_hosts=on_agent_hosts_of_mpich,
        source="`mpiexec -help` of MPICH 4 and 5; [Hydra](https://github.com/pmodels/mpich/blob/main/doc/wiki/how_to/"
        "Using_the_Hydra_Process_Manager.md)",
        cannot=CANNOT,
    ),
    Launcher(
        name="intel-mpi",
        render=renderer("intel-mpi", _pinning, "-machinefile"),
        selected_by=tuple((name, "intel-mpi") for name in STARTED_BY_INTEL),
        local_rank=("MPI_LOCALRANKID",),
        node_files=BATCH_NODE_FILES,
        on_agent_hosts=on_agent_hosts_of_intel_mpi,
        source="Intel MPI developer reference 2021, "
        "[Process Pinning](https://www.intel.com/content/www/us/en/docs/mpi-library/developer-reference-linux/2021-15/"
        "environment-variables-for-process-pinning.html), Job Schedulers Support",
        cannot=CANNOT,
    ),
    Launcher(
        name="mvapich",
        render=renderer("mvapich", lambda placed: Passed(environment=_affinity(placed))),
        selected_by=(("mpiexec", "mvapich2"), ("mpirun", "mvapich2")),
        local_rank=MVAPICH_LOCAL_RANK,
        node_files=BATCH_NODE_FILES,
        bindings=MVAPICH_BINDINGS,
        source=MVAPICH_SOURCE,
        cannot=CANNOT,
    ),
    Launcher(
        name="mpirun-rsh",
        render=render_rsh,
        selected_by=(("mpirun", "mpirun-rsh"), ("mpiexec", "mpirun-rsh")),
        local_rank=MVAPICH_LOCAL_RANK,
        node_files=BATCH_NODE_FILES,
        bindings=MVAPICH_BINDINGS,
        pass_variables=pass_before_program,
        source=MVAPICH_SOURCE,
    ),
)
