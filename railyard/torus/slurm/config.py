"""Render the configuration of a Slurm cluster whose nodes are those of a virtual network. Pure; `cluster` starts it.

Nodes have the torus's names and use the management network, so Slurm's own traffic crosses no link of the torus. A job
gets whole nodes. There is no accounting, because Slurm stores it only in a database; finished jobs are listed in
`jobs.txt`. topology.conf is the network as a tree of switches (`Topology.switch_tree`).

Leaves out cgroups, because the nodes share one kernel and must not change its groups.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from railyard.placements.topology.base import Topology
from railyard.torus.plan import addresses
from railyard.torus.plan.plan import HEAD

PARTITION = "torus"
#: The number of processors that slurm.conf gives a node at least. Ranks share this machine's in any case.
LEAST_CPUS = 16

SLURM_CONF = """\
ClusterName={name}
SlurmctldHost={head}({address})
SlurmUser=root
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/nodes/%n/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/nodes/%n/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/nodes/%n/slurmd.log
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/jobs.txt
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
# Open MPI of Debian is built against the same PMIx. MPICH needs pmi2, by SLURM_MPI_TYPE.
MpiDefault=pmix
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/linear
TopologyPlugin=topology/tree
SchedulerParameters=batch_sched_delay=0
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=60
KillWait=5
# When a node dies in a step, the slurmstepd of the step's first node waits 60 seconds for its report
# (REVERSE_TREE_CHILDREN_TIMEOUT, fixed in Slurm 22.05). At the default of 60 seconds Slurm would drain that sound node.
UnkillableStepTimeout=120
{nodes}PartitionName={partition} Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
# The setting is not `tree`, because then ranks of a step on other than the first nodes of its job lack each other's
# addresses, request them and wait for ever (4 of 4 launches). By its source Slurm 22.05 sends the request to the wrong
# node, because it takes a node's number in the step for one in the job (pmixp_dmdx.c, pmixp_server.c); not proven. With
# the ring 11 of 60 launches of 8 ranks crashed in Open MPI's MPI_Init, which native/fence.c prevents. The folder for
# temporary files has one path on all nodes; `cluster.start` mounts a folder of its own there for each node.
MPI_CONF = """\
PMIxCollFence=ring
PMIxCliTmpDirBase={folder}/tmp
"""


def files(name: str, topology: Topology, folder: Path) -> dict[str, str]:
    """Return file name -> text of all configuration files of the cluster `name`.

    They must be written to `folder`, because slurm.conf contains its path.
    """
    nodes = "".join(
        f"NodeName={node.name} NodeAddr={addresses.management_address(index)} CPUs={_cpus()}\n"
        for index, node in enumerate(topology.nodes)
    )
    return {
        "slurm.conf": SLURM_CONF.format(
            name=name, head=HEAD, address=addresses.head_address(), folder=folder, nodes=nodes, partition=PARTITION
        ),
        "topology.conf": "".join(_switches(topology)),
        "cgroup.conf": "CgroupPlugin=cgroup/v1\n",
        "mpi.conf": MPI_CONF.format(folder=folder),
    }


def _cpus() -> int:
    return max(LEAST_CPUS, os.cpu_count() or 1)


def _switches(topology: Topology) -> Iterator[str]:
    for switch in topology.switch_tree():
        below = f"Nodes={','.join(switch.nodes)}" if switch.nodes else f"Switches={','.join(switch.switches)}"
        yield f"SwitchName={switch.name} {below}\n"
