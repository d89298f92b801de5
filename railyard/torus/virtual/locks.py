"""Locks of the virtual tori on this machine, and who holds them.

A lock is a file under flock. It ends with the last process that has it open, so that no kill leaves one behind.

    /run/railyard/lock              a user's tori: one is made, changed or removed (`lifecycle.lock`)
    /run/railyard/NAME/launching    a launch on this torus
    /dev/shm/railyard.launch        the machine: a launch of any user, or anything that would disturb one

The last is not below /run because an ordinary user's tori have a /run of their own.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from railyard.errors import RunError

#: A wait of this length is no longer silent.
SILENT_S = 2.0
PAUSE_S = 0.05
INSIDE_LAUNCH = "RAILYARD_LAUNCHING"
#: The torus whose locks `railyard together` holds for the launchers that it starts.
TOGETHER = "RAILYARD_TOGETHER"
LAUNCH = "another launch on this machine to end"
SHARED_FOLDERS = (Path("/dev/shm"), Path("/tmp"))


def acquire(path: Path, *, what: str) -> int:
    """Return a descriptor that holds an exclusive lock on `path`; wait for it, and report whom for.

    `what` names the lock in the report. The descriptor is inheritable, so that a child of a killed holder keeps the
    lock until the child ends. Raises RunError where the file cannot be written.
    """
    return _held(path, _open, what)


def take_turn(*, inheritable: bool = False) -> int:
    """Wait until nobody launches on this machine; return the descriptor that keeps everybody else waiting.

    With `inheritable` it stays with the processes of a launch, whoever dies first, until the last has ended. Raises
    RunError in a launch, which would wait for itself.
    """
    if INSIDE_LAUNCH in os.environ:
        raise RunError(
            "a launch within a launch; is a script on the PATH named mpirun or srun that calls it again?"
        )
    descriptor = _held(machine_file(), open_for_all, LAUNCH)
    os.set_inheritable(descriptor, inheritable)
    return descriptor


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
    descriptor = take_turn()
    try:
        yield
    finally:
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

    Whoever makes it owns it, so it is opened for reading, which is enough for flock.
    """
    reading = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        try:
            return os.open(path, reading)
        except FileNotFoundError:
            pass
        except OSError as error:
            reason = "it is a symbolic link" if error.errno == errno.ELOOP else error.strerror
            raise RunError(f"cannot open the launch lock {path}: {reason}; remove the file") from error
        with contextlib.suppress(FileExistsError):
            descriptor = os.open(path, reading | os.O_CREAT | os.O_EXCL, 0o644)
            os.fchmod(descriptor, 0o644)
            return descriptor


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
            raise RunError(f"cannot write {path}: {error.strerror}; run as root") from error
        os.set_inheritable(descriptor, True)
        return descriptor


def _held(path: Path, opened: Callable[[Path], int], what: str) -> int:
    while True:
        descriptor = opened(path)
        _wait(descriptor, what)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(path.stat(), os.fstat(descriptor)):
                return descriptor
        os.close(descriptor)  # the holder before us removed it


def _wait(descriptor: int, what: str) -> None:
    """Take an exclusive lock on an open file; after SILENT_S, report once who holds it."""
    report_at = time.monotonic() + SILENT_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > report_at:
                break
            time.sleep(PAUSE_S)
    _report(descriptor, what)
    fcntl.flock(descriptor, fcntl.LOCK_EX)


def _report(descriptor: int, what: str) -> None:
    pids = holders(Path(f"/proc/self/fd/{descriptor}"))
    who = ", ".join(f"process {pid} ({command_of(pid) or 'ended; its children run'})" for pid in pids)
    print(f"railyard: waiting for {what}; held by {who or 'another process'}", file=sys.stderr, flush=True)
