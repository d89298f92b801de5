"""Locks of the virtual tori on this machine, and who holds them.

A lock is a file under flock. It ends with the last process that has it open, so that no kill leaves one behind.

    /run/railyard/lock              a user's tori: one is made, changed or removed (`lifecycle.lock`)
    /run/railyard/NAME/launching    a launch on this torus
    /dev/shm/railyard.launch        the machine: a launch of any user, or anything that would disturb one
    /run/railyard.launch            the machine, among commands of root: taken before the one in /dev/shm

A launch of root and one of a user measure each other, so one lock is for all. It is not below /run because an ordinary
user's tori have a /run of their own. Whoever can open a file can hold its lock, and any user can put a file there:

- It is opened without waiting, and must be a regular file. In the place of anything else root makes one; a user gets an
  error. Another user's file is a lock too, because flock is for everybody who can read it. Root makes it root's own,
  so that nobody else can remove it.
- A wait is reported with its holder. Root waits PATIENCE_S for an ordinary user at most, reports that, and goes on:
  what measures then is void where it was disturbed. Commands of root still wait for each other by the lock in /run.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import math
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from railyard.base.errors import RunError

#: A wait of this length is no longer silent.
SILENT_S = 2.0
#: Root waits no longer than a launch of a check may take (`launch_limit_s`) for a user who may never end.
PATIENCE_S = 600.0
PAUSE_S = 0.05
INSIDE_LAUNCH = "RAILYARD_LAUNCHING"
#: Set in the namespaces of an ordinary user (`rootless`), who is root there.
INSIDE_HOLDER = "RAILYARD_INSIDE"
#: The torus whose locks `railyard together` holds for the launchers that it starts.
TOGETHER = "RAILYARD_TOGETHER"
LAUNCH = "another launch on this machine to end"
SHARED_FOLDERS = (Path("/dev/shm"), Path("/tmp"))
OF_ROOT = Path("/run/railyard.launch")


def acquire(path: Path, *, what: str) -> int:
    """Return a descriptor that holds an exclusive lock on `path`; wait for it, and report whom for.

    `what` names the lock in the report. The descriptor is inheritable, so that a child of a killed holder keeps the
    lock until the child ends. Raises RunError where the file cannot be written.
    """
    return _held(path, _open, what)


def take_turn(*, inheritable: bool = False) -> list[int]:
    """Wait until nobody launches on this machine; return the descriptors that keep everybody else waiting.

    With `inheritable` they stay with the processes of a launch, whoever dies first, until the last has ended. Raises
    RunError in a launch, which would wait for itself.
    """
    if INSIDE_LAUNCH in os.environ:
        raise RunError(
            "a launch within a launch; is a script on the PATH named mpirun or srun that calls it again?"
        )
    descriptors = [_held(OF_ROOT, _open, LAUNCH)] if _is_root() else []
    descriptors.append(_held(machine_file(), open_for_all, LAUNCH, PATIENCE_S if _is_root() else None))
    for descriptor in descriptors:
        os.set_inheritable(descriptor, inheritable)
    return descriptors


@contextlib.contextmanager
def as_one_launch(torus: str) -> Iterator[None]:
    """Let launchers that start within run at once on a torus whose locks this process holds."""
    os.environ[TOGETHER] = torus
    try:
        yield
    finally:
        del os.environ[TOGETHER]


def is_together(torus: str) -> bool:
    """Return whether the process that started this one holds the locks of a launch on the torus for it."""
    return os.environ.get(TOGETHER) == torus and INSIDE_LAUNCH not in os.environ


@contextlib.contextmanager
def turn() -> Iterator[None]:
    """Hold the machine's launch lock: nobody's launch is disturbed by what happens within."""
    descriptors = take_turn()
    try:
        yield
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


@contextlib.contextmanager
def turn_unless_held(launching: Path) -> Iterator[None]:
    """Hold the machine's launch lock, except where `launching` is held: a launch's own faults come while it runs."""
    with contextlib.nullcontext() if is_held(launching) else turn():
        yield


def is_held(path: Path) -> bool:
    """Return whether another process holds a lock on a file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def machine_file() -> Path:
    """Return the file whose lock is the whole machine's."""
    folder = next((path for path in SHARED_FOLDERS if path.is_dir()), SHARED_FOLDERS[-1])
    return folder / "railyard.launch"


