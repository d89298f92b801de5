"""Intel MPI: Hydra's machine file, and pinning by variables (developer reference 2021, "Process Pinning").

With -machinefile the counts of the file hold. With -f ranks are dealt to nodes by the number of their processors.
I_MPI_PIN binds ranks unless it is 0. I_MPI_PIN_PROCESSOR_LIST gives the i-th rank of a node the i-th processor.
I_MPI_PIN_DOMAIN=numa gives each rank a NUMA node in turn. In a job of a scheduler the file counts only where
I_MPI_JOB_RESPECT_PROCESS_PLACEMENT is 0 ("Job Schedulers Support").
"""

from __future__ import annotations

from railyard.placements.hosts.node import Binding
from railyard.placements.launchers import hydra
from railyard.placements.launchers.base import BATCH_NODE_FILES, AgentHosts, AgentVariables, Launcher, Rendered
from railyard.placements.orders.placement import Placement

STARTED_BY = ("mpiexec", "mpirun", "mpirun-intelmpi")


def render(placed: Placement, stem: str) -> Rendered:
    """Return the command and files that start the ranks as placed.

    Raises InputError for a node whose ranks are not consecutive, and for ranks bound to NUMA nodes in turn.
    """
    file = f"{stem}.hosts"
    text = hydra.host_file(placed, "intel-mpi")
    hydra.refuse_dealt_numa(placed, "intel-mpi")
    return Rendered(
        command=hydra.command(placed, file, "-machinefile"),
        environment={"I_MPI_JOB_RESPECT_PROCESS_PLACEMENT": "0", **_pinning(placed)},
        files={file: text},
    )


def _pinning(placed: Placement) -> dict[str, str]:
    match placed.binding:
        case Binding.NONE:
            return {"I_MPI_PIN": "0"}
        case Binding.CORE:
            cores = ",".join(map(str, range(placed.ranks_per_node)))
            return {"I_MPI_PIN": "1", "I_MPI_PIN_PROCESSOR_LIST": cores}
        case Binding.NUMA:
            return {"I_MPI_PIN": "1", "I_MPI_PIN_DOMAIN": "numa"}
        case Binding.LAUNCHER:
            return {}


def on_agent_hosts(hosts: AgentHosts) -> AgentVariables:
    """Return the variables of Intel's Hydra.

    Without a host file all ranks would run on the host of mpiexec. An option that names hosts overrides it.
    """
    return AgentVariables(
        reach={"I_MPI_HYDRA_BOOTSTRAP": "ssh", "I_MPI_HYDRA_BOOTSTRAP_EXEC": hosts.hydra_agent},
        defaults={"I_MPI_HYDRA_HOST_FILE": hosts.hydra_hosts},
    )


LAUNCHER = Launcher(
    name="intel-mpi",
    render=render,
    selected_by=tuple((name, "intel-mpi") for name in STARTED_BY),
    local_rank=("MPI_LOCALRANKID",),
    node_files=BATCH_NODE_FILES,
    on_agent_hosts=on_agent_hosts,
    source="Intel MPI developer reference 2021, "
    "[Process Pinning](https://www.intel.com/content/www/us/en/docs/mpi-library/developer-reference-linux/2021-15/"
    "environment-variables-for-process-pinning.html), Job Schedulers Support",
    cannot=hydra.CANNOT,
)
