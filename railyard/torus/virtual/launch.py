"""Running commands on a torus: one on a host, or a stock `mpirun` across the nodes.

Open MPI is told of the torus by environment variables alone (OMPI_MCA_*), so every argument of mpirun stays the
caller's. It starts its daemons through `railyard-enter -s`, which stands where ssh stands on a cluster.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from railyard.base.checkout import TORUS_BIN
from railyard.base.errors import InputError, RunError
from railyard.torus.engines import netns, router
from railyard.torus.engines.base import Containers
from railyard.torus.native import programs
from railyard.torus.native.programs import BIN, ENTER, FENCE, IDLE
from railyard.torus.plan.plan import HEAD
from railyard.torus.slurm import cluster, gate
from railyard.torus.virtual import fidelity, lifecycle, locks
from railyard.torus.virtual.lifecycle import Torus

SHIM = TORUS_BIN
RADIX = 64  # Open MPI's own default
#: How often a launch may be started: again as long as it is void because of load on this machine.
ATTEMPTS = "RAILYARD_ATTEMPTS"
MOST_ATTEMPTS = 9
#: A longer launch is not started again: a check's time limit counts for all attempts.
LONGEST_AGAIN_S = 120
#: A launcher whose router has ended has so long to end its ranks.
LAST_WORDS_S = 0.5
# Open MPI says so whenever an agent starts faster than its parent goes on; it means nothing.
NOISE = re.compile(rb"plm:[rs]sh: Warning: setpgid\(\d+,\d+\) failed in parent")


def hosts(torus: Torus) -> list[str]:
    """Every host that a command can run on: the head, the nodes, the routers."""
    prefix = netns.full_name(torus.name, "")
    return [name.removeprefix(prefix) for name in netns.namespaces(torus.name)]


def on_host(torus: Torus, host: str, command: Sequence[str]) -> NoReturn:
    """Replace this process by a command on a host; InputError for a host that the torus does not have."""
    if host not in hosts(torus):
        raise InputError("host", "", host, _valid_hosts(torus, host))
    environment = {**os.environ, **_common(torus)}
    os.execvpe("railyard-enter", ["railyard-enter", host, *command], environment)


def _valid_hosts(torus: Torus, host: str) -> str:
    some = ", ".join(node.name for node in torus.topology.nodes[:4])
    if torus.shape.network == "kernel":
        return f"head, a node ({some}, ...) or a router (r0-0-0, ...) of {torus.name}"
    if host not in map(torus.topology.router_name, torus.topology.routers):
        return f"head or a node ({some}, ...) of {torus.name}"
    return (
        f"head or a node: routers are no hosts on the network `router`; `railyard torus counters {torus.name}` shows "
        "their links, `up --network kernel` makes them hosts"
    )


def mpirun(torus: Torus, arguments: Sequence[str]) -> int:
    """Run the system's mpirun on the torus's head, once no other launch is running; its exit status.

    What the guard saw goes to the file that RAILYARD_EVIDENCE names; a void launch is said on stderr, too. In a job of
    the torus's Slurm it runs where it is called, on the nodes of the job.
    """
    if cluster.allocated(torus.name):
        return _watched(torus, [_system_mpirun(), *arguments], openmpi_in_slurm(torus), host=None)
    own = _for_containers(torus, torus.containers) if torus.containers else []
    return _watched(torus, [_system_mpirun(), *own, *arguments], openmpi(torus))


def mpiexec(torus: Torus, arguments: Sequence[str]) -> int:
    """The same for the system's MPICH, whose launcher is Hydra's mpiexec."""
    if torus.containers:
        raise InputError("torus mpiexec", "engine", torus.engine, "a torus of engine netns")
    program = shutil.which("mpiexec.mpich") or shutil.which("mpiexec.hydra")
    if program is None:
        raise RunError("no mpiexec.mpich on the PATH; Debian's package mpich has it")
    return _watched(torus, [program, *arguments], mpich(torus))


def any_mpi(torus: Torus, launcher: str, arguments: Sequence[str], script: str = "") -> int:
    """Run the launcher of any MPI on the torus's head: mpirun of Open MPI 4 or 5, Hydra of MPICH or Intel MPI.

    The path of the launcher decides which MPI it is. What the ranks' MPI must know of the torus is set here, but for
    the NICs that the caller names. A shell script in the launcher's place may call it several times in one turn.
    """
    if torus.containers:
        raise InputError("torus launch", "engine", torus.engine, "a torus of engine netns")
    program = shutil.which(launcher)
    if program is None:
        raise InputError(
            "torus launch", "", launcher, "a launcher by its path, such as /opt/mpich/bin/mpiexec"
        )
    command = ["sh", script] if script else [program]
    return _watched(torus, [*command, *arguments], of_any_mpi(torus, program))


def of_any_mpi(torus: Torus, program: str) -> Mapping[str, str]:
    """Return the variables that the MPI of a launcher must know of a torus."""
    series = _mpi_series([program], _common(torus))
    if series is None:
        return {**mpich(torus), **intel_mpi(torus), **_ofi()}
    return {**(openmpi(torus) if int(series.split(".")[0]) < 5 else openmpi5(torus)), **_ucx(torus), **_ofi()}


def srun(torus: Torus, arguments: Sequence[str]) -> int:
    """Run the system's srun: in a job of the torus's Slurm where it is called, elsewhere on the head.

    What the ranks' MPI must know of the torus is set where the caller has not set it.
    """
    if not torus.slurm:
        raise InputError("torus srun", "", torus.name, "a torus that is up with --slurm")
    program = _system_program("srun")
    if torus.containers:
        _tell_what_is_seen(torus.containers)
    told = {**_openmpi_ranks(torus), **_ucx(torus)}
    unset = {name: value for name, value in told.items() if name not in os.environ}
    unset["LD_PRELOAD"] = f"{_preloaded()} {FENCE}"
    if cluster.allocated(torus.name):
        return _watched(torus, [program, *arguments], unset, host=None)
    if gate.is_possible(arguments):
        return _watched_once_granted(torus, [program, *arguments], unset)
    return _watched(torus, [program, *arguments], unset)


def _watched(
    torus: Torus, command: Sequence[str], environment: Mapping[str, str], host: str | None = HEAD
) -> int:
    """Run a launcher on a host (None: here), the guard watching; its exit status."""

    def once(granted: Torus) -> int:
        return _ended(_started(granted, command, environment, host))

    return once(torus) if locks.is_together(torus.name) else _in_turn(torus, once)


def _in_turn(torus: Torus, once: Callable[[Torus], int]) -> int:
    """Run a launch with its locks held and the guard watching, again where load alone made it void; its exit status."""
    _check_router(torus)
    torus = _take_locks(torus)
    attempts = _attempts()
    written = _Written()
    for attempt in range(1, attempts + 1):
        with fidelity.Watch(torus, attempt) as watch:
            status = once(torus)
        is_last = attempt == attempts or status != 0 or not is_worth_another(watch.guard)
        if is_last or not written.take_back():
            break
        print(f"railyard: {_void(watch.guard)}; launching again", file=sys.stderr, flush=True)
    _report(watch)
    return status


def is_worth_another(guard: fidelity.Guard) -> bool:
    """Return whether a launch is void by load alone, and not too long for a second one."""
    return guard.by_load and guard.watched_s <= LONGEST_AGAIN_S


def _attempts() -> int:
    """Return how often a launch may be started; InputError for anything but a small whole number."""
    text = os.environ.get(ATTEMPTS, "1")
    if text not in map(str, range(1, MOST_ATTEMPTS + 1)):
        raise InputError("environment", ATTEMPTS, text, f"1 to {MOST_ATTEMPTS}")
    return int(text)


class _Written:
    """What was in the file of this process's output before a launch began to write there."""

    def __init__(self) -> None:
        output = os.fstat(sys.stdout.fileno())
        self.size = output.st_size if stat.S_ISREG(output.st_mode) else None

    def take_back(self) -> bool:
        """Remove what was written since; return False where it has gone to a terminal or a pipe."""
        if self.size is None:
            return False
        os.ftruncate(sys.stdout.fileno(), self.size)
        os.lseek(sys.stdout.fileno(), self.size, os.SEEK_SET)
        return True


