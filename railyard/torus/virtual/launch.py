"""Run commands on a torus: any command on one host, or a stock `mpirun`, `mpiexec` or `srun` across the nodes.

The life of a launch: wait for the machine's launch lock, watch the torus, run the launcher, judge, repeat if only load
on this machine made the launch void. Launchers get the torus by environment variables (`environment`), so every
argument stays the caller's. They start their daemons through `railyard-enter -s`, which takes ssh's place.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from railyard.base.errors import InputError, RunError
from railyard.torus.engines import netns
from railyard.torus.engines.base import Containers, replace_file
from railyard.torus.plan.plan import HEAD
from railyard.torus.slurm import cluster, gate
from railyard.torus.virtual import environment as environments
from railyard.torus.virtual import fidelity, launcher_process, lifecycle, locks, machines
from railyard.torus.virtual.lifecycle import VirtualTorus

#: The variable with the number of times that a launch may be started, as long as it is void because of load alone.
ATTEMPTS = "RAILYARD_ATTEMPTS"
MOST_ATTEMPTS = 9
#: The variable that names the torus whose locks `railyard launch-roles` holds for the launchers that it starts.
AS_ONE = "RAILYARD_ONE_LAUNCH"
#: A launch of more seconds is not repeated, because a job has a time limit for all attempts together.
LONGEST_REPEATED_S = 120


def on_host(torus: VirtualTorus, host: str, command: Sequence[str]) -> NoReturn:
    """Replace this process by a command on a host: the head, a node, or a router that is a namespace.

    Raises InputError for a host that the torus does not have.
    """
    is_here = netns.full_name(torus.name, host) in netns.namespaces(torus.name)
    if not is_here and not (torus.parts and host in {node.name for node in torus.topology.nodes}):
        examples = ", ".join(node.name for node in torus.topology.nodes[:4])
        valid = f"head or a node ({examples}, ...) of {torus.name}"
        if torus.shape.network == "kernel":
            valid = f"head, a node ({examples}, ...) or a router (r0-0-0, ...) of {torus.name}"
        elif host in map(torus.topology.router_name, torus.topology.routers):
            shown = f"`railyard torus counters {torus.name}` shows their links"
            valid = (
                f"head or a node: routers are no hosts on the network `router`; {shown}, `up --network kernel` makes "
                "them hosts"
            )
        raise InputError("host", "", host, valid)
    variables = {**os.environ, **environments.for_any_program(torus)}
    if torus.parts and not is_here:
        machine = torus.parts.machines[torus.machine_of[host]]
        words = launcher_process.entered(torus.name, host, command, environment=variables, folder=str(Path.cwd()))
        command = machines.command(torus.parts, machine, words)
        os.execvp(command[0], command)
    os.execvpe("railyard-enter", ["railyard-enter", host, *command], variables)


def mpirun(torus: VirtualTorus, arguments: Sequence[str]) -> int:
    """Run the system's mpirun (Open MPI) on the torus's head as one launch; return its exit status.

    In a job of the torus's Slurm it runs where it is called, on the nodes of the job. The guard's report goes to the
    file that RAILYARD_EVIDENCE names, and a void launch is reported on stderr. Raises RunError without Open MPI.
    """
    program = environments.system_program("mpirun.openmpi", "mpirun")
    if cluster.allocated(torus.name):
        return _launch(torus, [program, *arguments], environments.for_mpirun_in_job(torus), host=None)
    options = _for_containers(torus, program, torus.containers) if torus.containers else []
    return _launch(torus, [program, *options, *arguments], environments.for_launcher(torus, "openmpi4"))


def mpiexec(torus: VirtualTorus, arguments: Sequence[str]) -> int:
    """Run the system's MPICH, whose launcher is Hydra's mpiexec, on the torus's head as one launch; return its status.

    Raises InputError for nodes that are containers, RunError without MPICH.
    """
    _require_namespaces(torus, "torus mpiexec")
    program = environments.system_program("mpiexec.mpich", "mpiexec.hydra")
    return _launch(torus, [program, *arguments], environments.for_launcher(torus, "mpich"))


def any_mpi(torus: VirtualTorus, launcher: str, arguments: Sequence[str], script: str = "") -> int:
    """Run the launcher of any MPI on the torus's head as one launch; return its exit status.

    The text of `LAUNCHER --version` decides which MPI it is (`railyard.placements.launchers.for_agent_hosts`). NICs
    that the caller's variables name stay. `script` is a shell script that runs in the launcher's place and may call the
    launcher several times in one turn. Raises InputError for nodes that are containers and a launcher that does not
    exist.
    """
    _require_namespaces(torus, "torus launch")
    program = environments.located(launcher)
    if program is None:
        raise InputError("torus launch", "", launcher, "a launcher by its path, such as /opt/mpich/bin/mpiexec")
    command = ["sh", script] if script else [program]
    return _launch(torus, [*command, *arguments], environments.for_program(torus, program))


def srun(torus: VirtualTorus, arguments: Sequence[str]) -> int:
    """Run the system's srun as one launch; return its exit status.

    In a job of the torus's Slurm it runs where it is called, elsewhere on the head. Variables of the ranks' MPI that
    the caller has set stay. Raises InputError for a torus without Slurm, RunError without srun.
    """
    if not torus.slurm:
        raise InputError("torus srun", "", torus.name, "a torus that is up with --slurm")
    command = [environments.system_program("srun"), *arguments]
    if torus.containers:
        _report_volumes(torus.containers)
    variables = environments.for_srun(torus)
    if cluster.allocated(torus.name):
        return _launch(torus, command, variables, host=None)
    if gate.is_possible(arguments):
        return _launch_once_granted(torus, command, variables)
    return _launch(torus, command, variables)


def run_as_one(torus: VirtualTorus, once: Callable[[VirtualTorus], int]) -> int:
    """Run a function whose launchers count as one launch; return its result.

    It is called again, up to RAILYARD_ATTEMPTS times, if load alone made the launch void.
    """

    def as_one(granted: VirtualTorus) -> int:
        os.environ[AS_ONE] = granted.name
        try:
            return once(granted)
        finally:
            del os.environ[AS_ONE]

    return _in_turn(torus, as_one)


def _launch(torus: VirtualTorus, command: Sequence[str], variables: Mapping[str, str], host: str | None = HEAD) -> int:
    """Run a launcher on a host, or in this process's network for None, as one launch; return its exit status."""

    def once(granted: VirtualTorus) -> int:
        return launcher_process.start(granted, command, variables, host).wait()

    is_part = os.environ.get(AS_ONE) == torus.name and locks.INSIDE_LAUNCH not in os.environ
    return once(torus) if is_part else _in_turn(torus, once)


