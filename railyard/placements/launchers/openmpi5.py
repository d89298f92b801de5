"""Open MPI 5: the mappers of Open MPI 4 in PRRTE's words (prte-map(1): --map-by seq, rankfile:file=).

Without a scheduler PRRTE refuses a rank file whose nodes no host file grants; Open MPI 4 takes them from the rank file.
"""

from railyard.placements.launchers import openmpi
from railyard.placements.launchers.base import AgentHosts, AgentVariables

PRRTE = "PRTE_MCA_"
#: Parameters of Open MPI 4 that Open MPI 5 lacks.
GONE = frozenset({"OMPI_MCA_osc", "OMPI_MCA_hwloc_base_binding_policy"})


def on_agent_hosts(hosts: AgentHosts) -> AgentVariables:
    """Return the variables of Open MPI's mpirun and ranks, and of its daemons, which are PRRTE's."""
    reach = {
        **openmpi.reach_parameters(hosts, "plm_ssh"),
        "rml_base_radix": openmpi.radix(hosts),
        "prte_default_hostfile": hosts.hostfile,
    }
    daemons = {"prte_tmpdir_base": hosts.folder, "prte_if_include": hosts.management}
    ranks = {name: value for name, value in openmpi.rank_variables(hosts).items() if name not in GONE}
    return AgentVariables(
        reach=openmpi.parameters(reach, PRRTE),
        run={**openmpi.parameters(daemons, PRRTE), **ranks, **openmpi.as_root("OMPI", "PRTE")},
    )


LAUNCHER = openmpi.launcher(
    "openmpi5",
    ("openmpi5",),
    "--map-by rankfile:file={}",
    majors=r"[5-9]|\d\d+",
    on_agent_hosts=on_agent_hosts,
    source="[mpirun(1) of 5.0](https://docs.open-mpi.org/en/v5.0.x/man-openmpi/man1/mpirun.1.html), prte-map(1)",
    allocates=True,
)
