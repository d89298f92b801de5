"""Tori without root: one user namespace a user, kept by a sleeping holder, in which every torus command runs.

An ordinary user who may make user namespaces is root inside one, with a /run of their own, so the rest of this package
works there unchanged. The holder ends with the last torus; were it killed, the kernel would remove all tori with it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

from railyard.errors import RunError

INSIDE = "RAILYARD_INSIDE"
HOLDER = "railyard-holder"
SETUP = (
    "mount -t tmpfs tmpfs /run && mkdir -p /run/netns /run/railyard && echo ready && exec -a "
    + HOLDER
    + " sleep inf"
)


def needed() -> bool:
    """Whether this process lacks what makes namespaces and is not inside the holder's yet."""
    return os.geteuid() != 0 and INSIDE not in os.environ


def reenter() -> NoReturn:
    """Run this very command again inside the user's namespaces; RunError where the kernel or its policy forbids."""
    pid = _holder() or _start()
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
    os.execvpe("nsenter", command, {**os.environ, INSIDE: str(pid)})


def release() -> None:
    """End the holder, from inside, when no torus is left."""
    pid = os.environ.get(INSIDE)
    if pid is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGTERM)


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
