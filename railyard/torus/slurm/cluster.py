"""Run a real Slurm on a virtual torus: munged and slurmctld on the head, a slurmd on every node.

    /run/railyard/NAME/slurm/slurm.conf    SLURM_CONF of every command on the torus (`files`)
    /run/railyard/NAME/slurm/nodes/HOST/   a slurmd's log and state, and its node's own folder for temporary files
    /run/railyard/NAME/slurm/fences/       files in which the ranks of a step are counted (native/fence.c)
    /run/railyard/NAME/slurm/jobs.txt      one line for each finished job

The programs are the system's. Every daemon and its children run in the network namespace of their host, so `lifecycle`
kills them with everything else in a torus. If nodes are containers, slurmd is the image's program and runs in the
container, which has the folder mounted under the same path.

Nodes have the torus's names and use the management network, so Slurm's own traffic crosses no link of the torus. A job
gets whole nodes. There is no accounting, because Slurm stores it only in a database; finished jobs are listed in
`jobs.txt`. topology.conf is the network as a tree of switches (`Topology.switch_tree`).

Leaves out cgroups, because the nodes share one kernel and must not change its groups; users other than root, because a
slurmd could not change to the user of a job, and a munged on each node, because all nodes have one kernel and use the
socket of the head's.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryFile

from railyard.base import sysfs
from railyard.base.errors import RunError
from railyard.placements.launchers.base import PMIX_SEGMENTS
from railyard.placements.topology.base import Topology
from railyard.torus.engines.base import Containers
from railyard.torus.native.programs import ENTER, FENCE, IDLE, last_line
from railyard.torus.plan import addresses
from railyard.torus.plan.plan import HEAD

DAEMONS = ("munged", "slurmctld", "slurmd")
CLIENTS = ("sinfo", "srun", "sbatch")
PACKAGES = "munge slurm-client slurmctld slurmd"
SYSTEM_PATH = "/usr/sbin:/sbin"
KEY_BYTES = 128
AT_ONCE = 8
LONGEST_START_S = 60.0
POLL_S = 0.1
#: States of a node that takes jobs or runs one, without the flags that `sinfo` appends.
USABLE = frozenset({"idle", "planned", "allocated", "mixed", "completing"})
#: Flags of a usable node: `+` in use while an earlier job completes on it, `-` planned for a job.
HARMLESS_FLAGS = "+-"
#: States of a node in a job that does not respond now. Slurm sets it down after SlurmdTimeout.
SILENT_IN_USE = frozenset({"allocated*", "mixed*", "completing*"})
#: The release in `slurm-wlm 22.05.8` is 22.05. Daemons of one release understand each other.
RELEASE = re.compile(r"slurm\S* (\d+\.\d+)")
#: Shell command that mounts a node's own folder ($0) at the path that mpi.conf names for all nodes ($1).
START_SLURMD = 'mount --bind "$0" "$1" && exec slurmd'


def folder(run: Path) -> Path:
    """Return the folder of a torus's Slurm; `run` is the folder of the torus."""
    return run / "slurm"


def environment(run: Path) -> Mapping[str, str]:
    """Return the variables with which a command of Slurm reaches the cluster."""
    return {"SLURM_CONF": str(folder(run) / "slurm.conf")}


def missing() -> str:
    """Return in one line why no Slurm can be started here; an empty text if one can."""
    if os.geteuid() != 0:
        return "Slurm on a torus is for root: a slurmd starts jobs as their users"
    absent = [name for name in (*DAEMONS, *CLIENTS) if shutil.which(name, path=_path()) is None]
    return f"no {', '.join(absent)} on the PATH; Debian's packages {PACKAGES} have them" if absent else ""


def allocated(torus: str) -> bool:
    """Return whether this process belongs to a job of the torus's own Slurm."""
    return "SLURM_JOB_ID" in os.environ and os.environ.get("SLURM_CLUSTER_NAME") == torus


def prepare(torus: str, topology: Topology, run: Path) -> None:
    """Write the configuration of a cluster. Call it before the nodes are made, because containers mount the folder."""
    slurm_folder = folder(run)
    own = [_own(slurm_folder, node.name) for node in topology.nodes]
    for path in (slurm_folder, slurm_folder / "state", slurm_folder / "tmp", slurm_folder / "nodes", *own):
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o755)  # which munged accepts, whatever the umask is
    for path in own:
        (path / "tmp").mkdir(exist_ok=True)
    (slurm_folder / "fences").mkdir(exist_ok=True)
    (slurm_folder / "fences").chmod(0o1777)  # ranks of every user write there
    for name, text in files(torus, topology, slurm_folder).items():
        (slurm_folder / name).write_text(text, encoding="utf-8")
    key = slurm_folder / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(os.urandom(KEY_BYTES))


def mounts(run: Path, host: str) -> dict[Path, Path]:
    """Return what a container mounts as a node of the cluster, with the libraries that `torus srun` preloads.

    Maps each path in the container to the path on this machine.
    """
    slurm_folder = folder(run)
    shared = {path: path for path in (slurm_folder, IDLE, FENCE)}
    return {**shared, slurm_folder / "tmp": _own(slurm_folder, host) / "tmp"}


