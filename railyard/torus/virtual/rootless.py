"""Run the commands of an ordinary user in a user namespace, in which tori need no root.

Each user has one such namespace. A sleeping process, the holder, keeps it open. The user is root inside, with a private
/run, so the other modules work there unchanged. The last command that leaves no torus ends the holder. If the holder is
killed, the kernel removes all tori with it. Two locks outside the namespace coordinate commands: `starting` is held
while a command finds, starts or ends the holder, and `using` is shared by all commands inside.
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

from railyard.base.errors import RunError
from railyard.torus.virtual import locks

INSIDE = locks.INSIDE_HOLDER
#: The variable that passes the descriptors of the two locks to the command inside.
LOCKS = "RAILYARD_HOLDER_LOCKS"
#: The command line of the holder, whose first word is no program's name.
HOLDER = "railyard-holder inf"
SETUP = (
    "mount -t tmpfs tmpfs /run && mkdir -p /run/netns /run/railyard && echo ready && exec -a railyard-holder sleep inf"
)


def reenter() -> None:
    """Replace this process by the same command inside the user's namespaces, unless it is root's or inside already.

    Raises RunError if the kernel or its policy does not allow user namespaces.
    """
    if os.geteuid() == 0 or INSIDE in os.environ:
        return
    starting, using = (_open_lock(name) for name in ("starting", "using"))
    fcntl.flock(starting, fcntl.LOCK_EX)
    pid = _holder() or _start()
    fcntl.flock(using, fcntl.LOCK_SH)
    fcntl.flock(starting, fcntl.LOCK_UN)
    namespaces = ("--user", "--net", "--mount", "--preserve-credentials", "--")
    shell = ("sh", "-c", 'cd "$0" && exec "$@"', str(Path.cwd()))
    railyard = (sys.executable, "-m", "railyard.cli", *sys.argv[1:])
    command = ["nsenter", "--target", str(pid), *namespaces, *shell, *railyard]
    os.execvpe("nsenter", command, {**os.environ, INSIDE: str(pid), LOCKS: f"{starting} {using}"})


def adopt(in_use: Callable[[], bool]) -> None:
    """Make this command, inside the namespaces, end the holder at exit if it is the last and no torus is left.

    `in_use` returns whether a torus is left. Does nothing outside.
    """
    numbers = os.environ.pop(LOCKS, "").split()
    if len(numbers) != 2:
        return
    starting, using = map(int, numbers)
    for descriptor in (starting, using):
        os.set_inheritable(descriptor, False)
    atexit.register(_release, int(os.environ[INSIDE]), starting, using, in_use)


def _release(holder: int, starting: int, using: int, in_use: Callable[[], bool]) -> None:
    """End the holder unless a torus is left or another command is inside. The locks prevent commands from entering."""
    if in_use():
        return
    fcntl.flock(starting, fcntl.LOCK_EX)
    fcntl.flock(using, fcntl.LOCK_UN)
    try:
        fcntl.flock(using, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return  # another command is inside and will call this at its exit
    if in_use():
        return
    with contextlib.suppress(OSError):
        os.kill(holder, signal.SIGKILL)
        while locks.command_of(holder) == HOLDER:
            time.sleep(0.005)


def _open_lock(name: str) -> int:
    """Return the descriptor of a lock file of this user, which the command inside inherits.

    Raises RunError if the file belongs to another user.
    """
    user = os.geteuid()
    user_folder = Path(f"/run/user/{user}")
    folder = user_folder if user_folder.is_dir() and user_folder.stat().st_uid == user else locks.machine_file().parent
    path = folder / f"railyard.{user}.{name}"
    descriptor = locks.open_for_all(path)
    if os.fstat(descriptor).st_uid != user:
        raise RunError(f"{path}: belongs to another user; expected a file of user {user}; run as root: rm {path}")
    os.set_inheritable(descriptor, True)
    return descriptor


def _holder() -> int | None:
    """Return the process number of the user's holder; None if none runs.

    All processes are searched, because a file with the number could be missing after a kill.
    """
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if entry.stat().st_uid == os.geteuid() and locks.command_of(int(entry.name)) == HOLDER:
                    return int(entry.name)
    return None


def _start() -> int:
    """Start a holder and return its process number. RunError if user namespaces are not allowed."""
    unshare = ["unshare", "--user", "--map-root-user", "--net", "--mount", "bash", "-c", SETUP]
    pipe = subprocess.PIPE
    holder = subprocess.Popen(
        unshare, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    )
    assert holder.stdout is not None and holder.stderr is not None
    if holder.stdout.readline() != "ready\n":
        reason = holder.stderr.read().strip().replace("\n", "; ")
        raise RunError(f"no permission for namespaces ({reason}); run as root, or allow user namespaces")
    while locks.command_of(holder.pid) != HOLDER:
        time.sleep(0.01)
    return holder.pid
