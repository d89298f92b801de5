"""Apply a plan to the kernel with `ip -batch` and `tc -batch`, namespace by namespace, and remove it.

This is all of engine `netns`, and the network of engine `docker`, whose containers have namespaces already.

Nothing is done in the machine's own network, because cables are made inside the namespaces that they join. Namespaces
are named `railyard.TORUS.HOST` under /run/netns, so that those of a killed `up` can be found and removed.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import as_completed
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from railyard.base.errors import RunError
from railyard.base.parent import workers
from railyard.torus.engines.base import Engine, Progress
from railyard.torus.plan.plan import Cable, CableEnd, Namespace, Route, Shaper, TorusPlan

NETNS = Path("/run/netns")
PREFIX = "railyard"
CLONE_NEWNET = 0x40000000
#: Interface index of the first cable's first end: above those that Linux assigns itself, from 1 on in each namespace.
FIRST_CABLE = 1 << 20

Item = TypeVar("Item")
Result = TypeVar("Result")
#: Device and inode of a namespace.
Identity = tuple[int, int]


def full_name(torus: str, host: str) -> str:
    """Return the name of a host's namespace under /run/netns."""
    return f"{PREFIX}.{torus}.{host}"


def namespaces(torus: str) -> list[str]:
    """Return the full names of a torus's namespaces that exist now, complete or not, sorted."""
    return sorted(p.name for p in NETNS.glob(full_name(torus, "*")))


def tori() -> set[str]:
    """Return the names of the tori that have a namespace."""
    return {p.name.split(".")[1] for p in NETNS.glob(f"{PREFIX}.*.*")}


def create(
    torus: str,
    plan: TorusPlan,
    progress: Progress = lambda done: None,
    first_processes: Mapping[str, int] = MappingProxyType({}),
    *,
    before_configuring: Callable[[], object] = lambda: None,
) -> None:
    """Make every namespace and cable, then configure them; `progress` is called with the number of namespaces done.

    A host of `first_processes` (host -> process number) has a namespace already, which only gets its name.
    `before_configuring` is called between the two steps, to make further interfaces. Raises RunError with the first
    line that fails. What exists by then stays, for `remove`.
    """
    attached = {host: f"netns attach {full_name(torus, host)} {pid}" for host, pid in first_processes.items()}
    lines = [attached.get(host.name, f"netns add {full_name(torus, host.name)}") for host in plan.namespaces]
    lines += [_cable(torus, number, cable) for number, cable in enumerate(plan.cables)]
    batch("ip", lines)
    for name in (full_name(torus, host) for host in first_processes):
        if _identity(NETNS / name) in _machines_own():  # a container ended and its process number was reused
            raise RunError(f"{name} ended while the torus was made; run the same command again")
    before_configuring()
    work = [(torus, namespace) for namespace in plan.namespaces]
    for done, _ in enumerate(at_once(_configure, work), start=1):
        progress(done)


def at_once(function: Callable[[Item], Result], work: Sequence[Item]) -> Iterator[Result]:
    """Yield a function's result for each item of `work`, as worker processes finish, in any order.

    Raises RunError if a worker is killed. Workers end with this process, so that none of them holds its lock longer.
    """
    if not work:
        return
    processes = min(len(work), len(os.sched_getaffinity(0)))
    with workers(processes) as pool:
        for future in as_completed([pool.submit(function, item) for item in work]):
            yield future.result()


def _machines_own() -> set[Identity]:
    """Return the network namespaces of this process and, if it can be read, of the machine's first process."""
    machine = set()
    for process in ("self", "1"):
        with contextlib.suppress(OSError):
            machine.add(_identity(Path(f"/proc/{process}/ns/net")))
    return machine


def _identity(path: Path) -> Identity:
    """Return what identifies the namespace at a path."""
    status = path.stat()
    return status.st_dev, status.st_ino


def remove(torus: str) -> None:
    """Kill every process in a torus and delete the namespaces that exist. Idempotent; raises as `kill` does."""
    names = namespaces(torus)
    kill(names)
    if names:
        batch("ip", [f"netns del {name}" for name in names])