def start(
    torus: str, nodes: Sequence[str], run: Path, *, progress: Callable[[int], None], containers: Containers | None
) -> None:
    """Start the cluster that `prepare` configured on a torus that is up, and wait until all nodes are usable.

    If nodes are namespaces, slurmd mounts the node's own folder first. `progress` is called with the number of usable
    nodes. Raises RunError with the message of the first daemon that fails, the first node that is not usable in time,
    or the release of Slurm in the containers if it differs from this machine's. What has been started stays, for the
    removal of the torus.
    """
    slurm_folder = folder(run)
    if containers:
        _check_release(torus, run, nodes[0], containers.image)
    files = {"key-file": "munge.key", "socket": "munge.socket", "pid-file": "munge.pid"}
    files |= {"log-file": "munge.log", "seed-file": "munge.seed"}
    _start(torus, run, HEAD, ["munged", *(f"--{option}={slurm_folder / name}" for option, name in files.items())])
    _start(torus, run, HEAD, ["slurmctld", "-c"])

    def slurmd(node: str) -> None:
        own = [str(_own(slurm_folder, node) / "tmp"), str(slurm_folder / "tmp")]
        _start(torus, run, node, ["slurmd"] if containers else ["sh", "-c", START_SLURMD, *own])

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(slurmd, nodes))
    _wait(torus, run, len(nodes), progress)


def states(torus: str, run: Path) -> dict[str, str]:
    """Return node -> state as `sinfo` prints it (idle, down*, ...). RunError if slurmctld does not answer."""
    result = _run(torus, run, HEAD, ["sinfo", "--noheader", "--Node", "--format", "%N %T"])
    if result.returncode != 0:
        raise RunError(f"Slurm on {torus} does not answer: {last_line(result.stderr)}")
    return dict(line.split(maxsplit=1) for line in result.stdout.splitlines())


def is_usable(state: str) -> bool:
    """Return whether a node in this state (as `sinfo` prints it) takes jobs or runs one.

    `idle*` is not usable: its slurmd does not answer and it is in no job.
    """
    return state.rstrip(HARMLESS_FLAGS) in USABLE or state in SILENT_IN_USE


def _own(slurm_folder: Path, node: str) -> Path:
    """Return the folder of a node."""
    return slurm_folder / "nodes" / node


def _check_release(torus: str, run: Path, node: str, image: str) -> None:
    """Raise RunError if the Slurm in a node's container is of another release than this machine's.

    The release is `22.05` of `slurm-wlm 22.05.8`, as a daemon's -V prints it.
    """
    versions = (_run(torus, run, host, [daemon, "-V"]) for host, daemon in ((HEAD, "slurmctld"), (node, "slurmd")))
    here, there = (match[1] if (match := RELEASE.match(version.stdout)) else "none" for version in versions)
    if here != there:
        raise RunError(
            f"Slurm must be of the same release on both sides; here {here}, in the image {image} {there}: "
            "use another --image (`make image` builds one with slurmd)"
        )


def _start(torus: str, run: Path, host: str, daemon: Sequence[str]) -> None:
    """Start a daemon that detaches itself on a host. RunError with its message if it fails."""
    result = _run(torus, run, host, daemon)
    if result.returncode != 0:
        raise RunError(f"{daemon[0]} does not start on {host}: {last_line(result.stderr) or 'see its log'}")


def _run(torus: str, run: Path, host: str, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a short command on a host as root, and return its status and output.

    The output goes to files, because a daemon that the command starts would keep a pipe open.
    """
    variables = {"RAILYARD_TORUS": torus, "PATH": _path(), **environment(run)}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "LD_"))}
    with TemporaryFile("w+") as out, TemporaryFile("w+") as err:
        result = subprocess.run(
            [str(ENTER), "-r", host, *command],
            env={**inherited, **variables},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            check=False,
        )
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(result.args, result.returncode, out.read(), err.read())


def _wait(torus: str, run: Path, nodes: int, progress: Callable[[int], None]) -> None:
    """Wait until all nodes are usable. RunError with the first that is not after LONGEST_START_S seconds."""
    deadline = time.monotonic() + LONGEST_START_S
    while True:
        try:
            state_of = states(torus, run)
        except RunError:
            state_of = {}
        up = sum(map(is_usable, state_of.values()))
        progress(up)
        if up == nodes:
            return
        if time.monotonic() > deadline:
            break
        time.sleep(POLL_S)
    problem, log = "slurmctld does not answer", folder(run) / "slurmctld.log"
    if state_of:
        node, state = next((node, state) for node, state in state_of.items() if not is_usable(state))
        problem, log = f"{node} is {state}", _own(folder(run), node) / "slurmd.log"
    lines = sysfs.text(log).splitlines()
    reason = ([line for line in lines if "error:" in line] or lines or [f"no {log.name}"])[-1]
    raise RunError(f"Slurm on {torus}: {problem} ({reason}) after {LONGEST_START_S:.0f} s")


def _path() -> str:
    """Return PATH with the system folders that may have Slurm's daemons."""
    return f"{os.environ.get('PATH', os.defpath)}:{SYSTEM_PATH}"


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
PMIxEnv="{pmix}"
"""


def files(name: str, topology: Topology, folder: Path) -> dict[str, str]:
    """Return file name -> text of all configuration files of the cluster `name`.

    They must be written to `folder`, because slurm.conf contains its path.
    """
    cpus = max(LEAST_CPUS, os.cpu_count() or 1)
    nodes = "".join(
        f"NodeName={node.name} NodeAddr={addresses.management_address(index)} CPUs={cpus}\n"
        for index, node in enumerate(topology.nodes)
    )
    switches = (
        f"SwitchName={switch.name} {'Nodes' if switch.nodes else 'Switches'}="
        f"{','.join(switch.nodes or switch.switches)}\n"
        for switch in topology.switch_tree()
    )
    return {
        "slurm.conf": SLURM_CONF.format(
            name=name, head=HEAD, address=addresses.HEAD_ADDRESS, folder=folder, nodes=nodes, partition=PARTITION
        ),
        "topology.conf": "".join(switches),
        "cgroup.conf": "CgroupPlugin=cgroup/v1\n",
        "mpi.conf": MPI_CONF.format(folder=folder, pmix=";".join(map("=".join, PMIX_SEGMENTS.items()))),
    }
