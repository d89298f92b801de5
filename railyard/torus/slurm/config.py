"""The configuration of a Slurm cluster whose nodes are those of a virtual network, as text. Pure; `slurm` starts it.

Nodes bear the torus's names and answer on the management network, so Slurm's own traffic crosses no link of the torus.
A job gets whole nodes. There is no accounting, because Slurm keeps it in a database alone: finished jobs stand in
`jobs.txt`. Leaves out cgroups: the nodes share one kernel, whose groups are not theirs to change.

topology.conf is the network as a tree of switches (`Topology.switch_tree`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from placements.topology.base import Topology
from railyard.torus.plan import addresses
from railyard.torus.plan.plan import HEAD

PARTITION = "torus"
#: Of a node, as Slurm sees it; ranks share this machine's processors whatever it says.
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
# Open MPI of Debian is built against the same PMIx; MPICH asks for pmi2 (SLURM_MPI_TYPE).
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
# Not `tree`: there the ranks of a step on other than the first nodes of its job lack each other's addresses, ask for
# them and wait for ever (4 of 4 launches). By its source Slurm 22.05 then asks the wrong node, as it takes a node's
# number in the step for one in the job (pmixp_dmdx.c, pmixp_server.c); not proven. With the ring 11 of 60 launches of 8
# ranks crashed in Open MPI's MPI_Init; native/fence.c prevents that. All nodes see the folder for temporary files;
# `cluster.start` gives each its own under the same path.
MPI_CONF = """\
PMIxCollFence=ring
PMIxCliTmpDirBase={folder}/tmp
"""


def files(name: str, topology: Topology, folder: Path) -> dict[str, str]:
    """File name -> text, all to be written into `folder`, which slurm.conf refers to."""
    nodes = "".join(
        f"NodeName={node.name} NodeAddr={addresses.management_address(index)} CPUs={_cpus()}\n"
        for index, node in enumerate(topology.nodes)
    )
    return {
        "slurm.conf": SLURM_CONF.format(
            name=name,
            head=HEAD,
            address=addresses.head_address(),
            folder=folder,
            nodes=nodes,
            partition=PARTITION,
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