def kill(names: Iterable[str], *, timeout_s: float = 10) -> None:
    """SIGKILL every process whose network is one of these namespaces, and wait until they are gone.

    A name of the machine's own network, or of no network, is ignored. Raises RunError if this process is in one of the
    namespaces, and if a process has not ended after `timeout_s`.
    """
    targets = identities(names)
    refuse_inside(targets)
    targets -= _machines_own()
    deadline = time.monotonic() + timeout_s
    while pids := processes(targets):
        for pid in pids:
            _kill_if_in(pid, targets)
        if time.monotonic() > deadline:
            raise RunError(f"processes {sorted(pids)} in the torus do not end on SIGKILL")
        time.sleep(0.01)


def identities(names: Iterable[str]) -> set[Identity]:
    """Return device and inode of the network namespaces with these names; other files are ignored."""
    files = set()
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            files.add(_identity(NETNS / name))
    namespaces_device = Path("/proc/self/ns/net").stat().st_dev
    return {(device, inode) for device, inode in files if device == namespaces_device}


def processes(targets: Set[Identity]) -> set[int]:
    """Return the numbers of the processes whose network namespace is one of these; zombies are ignored."""
    pids = set()
    for entry in Path("/proc").iterdir():
        if targets and entry.name.isdigit() and is_in(int(entry.name), targets):
            pids.add(int(entry.name))
    return pids


def is_in(pid: int, targets: Set[Identity]) -> bool:
    """Return whether a process is in one of these network namespaces."""
    try:
        return _identity(Path(f"/proc/{pid}/ns/net")) in targets
    except OSError:
        return False


def refuse_inside(targets: Set[Identity]) -> None:
    """Raise RunError if this process is in one of these namespaces and it is not the machine's own."""
    current = _identity(Path("/proc/self/ns/net"))
    try:
        machine = _identity(Path("/proc/1/ns/net"))
    except OSError:
        machine = None
    if current in targets and current != machine:
        raise RunError("this command runs inside the torus that it would end; run it on the machine itself")


def _kill_if_in(pid: int, targets: Set[Identity]) -> None:
    """SIGKILL a process if it is in one of the namespaces.

    The check and the signal use one descriptor, because a process number can be reused between them.
    """
    with contextlib.suppress(OSError):
        descriptor = os.pidfd_open(pid)
        try:
            if is_in(pid, targets):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        finally:
            os.close(descriptor)


def enter(name: str) -> None:
    """Move this process, which must have one thread, into a network namespace. RunError if the kernel refuses."""
    libc = ctypes.CDLL(None, use_errno=True)  # os.setns is new in Python 3.12
    with (NETNS / name).open("rb") as file:
        if libc.setns(file.fileno(), CLONE_NEWNET) != 0:
            raise RunError(f"cannot enter namespace {name}: {os.strerror(ctypes.get_errno())}")


def route_words(route: Route) -> str:
    """Return the arguments of `ip route add` or `ip route replace` for a route."""
    words = [route.prefix]
    words += ["via", route.gateway] if route.gateway else []
    words += ["dev", route.interface]
    words += ["onlink"] if route.gateway else []
    words += ["src", route.source] if route.source else []
    words += [route.tcp] if route.tcp else []
    words += ["table", route.table] if route.table else []
    return " ".join(words)


def shaper_lines(shaper: Shaper) -> list[str]:
    """Return the lines for `tc -batch` that make a shaper."""
    root = f"qdisc replace dev {shaper.interface}"
    bucket = f"rate {shaper.rate_bit_s}bit burst {shaper.burst_bytes} limit {shaper.queue_bytes}"
    lines = [f"{root} root handle 1: tbf {bucket}"]
    if shaper.delay_us is not None:
        delay = f"delay {shaper.delay_us:.0f}us limit {shaper.delay_packets}"
        lines.append(f"{root} parent 1:1 handle 10: netem {delay}")
    return lines


def reroute_lines(old: Namespace, new: Namespace, *, again: bool) -> list[str]:
    """Return the lines for `ip -batch` that turn a namespace's old routes into its new ones.

    With `again`, a route to be deleted may be absent, because an earlier change was interrupted.
    """
    before, after = ({(route.table, route.prefix): route for route in host.routes} for host in (old, new))
    changed = [route for key, route in after.items() if before.get(key) != route]
    lines = [f"route replace {route_words(route)}" for route in changed]
    for key, route in before.items():
        if key not in after:
            name = route.prefix + (f" table {route.table}" if route.table else "")
            lines += [f"route replace unreachable {name}"] if again else []
            lines.append(f"route del {'unreachable ' if again else ''}{name}")
    return lines


