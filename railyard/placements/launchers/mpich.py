"""MPICH: Hydra's host file and its own bindings (mpiexec -help of MPICH 4.0: -f, -bind-to, -map-by)."""

from __future__ import annotations

from railyard.placements.hosts.node import Binding
from railyard.placements.launchers import hydra
from railyard.placements.launchers.base import (
    BATCH_NODE_FILES,
    AgentHosts,
    AgentVariables,
    Launcher,
    Rendered,
    ucx_variables,
)
from railyard.placements.orders.placement import Placement


def render(placed: Placement, stem: str) -> Rendered:
    """Return the command and files that start the ranks as placed.

    Raises InputError for a node whose ranks are not consecutive, and for ranks bound to NUMA nodes in turn.
    """
    file = f"{stem}.hosts"
    text = hydra.host_file(placed, "mpich")
    hydra.refuse_dealt_numa(placed, "mpich")
    bindings: dict[Binding, tuple[str, ...]] = {
        Binding.NONE: (),  # Hydra's default, too
        Binding.LAUNCHER: (),
        Binding.CORE: ("-bind-to", "user:" + ",".join(map(str, range(placed.ranks_per_node)))),
        Binding.NUMA: ("-bind-to", "numa", "-map-by", "numa"),
    }
    return Rendered(command=(*hydra.command(placed, file), *bindings[placed.binding]), files={file: text})


def on_agent_hosts(hosts: AgentHosts) -> AgentVariables:
    """Return the variables of Hydra, and of UCX in MPICH's ranks.

    Without a host file all ranks would run on the host of mpiexec. An option that names hosts overrides it.
    """
    ucx = ucx_variables(hosts)
    return AgentVariables(
        reach={"HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": hosts.hydra_agent},
        run=ucx.run,
        defaults={"HYDRA_HOST_FILE": hosts.hydra_hosts, **ucx.defaults},
    )


LAUNCHER = Launcher(
    name="mpich",
    render=render,
    selected_by=(("mpiexec", "mpich"), ("mpirun", "mpich")),
    local_rank=("MPI_LOCALRANKID",),
    node_files=BATCH_NODE_FILES,
    on_agent_hosts=on_agent_hosts,
    source="`mpiexec -help` of MPICH 4 and 5; [Hydra](https://github.com/pmodels/mpich/blob/main/doc/wiki/how_to/"
    "Using_the_Hydra_Process_Manager.md)",
    cannot=hydra.CANNOT,
)