def open_for_all(path: Path) -> int:
    """Open a file in a folder that every user can write, for locks alone; make it where it is not there.

    Whoever makes it owns it, so it is opened for reading, which is enough for flock. Raises RunError for anything but
    a regular file that this user can read; root replaces it.
    """
    reading = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    while True:
        try:
            descriptor = os.open(path, reading)
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                return descriptor
            os.close(descriptor)
            reason = "it is no regular file"
        except FileNotFoundError:
            with contextlib.suppress(FileExistsError):
                descriptor = os.open(path, reading | os.O_CREAT | os.O_EXCL, 0o644)
                os.fchmod(descriptor, 0o644)
                return descriptor
            continue
        except OSError as error:
            reason = "it is a symbolic link" if error.errno == errno.ELOOP else str(error.strerror)
        _replace(path, reason)


def _replace(path: Path, reason: str) -> None:
    """Remove what is in the place of a lock, as root. RunError for a user, and for a folder that is not empty."""
    try:
        if not _is_root():
            raise RunError(f"{path}: {reason}; expected the file of a lock; run as root: rm -r {path}")
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    except FileNotFoundError:
        return
    except OSError as error:
        raise RunError(f"{path}: {reason}: {error.strerror}; expected the file of a lock") from error


def holders(path: Path) -> list[int]:
    """Return the processes that took a lock on a file, as /proc/locks lists them."""
    try:
        inode = path.stat().st_ino
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except OSError:
        return []
    fields = [line.split() for line in lines if "->" not in line]
    return [int(words[4]) for words in fields if words[5].rpartition(":")[2] == str(inode)]


def command_of(pid: int) -> str:
    """Return a process's command line in one line; empty where there is none."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    text = b" ".join(words).decode(errors="replace")
    return " ".join(text.split())


def _open(path: Path) -> int:
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except FileNotFoundError:
            continue
        except OSError as error:
            advice = "; run as root" if isinstance(error, PermissionError) else ""
            raise RunError(f"cannot write {path}: {error.strerror}{advice}") from error
        os.set_inheritable(descriptor, True)
        return descriptor


def _is_root() -> bool:
    """Return whether this process is root of the machine: an ordinary user is root in the holder's namespace alone."""
    return os.geteuid() == 0 and INSIDE_HOLDER not in os.environ


def _held(path: Path, opened: Callable[[Path], int], what: str, patience_s: float | None = None) -> int:
    """Return a descriptor of the file that holds its lock; without the lock, if `patience_s` have passed."""
    give_up_at = None if patience_s is None else time.monotonic() + patience_s
    while True:
        descriptor = opened(path)
        is_locked = _wait(descriptor, what, give_up_at)
        with contextlib.suppress(FileNotFoundError):
            if is_locked and _is_root() and os.fstat(descriptor).st_uid != 0:
                path.unlink()
            if not is_locked or os.path.samestat(path.stat(), os.fstat(descriptor)):
                return descriptor
        os.close(descriptor)  # it was removed


def _wait(descriptor: int, what: str, give_up_at: float | None) -> bool:
    """Take an exclusive lock on an open file, and return whether it was free in time.

    After SILENT_S report once who holds it. At `give_up_at`, in the clock's seconds, report that as well.
    """
    report_at = time.monotonic() + SILENT_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            now = time.monotonic()
        if give_up_at is not None and now > give_up_at:
            _report(descriptor, f"no longer waiting for {what}")
            return False
        if now > report_at:
            _report(descriptor, f"waiting for {what}")
            report_at = math.inf
        time.sleep(PAUSE_S)


def _report(descriptor: int, text: str) -> None:
    pids = holders(Path(f"/proc/self/fd/{descriptor}"))
    who = ", ".join(f"process {pid} ({command_of(pid) or 'ended; its children run'})" for pid in pids)
    print(f"railyard: {text}; held by {who or 'another process'}", file=sys.stderr, flush=True)
