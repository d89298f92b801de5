"""Tori without root: one user namespace a user, kept by a sleeping holder, in which every torus command runs.

An ordinary user who may make user namespaces is root inside one, with a /run of their own, so the rest of this package
works there unchanged. The holder ends with the last command that leaves no torus. Were it killed, the kernel would
remove all tori with it. Two locks outside keep commands apart: `starting`, while a command finds or starts the holder
or ends it, and `using`, shared by all commands that are inside.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from railyard.base.errors import RunError
from railyard.torus.virtual import locks

INSIDE = locks.INSIDE_HOLDER
#: Descriptors of the two locks, for the command inside.
LOCKS = "RAILYARD_HOLDER_LOCKS"
HOLDER = "railyard-holder"
SETUP = (
    "mount -t tmpfs tmpfs /run && mkdir -p /run/netns /run/railyard && echo ready && exec -a "
    + HOLDER
    + " sleep inf"
)


def needed() -> bool:
    """Return whether this process lacks what makes namespaces and is not inside the holder's yet."""
    return os.geteuid() != 0 and INSIDE not in os.environ


def reenter() -> NoReturn:
    """Run this very command again inside the user's namespaces; RunError where the kernel or its policy forbids."""
    starting, using = (_open_lock(name) for name in ("starting", "using"))
    fcntl.flock(starting, fcntl.LOCK_EX)
    pid = _holder() or _start()
    fcntl.flock(using, fcntl.LOCK_SH)
    fcntl.flock(starting, fcntl.LOCK_UN)
    inside = ["sh", "-c", 'cd "$0" && exec "$@"', str(Path.cwd()), sys.executable, *_self()]
    command = [
        "nsenter",
        "--target",
        str(pid),
        "--user",
        "--net",
        "--mount",
        "--preserve-credentials",
        "--",
        *inside,
    ]
    os.execvpe("nsenter", command, {**os.environ, INSIDE: str(pid), LOCKS: f"{starting} {using}"})


def adopt(in_use: Callable[[], bool]) -> None:
    """Let the command inside end the holder at its own end, where it is the last and nothing is in use."""
    numbers = os.environ.pop(LOCKS, "").split()
    if len(numbers) != 2:
        return
    starting, using = map(int, numbers)
    for descriptor in (starting, using):
        os.set_inheritable(descriptor, False)
    atexit.register(_release, int(os.environ[INSIDE]), starting, using, in_use)


def _release(holder: int, starting: int, using: int, in_use: Callable[[], bool]) -> None:
    """End the holder unless a torus is left or another command is inside; nobody enters meanwhile."""
    if in_use():
        return
    fcntl.flock(starting, fcntl.LOCK_EX)
    fcntl.flock(using, fcntl.LOCK_UN)
    try:
        fcntl.flock(using, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return  # the other command does the same at its end
    if in_use():
        return
    with contextlib.suppress(OSError):
        os.kill(holder, signal.SIGKILL)
        while _command_of(holder) == HOLDER:
            time.sleep(0.005)


def _open_lock(name: str) -> int:
    """Open a lock of this user's own, which the command inside inherits. RunError where another user made the file."""
    user = os.geteuid()
    own = Path(f"/run/user/{user}")
    folder = own if own.is_dir() and own.stat().st_uid == user else locks.machine_file().parent
    path = folder / f"railyard.{user}.{name}"
    descriptor = locks.open_for_all(path)
    if os.fstat(descriptor).st_uid != user:
        raise RunError(f"{path}: another user's; expected a file of user {user}; run as root: rm {path}")
    os.set_inheritable(descriptor, True)
    return descriptor


def _self() -> list[str]:
    return ["-m", "railyard.cli", *sys.argv[1:]]


def _holder() -> int | None:
    """The user's holder, found among the processes: a file with its number could be missing after a kill."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if entry.stat().st_uid == os.geteuid() and _command_of(int(entry.name)) == HOLDER:
                    return int(entry.name)
    return None


def _start() -> int:
    unshare = ["unshare", "--user", "--map-root-user", "--net", "--mount", "bash", "-c", SETUP]
    holder = subprocess.Popen(
        unshare,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert holder.stdout is not None and holder.stderr is not None
    if holder.stdout.readline() != "ready\n":
        reason = holder.stderr.read().strip().replace("\n", "; ")
        raise RunError(f"no permission for namespaces ({reason}); run as root, or allow user namespaces")
    while _command_of(holder.pid) != HOLDER:
        time.sleep(0.01)
    return holder.pid


def _command_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode(errors="replace")
