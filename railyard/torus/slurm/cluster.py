"""A real Slurm on a virtual torus: munged and slurmctld on the head, a slurmd on every node. Debian's programs.

    /run/railyard/NAME/slurm/slurm.conf    SLURM_CONF of every command on the torus (slurm/config.py)
    /run/railyard/NAME/slurm/nodes/HOST/   a slurmd's log, state, and its node's part of what all would share
    /run/railyard/NAME/slurm/fences/       what the ranks of a step count themselves in (native/fence.c)
    /run/railyard/NAME/slurm/jobs.txt      one line for each finished job

Every daemon runs in the network of its host, and so does what it starts: `lifecycle` ends all of them as it ends
whatever runs in a torus, and needs no list. Where nodes are containers a slurmd is the image's own program and runs in
its container, which sees the folder under the same path.

Leaves out users other than root, for whom a slurmd could not change to the user of a job, and a munged on each node:
all nodes are of one kernel, and ask the head's through its socket.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile

from placements.topology.base import Topology
from railyard.base.errors import RunError
from railyard.torus.engines.base import Containers, NodeService
from railyard.torus.native.programs import ENTER, FENCE, IDLE
from railyard.torus.plan.plan import HEAD
from railyard.torus.slurm import config

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
#: `+` is a node that is in use while an earlier job completes on it; `-` one that is planned for a job.
HARMLESS_FLAGS = "+-"
#: A node of a running job that is silent for the moment. Slurm calls it down when that lasts (SlurmdTimeout).
SILENT_IN_USE = frozenset({"allocated*", "mixed*", "completing*"})
#: `slurm-wlm 22.05.8` is of the release 22.05; daemons of one release understand each other.
RELEASE = re.compile(r"slurm\S* (\d+\.\d+)")
#: Each node's own folder under the path that mpi.conf names for all of them.
START_SLURMD = 'mount --bind "$0" "$1" && exec slurmd'


def folder(run: Path) -> Path:
    """Of a torus's Slurm, below the torus's own."""
    return run / "slurm"


def environment(run: Path) -> Mapping[str, str]:
    """Return what a Slurm command must know to talk to the cluster."""
    return {"SLURM_CONF": str(folder(run) / "slurm.conf")}


def missing() -> str:
    """Why no Slurm can be started here, in one line; empty where one can."""
    if os.geteuid() != 0:
        return "Slurm on a torus is for root: a slurmd starts jobs as their users"
    absent = [name for name in (*DAEMONS, *CLIENTS) if shutil.which(name, path=_path()) is None]
    return f"no {', '.join(absent)} on the PATH; Debian's packages {PACKAGES} have them" if absent else ""


def allocated(torus: str) -> bool:
    """Return whether this process belongs to a job of the torus's own Slurm."""
    return "SLURM_JOB_ID" in os.environ and os.environ.get("SLURM_CLUSTER_NAME") == torus


def prepare(torus: str, topology: Topology, run: Path) -> None:
    """Write the configuration of a cluster, before its nodes are made: containers see its folder from the start."""
    where = folder(run)
    files = config.files(torus, topology, where)
    _make_folders(where, [node.name for node in topology.nodes])
    for name, text in files.items():
        (where / name).write_text(text, encoding="utf-8")
    key = where / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(os.urandom(KEY_BYTES))


def service(run: Path) -> NodeService:
    """Return what a container needs to be a node of the cluster; the libraries are what `torus srun` preloads."""
    where = folder(run)
    shared = {path: path for path in (where, IDLE, FENCE)}
    return NodeService(
        environment=environment(run),
        seen=lambda host: {**shared, where / "tmp": _own(where, host) / "tmp"},
    )


def start(
    torus: str,
    topology: Topology,
    run: Path,
    *,
    progress: Callable[[int], None],
    containers: Containers | None = None,
) -> None:
    """Start the cluster that `prepare` configured on a torus that is up, and wait until all nodes are idle; `progress`
    counts them.

    Raises RunError with the first daemon's reason, the first node that does not come up, or what Slurm the containers
    have where it is none of this machine's release. What was started by then stays, for the torus's removal.
    """
    where = folder(run)
    nodes = [node.name for node in topology.nodes]
    if containers:
        _check_release(torus, run, nodes[0], containers.image)
    _start(torus, run, HEAD, _munged(where))
    _start(torus, run, HEAD, ["slurmctld", "-c"])
    slurmd = partial(_slurmd, where, bind=containers is None)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda node: _start(torus, run, node, slurmd(node)), nodes))
    _wait(torus, run, len(nodes), progress)


