"""Several machines on one: each has its own network, host name, /run and /dev/shm, and a wire to a common switch."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.commands import BIN, CHECKOUT, HUNG_S, environment, executable

ALONE = ["unshare", "--net", "--mount", "--uts", "sh", "-c"]
INSIDE = ["--net", "--mount", "--uts"]
#: What a machine does first: nothing of the real one's tori is seen, and it waits until it is ended.
OWN = "hostname {name} && mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /dev/shm && echo ready && exec sleep inf"


@dataclass(frozen=True)
class Machines:
    """Machines that run, by name, and the options of `torus up` that use all of them, from the first."""

    folder: Path
    pids: dict[str, int]

    @property
    def options(self) -> list[str]:
        return ["--hosts", str(self.folder / "hosts"), "--reach", f"{self.folder}/reach {{host}}"]

    def command(self, machine: str, *words: str) -> list[str]:
        in_checkout = ["sh", "-c", 'cd "$0" && exec "$@"', str(CHECKOUT)]  # nsenter goes to the root of the mounts
        return ["nsenter", "-t", str(self.pids[machine]), *INSIDE, *in_checkout, *words]

    def run(self, machine: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a program in the checkout on a machine."""
        command = self.command(machine, *words)
        return subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=HUNG_S, check=False)

    def railyard(self, *words: str, on: str = "one") -> subprocess.CompletedProcess[str]:
        return self.run(on, str(BIN / "railyard"), *words)

    def left(self) -> list[str]:
        """Return the namespaces of tori that are left on any machine."""
        return [name for machine in self.pids for name in self.run(machine, "ls", "/run/netns").stdout.split()]


@contextlib.contextmanager
def machines(names: Sequence[str], folder: Path) -> Iterator[Machines]:
    """Run machines that reach each other, the first at 10.99.0.1, with a file of them."""
    started = [subprocess.Popen([*ALONE, OWN.format(name=name)], stdout=subprocess.PIPE) for name in ("switch", *names)]
    try:
        for process in started:
            assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        switch, *others = [process.pid for process in started]
        _ip(switch, "link add bridge type bridge", "link set bridge up")
        for number, pid in enumerate(others, start=1):
            _ip(
                switch,
                f"link add w{number} type veth peer name eth0 netns {pid}",
                f"link set w{number} master bridge up",
            )
            _ip(pid, f"addr add 10.99.0.{number}/24 dev eth0", "link set lo up", "link set eth0 up")
        lines = [f"{name} 10.99.0.{number}\n" for number, name in enumerate(names, start=1)]
        (folder / "hosts").write_text("".join(lines))
        for name, pid in zip(names, others, strict=True):
            (folder / name).write_text(str(pid))
        script = f'#!/bin/sh\npid=$(cat "{folder}/$1"); shift\nexec nsenter -t "$pid" {" ".join(INSIDE)} "$@"\n'
        executable(folder / "reach", script)
        yield Machines(folder, dict(zip(names, others, strict=True)))
    finally:
        for process in started:
            process.kill()
            process.communicate()


def _ip(pid: int, *lines: str) -> None:
    """Run lines of `ip -batch` in the network of a process."""
    batch = ["nsenter", "-t", str(pid), "--net", "ip", "-batch", "-"]
    subprocess.run(batch, input="\n".join(lines), text=True, check=True)


def router_of(machines: Machines, machine: str, torus: str) -> int:
    """Return the process of a torus's router on a machine, as this machine numbers it."""
    processes = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    routers = [pid for pid in processes if _is_router(pid, torus)]
    (found,) = (pid for pid in routers if _mounts(pid) == _mounts(machines.pids[machine]))
    return found


def _is_router(pid: int, torus: str) -> bool:
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return words[0].endswith(b"railyard-router") and f"/{torus}/".encode() in words[1]
    return False


def _mounts(pid: int) -> Path:
    return Path(f"/proc/{pid}/ns/mnt").readlink()
