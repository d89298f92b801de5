"""Open MPI 4: sequential mapper, or a rank file where ranks are bound (mpirun(1) of 4.1, "rankfile", "seq")."""

from railyard.placements.launchers import openmpi
from railyard.placements.launchers.base import AgentHosts, AgentVariables


def on_agent_hosts(hosts: AgentHosts) -> AgentVariables:
    """Return the variables of Open MPI's mpirun, of its daemons and ranks."""
    reach = {
        "plm": "rsh",
        **openmpi.reach_parameters(hosts, "plm_rsh"),
        "routed_radix": openmpi.radix(hosts),
        "orte_default_hostfile": hosts.hostfile,
    }
    daemons = {"orte_tmpdir_base": hosts.folder, "oob_tcp_if_include": hosts.management}
    run = {**openmpi.parameters(daemons), **openmpi.rank_variables(hosts), **openmpi.as_root("OMPI")}
    return AgentVariables(reach=openmpi.parameters(reach), run=run)


LAUNCHER = openmpi.launcher(
    "openmpi4",
    ("openmpi",),
    "--rankfile {}",
    majors="[0-4]",
    on_agent_hosts=on_agent_hosts,
    source="[mpirun(1) of 4.1](https://www.open-mpi.org/doc/v4.1/man1/mpirun.1.php)",
)
