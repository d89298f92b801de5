"""Applies a plan to the kernel with `ip -batch` and `tc -batch`, namespace by namespace; removes it.

All of engine `netns`, and the networking of engine `docker`, whose nodes bring a namespace along.

Nothing is done in the machine's own network: cables are born inside the namespaces that they join. All that exists is
named `railyard.TORUS.HOST` under /run/netns, so that whatever a killed `up` left behind can be found and removed.
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
from typing import TypeVar

from railyard.base.errors import InputError, RunError
from railyard.base.parent import workers
from railyard.torus.engines.base import Containers, Engine, Progress
from railyard.torus.plan.plan import Cable, CableEnd, Namespace, TorusPlan
from railyard.torus.plan.values import Route, Shaper

NETNS = Path("/run/netns")
PREFIX = "railyard"
CLONE_NEWNET = 0x40000000
#: Index of the near end of the first cable: above all that Linux gives by itself, from 1 on in each namespace.
FIRST_CABLE = 1 << 20

Item = TypeVar("Item")
Result = TypeVar("Result")
#: Device and inode of a namespace.
Identity = tuple[int, int]


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
    plan: TorusPlan,
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
    lines += [_cable(torus, number, cable) for number, cable in enumerate(plan.cables)]
    _batch("ip", lines)
    _refuse_foreign(full_name(torus, host) for host in first_processes or {})
    before_configuring()
    work = [(torus, namespace) for namespace in plan.namespaces]
    for done, _ in enumerate(at_once(_configure, work), start=1):
        progress(done)


def at_once(function: Callable[[Item], Result], work: Sequence[Item]) -> Iterator[Result]:
    """Yield a function's results as worker processes finish, in any order.

    Raises RunError when a worker is killed. Workers end with this process, so that nobody else holds its lock then.
    """
    if not work:
        return
    processes = min(len(work), len(os.sched_getaffinity(0)))
    with workers(processes) as pool:
        for future in as_completed([pool.submit(function, item) for item in work]):
            yield future.result()


def _refuse_foreign(names: Iterable[str]) -> None:
    """Raise RunError for a namespace that is this machine's own: a container's process number was used again."""
    for name in names:
        if _identity(NETNS / name) in _machines_own():
            raise RunError(f"{name} ended while the torus was made; run the same command again")


def _machines_own() -> set[Identity]:
    """The network namespaces of this process and of the machine's first process, as far as it can be read."""
    own = set()
    for process in ("self", "1"):
        with contextlib.suppress(OSError):
            own.add(_identity(Path(f"/proc/{process}/ns/net")))
    return own


def _identity(path: Path) -> Identity:
    found = path.stat()
    return found.st_dev, found.st_ino


def remove(torus: str) -> None:
    """Kill what runs in the torus and delete its namespaces, as many as there are. Idempotent."""
    names = namespaces(torus)
    kill(names)
    if names:
        _batch("ip", [f"netns del {name}" for name in names])


def kill(names: Iterable[str], *, timeout_s: float = 10) -> None:
    """SIGKILL every process whose network is one of these namespaces, and wait until they are gone.

    A name that leads to the machine's own network, or to no network, ends nobody. Raises RunError when called from
    within one of them, and when a process does not end.
    """
    wanted = identities(names)
    refuse_inside(wanted)
    wanted -= _machines_own()
    deadline = time.monotonic() + timeout_s
    while found := processes(wanted):
        for pid in found:
            _kill_if_in(pid, wanted)
        if time.monotonic() > deadline:
            raise RunError(f"processes {sorted(found)} in the torus do not end on SIGKILL")
        time.sleep(0.01)


def identities(names: Iterable[str]) -> set[Identity]:
    """Device and inode of the network namespaces of these names; a file that is no namespace does not count."""
    found = set()
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            found.add(_identity(NETNS / name))
    namespaces_device = Path("/proc/self/ns/net").stat().st_dev
    return {(device, inode) for device, inode in found if device == namespaces_device}


def processes(wanted: Set[Identity]) -> set[int]:
    """Return the processes whose network namespace is one of these; zombies do not count."""
    found = set()
    for entry in Path("/proc").iterdir():
        if wanted and entry.name.isdigit() and _is_in(int(entry.name), wanted):
            found.add(int(entry.name))
    return found