def _void(guard: fidelity.Guard) -> str:
    return f"this launch is void: {'; '.join(guard.reasons)}"


def _watched_once_granted(torus: Torus, command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run srun on the head, outside any job; the locks and the guard begin when it has its nodes.

    An srun that ends before, as with --help, takes no lock and leaves no evidence.
    """
    _check_router(torus)
    with gate.Gate(torus.folder) as stop:
        launched = _started(torus, command, {**environment, **stop.environment}, HEAD)
        if not stop.wait(lambda: launched.child.poll() is not None):
            return _ended(launched)
        torus = _take_locks(torus)
        with fidelity.Watch(torus) as watch:
            stop.open()
            status = _ended(launched)
    _report(watch)
    return status


def together(torus: Torus, once: Callable[[Torus], int]) -> int:
    """Run a function whose launchers are one launch together; its result.

    It is called again where load alone made the launch void.
    """

    def as_one(granted: Torus) -> int:
        with locks.as_one_launch(granted.name):
            return once(granted)

    return _in_turn(torus, as_one)


def _check_router(torus: Torus) -> None:
    if not lifecycle.carries(torus):
        raise RunError(_router_ended(torus))


def _router_ended(torus: Torus) -> str:
    return f"the router of torus {torus.name} has ended; run: railyard torus down {torus.name}"


def _take_locks(torus: Torus) -> Torus:
    """Wait for the turn of a launch on this torus; return the torus, which may have gone meanwhile (InputError)."""
    locks.take_turn(inheritable=True)
    torus = lifecycle.get(torus.name)
    locks.acquire(torus.folder / lifecycle.LAUNCHING, what="another launch on this torus to end")
    return torus


def _report(watch: fidelity.Watch) -> None:
    """Print what the guard saw, and write it where RAILYARD_EVIDENCE names a file."""
    if watch.guard.verdict == fidelity.Verdict.VOID:
        print(f"railyard: {_void(watch.guard)}", file=sys.stderr)
    elif watch.guard.warning:
        print(f"railyard: {watch.guard.warning}", file=sys.stderr)
    if path := os.environ.get("RAILYARD_EVIDENCE"):
        fidelity.write(watch.evidence(), Path(path))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Launched:
    """A launcher that runs, and the thread that copies its stderr."""

    child: subprocess.Popen[bytes]
    reader: threading.Thread


def _started(
    torus: Torus, command: Sequence[str], environment: Mapping[str, str], host: str | None
) -> _Launched:
    """Start a launcher on a host (None: here). It ends with this process."""
    where = [str(ENTER), host] if host else []
    child = subprocess.Popen(
        [*where, "setpriv", "--pdeathsig", "TERM", *command],
        env={
            **os.environ,
            **_common(torus),
            "LD_PRELOAD": _preloaded(),
            **environment,
            locks.INSIDE_LAUNCH: "1",
        },
        stderr=subprocess.PIPE,
        close_fds=False,
    )
    reader = threading.Thread(target=_pass_on, args=(child,), daemon=True)
    reader.start()
    if torus.shape.network == "router":
        threading.Thread(target=_end_without_router, args=(torus, child), daemon=True).start()
    return _Launched(child=child, reader=reader)


def _end_without_router(torus: Torus, child: subprocess.Popen[bytes]) -> None:
    """End a launcher as soon as the router of its torus has ended: its ranks would wait for packets for ever."""
    with contextlib.suppress(ProcessLookupError):
        if running := router.state(torus.name, torus.folder):
            descriptor = os.pidfd_open(running.process)
            select.select([descriptor], [], [])
            os.close(descriptor)
    if child.poll() is not None:
        return
    print(f"railyard: {_router_ended(torus)}", file=sys.stderr, flush=True)
    child.terminate()
    try:
        child.wait(LAST_WORDS_S)
    except subprocess.TimeoutExpired:
        child.kill()


def _ended(launched: _Launched) -> int:
    """Wait for a launcher, to which signals go meanwhile; return its exit status."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: launched.child.send_signal(received))
    launched.reader.join()
    status = launched.child.wait()
    return 128 - status if status < 0 else status


def _pass_on(child: subprocess.Popen[bytes]) -> None:
    """Copy a launcher's stderr to ours, without the noise of its libraries."""
    assert child.stderr is not None
    for line in child.stderr:
        if not NOISE.search(line):
            sys.stderr.buffer.write(line)
            sys.stderr.buffer.flush()


def openmpi(torus: Torus) -> Mapping[str, str]:
    """What Open MPI must know: how to reach a host, the hosts, which network is whose, that ranks share cores."""
    parameters = {
        "plm": "rsh",
        "plm_rsh_agent": "railyard-enter -s",
        "plm_rsh_no_tree_spawn": "1",
        "plm_rsh_num_concurrent": "4096",
        # Daemons talk to the head alone, which is a permanent neighbour: the kernel's table of others is small.
        "routed_radix": str(max(RADIX, len(torus.topology.nodes))),
        "orte_default_hostfile": str(torus.folder / "hostfile"),
    }
    return {**_mca(parameters), **_openmpi_daemons(torus), **_openmpi_ranks(torus)}


def openmpi5(torus: Torus) -> Mapping[str, str]:
    """Return the same for Open MPI 5: its daemons are PRRTE's, and osc/pt2pt is gone."""
    daemons = {
        "plm_ssh_agent": "railyard-enter -s",
        "plm_ssh_no_tree_spawn": "1",
        "plm_ssh_num_concurrent": "4096",
        "rml_base_radix": str(max(RADIX, len(torus.topology.nodes))),
        "prte_default_hostfile": str(torus.folder / "hostfile"),
        "prte_tmpdir_base": str(torus.folder),
        "prte_if_include": "mgmt0",
    }
    ranks = _openmpi_ranks(torus)
    own = {
        name: value
        for name, value in ranks.items()
        if not name.endswith(("osc", "hwloc_base_binding_policy"))
    }
    root = {f"{name}_ALLOW_RUN_AS_ROOT{more}": "1" for name in ("OMPI", "PRTE") for more in ("", "_CONFIRM")}
    return {**_prrte(daemons), **own, **root}


def _prrte(parameters: Mapping[str, str]) -> dict[str, str]:
    return {f"PRTE_MCA_{name}": value for name, value in parameters.items()}


def openmpi_in_slurm(torus: Torus) -> Mapping[str, str]:
    """The same in a job of the torus's Slurm, which says what the hosts are and starts Open MPI's daemons."""
    path = os.pathsep.join(p for p in os.get_exec_path() if Path(p).resolve() != SHIM)
    return {**_openmpi_daemons(torus), **_openmpi_ranks(torus), "PATH": f"{BIN}:{path}"}


def _openmpi_daemons(torus: Torus) -> Mapping[str, str]:
    # The only user of a container or a user namespace is root, and harmless.
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return _mca({"orte_tmpdir_base": str(torus.folder), "oob_tcp_if_include": "mgmt0"}) | root


def _openmpi_ranks(torus: Torus) -> Mapping[str, str]:
    """Return what the ranks must know, whoever starts them."""
    return _mca(
        {
            "pml": "ob1",
            # Ranks of one node talk over TCP too: no poll() sees shared memory, so a rank that waits would wake every
            # millisecond (railyard/torus/native/idle.c).
            "btl": "self,tcp",
            "btl_tcp_if_include": _nics(torus),
            # Not `put`: its handshake waits behind data in the stream; 128 KiB faces take 1.6 times as long.
            "btl_tcp_flags": "send",
            "osc": "pt2pt",  # one-sided calls; the other components want put
            "mpi_yield_when_idle": "1",
            "hwloc_base_binding_policy": "none",
        }
    )


def _mca(parameters: Mapping[str, str]) -> dict[str, str]:
    return {f"OMPI_MCA_{name}": value for name, value in parameters.items()}


def _nics(torus: Torus) -> str:
    return ",".join(f"nic{rail}" for rail in range(torus.topology.rails))


def mpich(torus: Torus) -> Mapping[str, str]:
    """Return what Hydra and MPICH's UCX must know: how to reach a host, and that nodes talk over their NICs alone.

    UCX would use shared memory between the nodes, since all are of one machine. NICs that the caller names stay.
    """
    hydra = {"HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": str(SHIM / "hydra-agent")}
    return {**hydra, **_hydra_hosts(torus, "HYDRA_HOST_FILE"), **_ucx(torus)}


def intel_mpi(torus: Torus) -> Mapping[str, str]:
    """Return what Intel's Hydra must know: how to reach a host, and the hosts."""
    reached = {"I_MPI_HYDRA_BOOTSTRAP": "ssh", "I_MPI_HYDRA_BOOTSTRAP_EXEC": str(SHIM / "hydra-agent")}
    return {**reached, **_hydra_hosts(torus, "I_MPI_HYDRA_HOST_FILE")}


def _hydra_hosts(torus: Torus, variable: str) -> Mapping[str, str]:
    """Return where Hydra reads its hosts when no option names any; without it all ranks would run on the head."""
    return {variable: os.environ.get(variable, str(torus.folder / "hydra.hosts"))}


def _ofi() -> Mapping[str, str]:
    """Return what libfabric must know: TCP, and never the management network. A NIC that the caller names stays."""
    return {
        "FI_PROVIDER": os.environ.get("FI_PROVIDER", "tcp"),
        "FI_TCP_IFACE": os.environ.get("FI_TCP_IFACE", "nic0"),
    }


def _ucx(torus: Torus) -> Mapping[str, str]:
    return {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": os.environ.get("UCX_NET_DEVICES", _nics(torus))}


def _common(torus: Torus) -> Mapping[str, str]:
    programs.need()
    scheduler = cluster.environment(torus.folder) if torus.slurm else {}
    path = f"{BIN}:{os.environ.get('PATH', os.defpath)}"
    return {"RAILYARD_TORUS": torus.name, "PATH": path, **scheduler, **_hwloc(), **_apptainer(torus)}


def _hwloc() -> Mapping[str, str]:
    """Return what keeps hwloc, in every daemon and rank, from reading the configuration of the machine's PCI devices.

    None of these is a NIC of the torus. On a virtual machine each read leaves the guest: a launch of 64 ranks of Open
    MPI took 11 s of processor, and takes 7 s without. What the caller sets stays.
    """
    return {"HWLOC_COMPONENTS": os.environ.get("HWLOC_COMPONENTS", "-pci,-linuxio")}


def _apptainer(torus: Torus) -> Mapping[str, str]:
    """For ranks in an image: they see where their daemons keep the session, and what they are to load first. Root that
    lacks a capability could not ask for all of them.
    """
    seen = [os.environ.get("APPTAINER_BIND"), str(torus.folder), str(IDLE), str(FENCE)]
    return {"APPTAINER_BIND": ",".join(filter(None, seen)), "APPTAINER_NO_PRIVS": "1"}


def _preloaded() -> str:
    """Return what the ranks are to load first: railyard/torus/native/idle.c, then what the caller wanted."""
    return " ".join(filter(None, [str(IDLE), os.environ.get("LD_PRELOAD")]))


def _for_containers(torus: Torus, containers: Containers) -> Sequence[str]:
    """Arguments of mpirun for ranks in containers: there Open MPI is where the image has it, and daemons stay attached
    to their agents, so that one that cannot run in an image ends the launch instead of never answering.

    Raises RunError where the image's Open MPI is of another series than the system's: their daemons would not talk.
    """
    node = torus.topology.nodes[0].name
    series = {
        "here": _mpi_series([_system_mpirun()], _common(torus)),
        f"in the image {containers.image}": _mpi_series(["railyard-enter", node, "mpirun"], _common(torus)),
    }
    if len(set(series.values())) > 1 or None in series.values():
        found = ", ".join(f"{place} {what or 'none'}" for place, what in series.items())
        raise RunError(f"Open MPI must be of the same series on both sides; {found}: use another --image")
    _tell_what_is_seen(containers)
    return ["--noprefix", "--leave-session-attached"]


def _tell_what_is_seen(containers: Containers) -> None:
    """Say so where the ranks cannot be in the folder that the launch is started from."""
    if not any(Path.cwd().is_relative_to(volume) for volume in containers.volumes):
        seen = ", ".join(containers.volumes) or "none"
        print(
            f"railyard: the containers do not see {Path.cwd()}; they see: {seen}", file=sys.stderr, flush=True
        )


def _mpi_series(mpirun: Sequence[str], changes: Mapping[str, str]) -> str | None:
    """`4.1` for Open MPI 4.1.4; None where that mpirun is not there, or no Open MPI's."""
    command = [*mpirun, "--allow-run-as-root", "--version"]
    done = subprocess.run(command, env={**os.environ, **changes}, capture_output=True, text=True, check=False)
    found = re.search(r"\((?:Open MPI|OpenRTE)\) (\d+\.\d+)", done.stdout)
    return found[1] if found else None


def _system_mpirun() -> str:
    """The first Open MPI mpirun on the PATH that is not our own; Debian's name says which MPI it is."""
    return _system_program("mpirun.openmpi", "mpirun")


def _system_program(*names: str) -> str:
    """The first of these names on the PATH that is not our own program; RunError where there is none."""
    path = os.pathsep.join(p for p in os.get_exec_path() if Path(p).resolve() != SHIM)
    found = next(filter(None, (shutil.which(name, path=path) for name in names)), None)
    if found is None:
        package = {"mpirun": "openmpi-bin", "srun": "slurm-client"}[names[-1]]
        raise RunError(f"no {names[-1]} on the PATH; Debian's package {package} has it")
    return found