def _in_turn(torus: VirtualTorus, once: Callable[[VirtualTorus], int]) -> int:
    """Run `once` with the locks of a launch held and the guard watching; return its exit status.

    It runs again if load alone made the launch void, attempts are left, and its output can be removed. Raises
    InputError if the attempts in the variable ATTEMPTS are not 1 to MOST_ATTEMPTS.
    """
    _check_router(torus)
    torus, waited_s = _take_locks(torus)
    text = os.environ.get(ATTEMPTS, "1")
    if text not in map(str, range(1, MOST_ATTEMPTS + 1)):
        raise InputError("environment", ATTEMPTS, text, f"1 to {MOST_ATTEMPTS}")
    attempts = int(text)
    output = os.fstat(sys.stdout.fileno())
    for attempt in range(1, attempts + 1):
        with launcher_process.relay(torus), fidelity.Watch(torus, attempt, waited_s) as watch:
            status = once(torus)
        is_last = attempt == attempts or status != 0 or not is_worth_another(watch.guard)
        if is_last or not stat.S_ISREG(output.st_mode):  # a terminal or a pipe keeps what the launch has written
            break
        os.ftruncate(sys.stdout.fileno(), output.st_size)
        os.lseek(sys.stdout.fileno(), output.st_size, os.SEEK_SET)
        print(f"railyard: {watch.guard.warning}; launching again", file=sys.stderr, flush=True)
    _report(watch)
    return status


