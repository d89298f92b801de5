"""Applies a plan to the kernel with `ip -batch` and `tc -batch`, namespace by namespace; removes it.

All of engine `netns`, and the networking of engine `docker`, whose nodes bring a namespace along.

Nothing is done in the machine's own network: cables are born inside the namespaces that they join. All that exists is
named `railyard.TORUS.HOST` under /run/netns, so that whatever a killed `up` left behind can be found and removed.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from railyard.errors import RunError
from railyard.torus.plan.plan import Cable, Namespace, Plan, Port

NETNS = Path("/run/netns")
PREFIX = "railyard"
CLONE_NEWNET = 0x40000000

Progress = Callable[[int], None]


def full_name(torus: str, host: str) -> str:
    """The namespace's name under /run/netns."""
    return f"{PREFIX}.{torus}.{host}"


def namespaces(torus: str) -> list[str]:
    """The torus's namespaces that exist now, complete or not, sorted."""
    return sorted(p.name for p in NETNS.glob(full_name(torus, "*")))


def tori() -> set[str]:
    """The names of tori of which any namespace exists."""
    return {p.name.split(".")[1] for p in NETNS.glob(f"{PREFIX}.*.*")}


def create(
    torus: str,
    plan: Plan,
    progress: Progress = lambda done: None,
    first_processes: Mapping[str, int] | None = None,
    *,
    before_configuring: Callable[[], object] = lambda: None,
) -> None:
    """Make every namespace and cable, then configure them; `progress` is told the namespaces done.

    A host of `first_processes` (host -> process number) has its namespace already: it only gets its name.
    `before_configuring` runs between the two steps: what makes interfaces of its own. Raises RunError with the first
    failing line. What was made by then stays, for `remove`.
    """
    lines = [_namespace(torus, n.name, first_processes or {}) for n in plan.namespaces]
    lines += [_cable(torus, cable) for cable in plan.cables]
    _batch("ip", lines)
    before_configuring()
    work = [(torus, namespace) for namespace in plan.namespaces]
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        for done, _ in enumerate(pool.imap_unordered(_configure, work, chunksize=4), start=1):
            progress(done)


def remove(torus: str) -> None:
    """Kill what runs in the torus and delete its namespaces, as many as there are. Idempotent."""
    names = namespaces(torus)
    kill(names)
    if names:
        _batch("ip", [f"netns del {name}" for name in names])


def kill(names: Iterable[str], *, timeout_s: float = 10) -> None:
    """SIGKILL every process whose network is one of these namespaces, and wait until they are gone."""
    inodes = {(NETNS / name).stat().st_ino for name in names}
    deadline = time.monotonic() + timeout_s
    while found := processes(inodes):
        for pid in found:
            _signal(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            raise RunError(f"processes {sorted(found)} in the torus do not end on SIGKILL")
        time.sleep(0.01)


def processes(inodes: set[int]) -> set[int]:
    """The processes whose network namespace has one of these inode numbers; zombies do not count."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "ns/net").stat().st_ino in inodes:
                    found.add(int(entry.name))
            except OSError:
                continue
    return found


def enter(name: str) -> None:
    """Move the calling process, which must have one thread, into a network namespace (os.setns is new in 3.12)."""
    descriptor = os.open(NETNS / name, os.O_RDONLY | os.O_CLOEXEC)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(descriptor, CLONE_NEWNET) != 0:
            raise RunError(f"cannot enter namespace {name}: {os.strerror(ctypes.get_errno())}")
    finally:
        os.close(descriptor)


def batch_in(name: str, program: str, lines: Iterable[str]) -> None:
    """Run lines for `ip -batch` or `tc -batch` in a namespace; moves the calling process there."""
    enter(name)
    _batch(program, lines)


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _namespace(torus: str, host: str, first_processes: Mapping[str, int]) -> str:
    pid = first_processes.get(host)
    return f"netns attach {full_name(torus, host)} {pid}" if pid else f"netns add {full_name(torus, host)}"


def _cable(torus: str, cable: Cable) -> str:
    def end(port: Port) -> str:
        namespace = full_name(torus, port.namespace)
        return f"name {port.interface} netns {namespace} mtu {cable.mtu_bytes} address {port.mac}"

    return f"link add {end(cable.ends[0])} type veth peer {end(cable.ends[1])}"


def _configure(work: tuple[str, Namespace]) -> None:
    torus, namespace = work
    enter(full_name(torus, namespace.name))
    for key, value in namespace.sysctls:
        Path("/proc/sys", key).write_text(value)
    _batch("ip", namespace.ip_lines)
    _batch("tc", namespace.tc)


def _batch(program: str, lines: Iterable[str]) -> None:
    text = "\n".join(lines)
    if not text:
        return
    done = subprocess.run([program, "-batch", "-"], input=text, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise RunError(f"{program} failed: {_first_failure(done.stderr, text)}")


def _first_failure(stderr: str, text: str) -> str:
    """`ip -batch` says `Command failed -:LINE` after the reason; give both on one line."""
    lines = text.splitlines()
    reasons = [line for line in stderr.splitlines() if line and not line.startswith("Command failed")]
    number = stderr.rpartition("Command failed -:")[2].strip()
    command = lines[int(number) - 1] if number.isdigit() and 0 < int(number) <= len(lines) else lines[0]
    return f"{'; '.join(reasons) or 'no reason given'} (in: {command})"