def _is_in(pid: int, wanted: Set[Identity]) -> bool:
    try:
        return _identity(Path(f"/proc/{pid}/ns/net")) in wanted
    except OSError:
        return False


def refuse_inside(wanted: Set[Identity]) -> None:
    """Raise RunError where this process is in one of these namespaces of a torus."""
    own = _identity(Path("/proc/self/ns/net"))
    try:
        machine = _identity(Path("/proc/1/ns/net"))
    except OSError:
        machine = None
    if own in wanted and own != machine:
        raise RunError("this command runs inside the torus that it would end; run it on the machine itself")


def _kill_if_in(pid: int, wanted: Set[Identity]) -> None:
    """SIGKILL a process if it is in one of the namespaces; its number cannot be used again in between."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return
    try:
        if _is_in(pid, wanted):
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    finally:
        os.close(descriptor)


def enter(name: str) -> None:
    """Move the calling process, which must have one thread, into a network namespace (os.setns is new in 3.12)."""
    descriptor = os.open(NETNS / name, os.O_RDONLY | os.O_CLOEXEC)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(descriptor, CLONE_NEWNET) != 0:
            raise RunError(f"cannot enter namespace {name}: {os.strerror(ctypes.get_errno())}")
    finally:
        os.close(descriptor)


def ip_lines(namespace: Namespace) -> list[str]:
    """Return all that `ip -batch` does inside a namespace, in order."""
    ports = [line for lines in namespace.ports.values() for line in lines]
    return [*namespace.ip, *ports, *(f"route add {route_words(route)}" for route in namespace.routes)]


def route_words(route: Route) -> str:
    """Return a route for `ip route add` or `ip route replace`."""
    words = [route.prefix]
    words += ["via", route.gateway] if route.gateway else []
    words += ["dev", route.interface]
    words += ["onlink"] if route.gateway else []
    words += ["src", route.source] if route.source else []
    words += [route.tcp] if route.tcp else []
    words += ["table", route.table] if route.table else []
    return " ".join(words)


def shaper_lines(shaper: Shaper) -> list[str]:
    """Return a shaper's lines for `tc -batch`."""
    root = f"qdisc replace dev {shaper.interface}"
    bucket = f"rate {shaper.rate_bit_s}bit burst {shaper.burst_bytes} limit {shaper.queue_bytes}"
    lines = [f"{root} root handle 1: tbf {bucket}"]
    if shaper.delay_us is not None:
        delay = f"delay {shaper.delay_us:.0f}us limit {shaper.delay_packets}"
        lines.append(f"{root} parent 1:1 handle 10: netem {delay}")
    return lines


def reroute_lines(old: Namespace, new: Namespace, *, again: bool) -> list[str]:
    """Return the lines for `ip -batch` that turn a namespace's old routes into its new ones.

    With `again` those to be deleted may be gone already.
    """
    before, after = ({route.key: route for route in host.routes} for host in (old, new))
    changed = [route for key, route in after.items() if before.get(key) != route]
    lines = [f"route replace {route_words(route)}" for route in changed]
    for key, route in before.items():
        if key not in after:
            name = route.prefix + (f" table {route.table}" if route.table else "")
            lines += [f"route replace unreachable {name}"] if again else []
            lines.append(f"route del {'unreachable ' if again else ''}{name}")
    return lines


def reshape_lines(old: Sequence[Shaper], new: Sequence[Shaper]) -> list[str]:
    """Return the lines for `tc -batch` that turn a namespace's old shapers into its new ones."""
    before = {shaper.interface: shaper for shaper in old}
    return [
        line
        for shaper in new
        if before.get(shaper.interface) != shaper
        for line in shaper_lines(shaper)
        if shaper.interface not in before or line not in shaper_lines(before[shaper.interface])
    ]


def revive_lines(namespace: Namespace, ports: Iterable[str]) -> list[str]:
    """Return the lines for `ip -batch` that bring ports up again; the kernel forgot their neighbours and routes."""
    lines: list[str] = []
    for port in ports:
        through = [route for route in namespace.routes if route.interface == port]
        lines += [*namespace.ports[port], *(f"route replace {route_words(route)}" for route in through)]
    return lines