def _launch_once_granted(torus: VirtualTorus, command: Sequence[str], variables: Mapping[str, str]) -> int:
    """Run srun on the head, outside any job; take the locks and start the guard when srun has its nodes.

    An srun that ends before that, as with --help, takes no lock and leaves no evidence.
    """
    _check_router(torus)
    with gate.Gate(torus.folder) as stop:
        process = launcher_process.start(torus, command, {**variables, **stop.environment}, HEAD)
        if not stop.wait(lambda: process.child.poll() is not None):
            return process.wait()
        torus, waited_s = _take_locks(torus)
        with fidelity.Watch(torus, waited_s=waited_s) as watch:
            stop.open()
            status = process.wait()
    _report(watch)
    return status


def is_worth_another(guard: fidelity.GuardReport) -> bool:
    """Return whether a launch is void because of load alone, and short enough for a second one."""
    return guard.by_load and guard.watched_s <= LONGEST_REPEATED_S


def _report(watch: fidelity.Watch) -> None:
    """Print the guard's verdict unless it is sound, and write its evidence to the file that RAILYARD_EVIDENCE names.

    Raises RunError if the file cannot be written.
    """
    if watch.guard.warning:
        print(f"railyard: {watch.guard.warning}", file=sys.stderr)
    if path := os.environ.get("RAILYARD_EVIDENCE"):
        try:
            replace_file(Path(path), json.dumps(watch.evidence()))
        except OSError as error:
            raise RunError(f"cannot write the launch's evidence to {path}: {error.strerror}") from error


def _check_router(torus: VirtualTorus) -> None:
    """Raise RunError if the torus has a user-space router that has ended."""
    if not lifecycle.carries(torus):
        raise RunError(launcher_process.router_ended(torus))


def _take_locks(torus: VirtualTorus) -> tuple[VirtualTorus, float]:
    """Wait for the locks of a launch; return the torus as it is then, and the seconds of the wait.

    Raises InputError if the torus has been removed meanwhile.
    """
    begun_s = time.monotonic()
    locks.take_turn(inheritable=True)
    torus = lifecycle.get(torus.name)
    locks.acquire(torus.folder / lifecycle.LAUNCHING, what="another launch on this torus to end")
    return torus, time.monotonic() - begun_s


def _require_namespaces(torus: VirtualTorus, command: str) -> None:
    """Raise InputError if the nodes of the torus are containers."""
    if torus.containers:
        raise InputError(command, "engine", torus.engine, "a torus of engine netns")


def _for_containers(torus: VirtualTorus, mpirun: str, containers: Containers) -> Sequence[str]:
    """Return options of mpirun for ranks in containers.

    Open MPI is where the image has it (`--noprefix`). Daemons stay attached to their agents, so that one that cannot
    run in an image ends the launch instead of never answering. Raises RunError if the image's Open MPI is of another
    series than the system's, because their daemons cannot talk to each other.
    """
    node = torus.topology.nodes[0].name
    variables = environments.for_any_program(torus)
    series = {
        "here": environments.openmpi_series([mpirun], variables),
        f"in the image {containers.image}": environments.openmpi_series(["railyard-enter", node, "mpirun"], variables),
    }
    if len(set(series.values())) > 1 or None in series.values():
        both = ", ".join(f"{side} {version or 'none'}" for side, version in series.items())
        raise RunError(f"Open MPI must be of the same series on both sides; {both}: use another --image")
    _report_volumes(containers)
    return ["--noprefix", "--leave-session-attached"]


def _report_volumes(containers: Containers) -> None:
    """Warn on stderr if ranks in containers do not see the current folder."""
    if not any(Path.cwd().is_relative_to(volume) for volume in containers.volumes):
        volumes = ", ".join(containers.volumes) or "none"
        print(f"railyard: the containers do not see {Path.cwd()}; they see: {volumes}", file=sys.stderr, flush=True)