def reshape_lines(old: Sequence[Shaper], new: Sequence[Shaper]) -> list[str]:
    """Return the lines for `tc -batch` that turn a namespace's old shapers into its new ones.

    Lines that an old shaper already has are left out.
    """
    before = {shaper.interface: shaper for shaper in old}
    return [
        line
        for shaper in new
        if before.get(shaper.interface) != shaper
        for line in shaper_lines(shaper)
        if shaper.interface not in before or line not in shaper_lines(before[shaper.interface])
    ]


def revive_lines(namespace: Namespace, ports: Iterable[str]) -> list[str]:
    """Return the lines for `ip -batch` that bring ports up, with the neighbours and routes that the kernel dropped."""
    lines: list[str] = []
    for port in ports:
        through = [route for route in namespace.routes if route.interface == port]
        lines += [*namespace.ports[port], *(f"route replace {route_words(route)}" for route in through)]
    return lines


def batches(torus: str, program: str, lines_of: Mapping[str, Sequence[str]]) -> None:
    """Run lines for `ip -batch`, `tc -batch` or `bridge -batch` on hosts of a torus; `lines_of` is host -> lines.

    Raises RunError with the first line that fails.
    """
    work = [(full_name(torus, host), program, lines) for host, lines in lines_of.items() if lines]
    for _ in at_once(_batch_in, work):
        pass


def _batch_in(work: tuple[str, str, Sequence[str]]) -> None:
    """Run lines in a namespace, in a worker process; `work` is (full name of the namespace, program, lines)."""
    name, program, lines = work
    enter(name)
    batch(program, lines)


def _cable(torus: str, number: int, cable: Cable) -> str:
    """Return the line for `ip -batch` that makes the cable with a number.

    The two ends need different interface indices. Otherwise Linux takes them for one interface and delays the event
    that opens it (linkwatch_urgent_event), and every packet is dropped for up to a second.
    """

    def end(port: CableEnd) -> str:
        """Return the words for one end."""
        namespace = full_name(torus, port.namespace)
        return f"name {port.interface} netns {namespace} mtu {cable.mtu_bytes} address {port.mac}"

    index = FIRST_CABLE + number
    return f"link add index {index} {end(cable.ends[0])} type veth peer {end(cable.ends[1])}"


def _configure(work: tuple[str, Namespace]) -> None:
    """Configure a namespace of a torus in a worker process: kernel settings, interfaces, routes, shapers.

    Raises RunError if a setting exists, cannot be written and has another value. A setting that the namespace lacks is
    ignored: without IPv6 there is nothing to turn off, and Linux before 4.20 has one tcp_limit_output_bytes for the
    whole machine.
    """
    torus, namespace = work
    enter(full_name(torus, namespace.name))
    for key, value in namespace.sysctls:
        path = Path("/proc/sys", key)
        try:
            path.write_text(value)
        except FileNotFoundError:
            continue
        except OSError as error:
            if path.read_text(encoding="ascii").split() != value.split():
                problem = f"cannot set {path} to {value!r}: {error.strerror}"
                raise RunError(f"{problem}; mount /proc/sys writable") from error
    ports = [line for lines in namespace.ports.values() for line in lines]
    batch("ip", [*namespace.ip, *ports, *(f"route add {route_words(route)}" for route in namespace.routes)])
    batch("tc", (line for shaper in namespace.shapers for line in shaper_lines(shaper)))


def batch(program: str, lines: Iterable[str]) -> None:
    """Run lines by `ip -batch` or `tc -batch` in this process's namespace. RunError with the first line that fails."""
    text = "\n".join(lines)
    if not text:
        return
    try:
        # The program inherits the lock of `up`, so that no other command starts before it ends if `up` is killed.
        result = subprocess.run(
            [program, "-batch", "-"], input=text, text=True, capture_output=True, check=False, close_fds=False
        )
    except FileNotFoundError as error:
        raise RunError(f"no {program} on the PATH; Debian's package iproute2 has it") from error
    if result.returncode != 0:  # stderr has the reason, and `Command failed -:NUMBER` with the line's number after it
        commands = text.splitlines()
        reasons = [line for line in result.stderr.splitlines() if line and not line.startswith("Command failed")]
        number = result.stderr.rpartition("Command failed -:")[2].strip()
        command = commands[int(number) - 1] if number.isdigit() and 0 < int(number) <= len(commands) else commands[0]
        raise RunError(f"{program} failed: {'; '.join(reasons) or 'no reason given'} (in: {command})")


#: `create` and `remove` above make and remove the namespaces of every engine.
ENGINE = Engine(name="netns")