def batch_in(name: str, program: str, lines: Iterable[str]) -> None:
    """Run lines for `ip -batch` or `tc -batch` in a namespace; moves the calling process there."""
    enter(name)
    _batch(program, lines)


def _namespace(torus: str, host: str, first_processes: Mapping[str, int]) -> str:
    pid = first_processes.get(host)
    return f"netns attach {full_name(torus, host)} {pid}" if pid else f"netns add {full_name(torus, host)}"


def _cable(torus: str, number: int, cable: Cable) -> str:
    """Return the line that makes a cable.

    Two ends with the same index, each in its namespace, would drop every packet for up to a second: Linux takes them
    for one interface then and puts off the event that opens it (linkwatch_urgent_event).
    """

    def end(port: CableEnd) -> str:
        namespace = full_name(torus, port.namespace)
        return f"name {port.interface} netns {namespace} mtu {cable.mtu_bytes} address {port.mac}"

    index = FIRST_CABLE + number
    return f"link add index {index} {end(cable.ends[0])} type veth peer {end(cable.ends[1])}"


def _configure(work: tuple[str, Namespace]) -> None:
    torus, namespace = work
    enter(full_name(torus, namespace.name))
    for key, value in namespace.sysctls:
        _set(key, value)
    _batch("ip", ip_lines(namespace))
    _batch("tc", (line for shaper in namespace.shapers for line in shaper_lines(shaper)))


def _set(key: str, value: str) -> None:
    """Write a kernel setting of this namespace; one that the kernel lacks stays as it is.

    Without IPv6 there is nothing to turn off; Linux before 4.20 has one tcp_limit_output_bytes for the machine.
    Raises RunError where the setting exists and cannot be written.
    """
    path = Path("/proc/sys", key)
    try:
        path.write_text(value)
    except FileNotFoundError:
        return
    except OSError as error:
        if _has(path, value):
            return
        raise RunError(
            f"cannot set {path} to {value!r}: {error.strerror}; mount /proc/sys writable"
        ) from error


def _has(path: Path, value: str) -> bool:
    return path.read_text(encoding="ascii").split() == value.split()


def _batch(program: str, lines: Iterable[str]) -> None:
    text = "\n".join(lines)
    if not text:
        return
    try:
        # It inherits the lock of `up`, so that nobody works on the torus before it ends, should `up` be killed.
        done = subprocess.run(
            [program, "-batch", "-"],
            input=text,
            text=True,
            capture_output=True,
            check=False,
            close_fds=False,
        )
    except FileNotFoundError as error:
        raise RunError(f"no {program} on the PATH; Debian's package iproute2 has it") from error
    if done.returncode != 0:
        raise RunError(f"{program} failed: {_first_failure(done.stderr, text)}")


def _first_failure(stderr: str, text: str) -> str:
    """`ip -batch` says `Command failed -:LINE` after the reason; give both on one line."""
    lines = text.splitlines()
    reasons = [line for line in stderr.splitlines() if line and not line.startswith("Command failed")]
    number = stderr.rpartition("Command failed -:")[2].strip()
    command = lines[int(number) - 1] if number.isdigit() and 0 < int(number) <= len(lines) else lines[0]
    return f"{'; '.join(reasons) or 'no reason given'} (in: {command})"


def _made_of(image: str | None, volumes: Sequence[str]) -> Containers | None:
    """Return nothing: nodes are namespaces alone. InputError for options of the other engines."""
    for option, value in (("--image", image), ("--volume", " ".join(volumes))):
        if value:
            raise InputError(option, "", value, "only with an engine of containers, such as --engine docker")
    return None


#: Nodes are namespaces and nothing else, which `create` and `remove` above make and remove for every engine.
ENGINE = Engine(
    name="netns",
    missing=lambda image: "",
    made_of=_made_of,
    create=lambda order, progress: {},
    remove=lambda torus, settle_s: None,
    tori=set,
    ended=lambda torus, folder: [],
    keepers=lambda folder: set(),
)