def states(torus: str, run: Path) -> dict[str, str]:
    """Node -> state as `sinfo` says it (idle, allocated, down*, ...). RunError where no slurmctld answers."""
    done = _run(torus, run, HEAD, ["sinfo", "--noheader", "--Node", "--format", "%N %T"])
    if done.returncode != 0:
        raise RunError(f"Slurm on {torus} does not answer: {_last_line(done.stderr)}")
    return dict(line.split(maxsplit=1) for line in done.stdout.splitlines())


def is_usable(state: str) -> bool:
    """Return whether a node in this state (as `sinfo` prints it) takes jobs or runs one.

    `idle*` is not usable: its slurmd does not answer and no job holds it.
    """
    return state.rstrip(HARMLESS_FLAGS) in USABLE or state in SILENT_IN_USE


def _make_folders(where: Path, nodes: Sequence[str]) -> None:
    """Folders that munged finds safe, whatever the umask is; every user's ranks may write in `fences`."""
    for path in (where, where / "state", where / "tmp", where / "nodes", *(_own(where, n) for n in nodes)):
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o755)
    for node in nodes:
        (_own(where, node) / "tmp").mkdir(exist_ok=True)
    (where / "fences").mkdir(exist_ok=True)
    (where / "fences").chmod(0o1777)


def _own(where: Path, node: str) -> Path:
    return where / "nodes" / node


def _munged(where: Path) -> list[str]:
    files = {"key-file": "munge.key", "socket": "munge.socket", "pid-file": "munge.pid"}
    files |= {"log-file": "munge.log", "seed-file": "munge.seed"}
    return ["munged", *(f"--{option}={where / name}" for option, name in files.items())]


def _slurmd(where: Path, node: str, *, bind: bool) -> list[str]:
    """With `bind` the node's own folder has yet to be put in its place; a container starts with it."""
    if not bind:
        return ["slurmd"]
    return ["sh", "-c", START_SLURMD, str(_own(where, node) / "tmp"), str(where / "tmp")]


def _check_release(torus: str, run: Path, node: str, image: str) -> None:
    here = _release(_run(torus, run, HEAD, ["slurmctld", "-V"]))
    there = _release(_run(torus, run, node, ["slurmd", "-V"]))
    if here != there:
        raise RunError(
            f"Slurm must be of the same release on both sides; here {here or 'none'}, in the image {image} "
            f"{there or 'none'}: use another --image (`make image` builds one with slurmd)"
        )


def _release(said: subprocess.CompletedProcess[str]) -> str:
    """`22.05` of `slurm-wlm 22.05.8`; empty where the program is not there."""
    found = RELEASE.match(said.stdout)
    return found[1] if found else ""


def _start(torus: str, run: Path, host: str, daemon: Sequence[str]) -> None:
    """A daemon that goes to the background by itself."""
    done = _run(torus, run, host, daemon)
    if done.returncode != 0:
        raise RunError(f"{daemon[0]} does not start on {host}: {_last_line(done.stderr) or 'see its log'}")


def _run(torus: str, run: Path, host: str, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """A short command on a host, as root; files for its output, because a daemon would keep a pipe open."""
    wanted = {"RAILYARD_TORUS": torus, "PATH": _path(), **environment(run)}
    ignored = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "LD_"))}
    with TemporaryFile("w+") as out, TemporaryFile("w+") as err:
        done = subprocess.run(
            [str(ENTER), "-r", host, *command],
            env={**ignored, **wanted},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            check=False,
        )
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(done.args, done.returncode, out.read(), err.read())


def _wait(torus: str, run: Path, nodes: int, progress: Callable[[int], None]) -> None:
    deadline = time.monotonic() + LONGEST_START_S
    while True:
        try:
            found = states(torus, run)
        except RunError:
            found = {}
        up = sum(map(is_usable, found.values()))
        progress(up)
        if up == nodes:
            return
        if time.monotonic() > deadline:
            raise RunError(f"Slurm on {torus}: {_first_absent(found, run)} after {LONGEST_START_S:.0f} s")
        time.sleep(POLL_S)


def _first_absent(found: Mapping[str, str], run: Path) -> str:
    if not found:
        return f"slurmctld does not answer ({_last_error(folder(run) / 'slurmctld.log')})"
    node = next(name for name, state in found.items() if not is_usable(state))
    return f"{node} is {found[node]} ({_last_error(_own(folder(run), node) / 'slurmd.log')})"


def _last_error(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines() if log.is_file() else []
    errors = [line for line in lines if "error:" in line]
    return (errors or lines or [f"no {log.name}"])[-1]


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def _path() -> str:
    return f"{os.environ.get('PATH', os.defpath)}:{SYSTEM_PATH}"
