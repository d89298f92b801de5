"""Lock the machine and its virtual tori, and report the holders of locks.

A lock is a file under flock. The kernel releases it with the last process that has it open, so no kill leaves one.
flock favours a holder that locks again at once; a second file beside each, *.next, gives the turn to who waits.

    /run/railyard/lock              a user's tori: held while one is made, changed or removed (`lifecycle.lock`)
    /run/railyard/NAME/launching    a torus: held by a launch on it
    /dev/shm/railyard.launch        the machine: held by a launch of any user, or anything that would disturb one
    /run/railyard.launch            the machine, among commands of root: taken before the one in /dev/shm

Launches of root and of a user would disturb each other, so one lock is shared by all users. It is not below /run,
because an ordinary user's tori have a private /run. Any user can make or open a file in /dev/shm, so:

- The file is opened without waiting, and must be a regular file. Root replaces anything else; a user gets an error.
  Another user's file works as well, because flock needs only read permission. Root replaces it by a file of root, which
  nobody else can remove.
- A wait is reported with the holder of the lock. Root waits for an ordinary user at most PATIENCE_S, reports that, and
  continues; if the user's work disturbs the launch, the guard makes it void. Commands of root still wait for each other
  by the lock in /run.
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

from railyard.base import sysfs
from railyard.base.errors import RunError

#: A wait of so many seconds is reported.
SILENT_S = 2.0
#: Root waits for a user at most as long as a launch of a check may take (`launch_limit_s`).
PATIENCE_S = 600.0
PAUSE_S = 0.05
#: A variable that is set in the processes of a launch.
INSIDE_LAUNCH = "RAILYARD_LAUNCHING"
#: A variable that is set in the namespaces of an ordinary user (`rootless`), who is root there.
INSIDE_HOLDER = "RAILYARD_INSIDE"
LAUNCH = "another launch on this machine to end"
SHARED_FOLDERS = (Path("/dev/shm"), Path("/tmp"))
OF_ROOT = Path("/run/railyard.launch")


def acquire(path: Path, *, what: str) -> int:
    """Wait for an exclusive lock on `path`; return a descriptor that holds it.

    A longer wait is reported on stderr with the lock's holder; `what` names there what is waited for. The descriptor is
    inheritable, so that a child of a killed holder has the lock until the child ends. Raises RunError if the file
    cannot be written.
    """
    return _held(path, _open, what)


def take_turn(*, inheritable: bool = False) -> list[int]:
    """Wait until nothing is launched on this machine; return the descriptors that hold the machine's locks.

    With `inheritable` the processes of a launch inherit them, so that the locks are held until the last has ended.
    Raises RunError within a launch, which would wait for itself.
    """
    if INSIDE_LAUNCH in os.environ:
        raise RunError(
            f"a launch within a launch: {INSIDE_LAUNCH} is set; does an mpirun or srun on the PATH call itself?"
        )
    descriptors = [_held(OF_ROOT, _open, LAUNCH)] if _is_root() else []
    descriptors.append(_held(machine_file(), open_for_all, LAUNCH, PATIENCE_S if _is_root() else None))
    for descriptor in descriptors:
        os.set_inheritable(descriptor, inheritable)
    return descriptors


@contextlib.contextmanager
def turn() -> Iterator[None]:
    """Hold the machine's launch locks within the block, so that no launch runs meanwhile."""
    descriptors = take_turn()
    try:
        yield
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def is_held(path: Path) -> bool:
    """Return whether another process holds a lock on a file."""
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        return not _is_free(file.fileno())
    return False


def machine_file() -> Path:
    """Return the file whose lock is shared by all users of the machine."""
    folder = next((path for path in SHARED_FOLDERS if path.is_dir()), SHARED_FOLDERS[-1])
    return folder / "railyard.launch"


def open_for_all(path: Path) -> int:
    """Open a lock file in a folder that every user can write; make it if it does not exist. Return the descriptor.

    It is opened for reading, which is enough for flock, because another user may own it. Raises RunError for anything
    but a regular file that this user can read; root replaces that.
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
    """Remove what has the path of a lock file, as root. RunError for a user, and for a folder that is not empty."""
    try:
        if not _is_root():
            raise RunError(f"{path}: {reason}; expected the file of a lock; run as root: rm -r {path}")
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    except FileNotFoundError:
        return
    except OSError as error:
        raise RunError(f"{path}: {reason}: {error.strerror}; expected the file of a lock") from error


def holders(path: Path) -> list[int]:
    """Return the numbers of the processes that locked a file, as /proc/locks lists them."""
    fields = [line.split() for line in sysfs.text(Path("/proc/locks")).splitlines() if "->" not in line]
    with contextlib.suppress(OSError):
        inode = str(path.stat().st_ino)
        return [int(words[4]) for words in fields if words[5].rpartition(":")[2] == inode]
    return []


def command_of(pid: int) -> str:
    """Return the command of a process on one line; an empty text if there is none."""
    return " ".join(sysfs.text(Path(f"/proc/{pid}/cmdline")).replace("\0", " ").split())


def _open(path: Path) -> int:
    """Open a lock file, and make it if needed; return an inheritable descriptor. RunError if it cannot be written."""
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
    """Return whether this process is root of the machine, and not only root of a user namespace (`rootless`)."""
    return os.geteuid() == 0 and INSIDE_HOLDER not in os.environ


def _held(path: Path, opened: Callable[[Path], int], what: str, patience_s: float | None = None) -> int:
    """Return a descriptor that holds the lock of a file; after `patience_s` seconds return one without the lock.

    Who comes first waits under a second lock, PATH.next, which everybody needs to come to the first. A wait for
    either is reported with the holder of the lock itself.
    """
    give_up_at = None if patience_s is None else time.monotonic() + patience_s
    next_one = _locked(path.with_name(f"{path.name}.next"), opened, what, give_up_at, awaited=path)
    try:
        return _locked(path, opened, what, give_up_at, awaited=path)
    finally:
        os.close(next_one)


def _locked(path: Path, opened: Callable[[Path], int], what: str, give_up_at: float | None, *, awaited: Path) -> int:
    """Return a descriptor that holds the lock of one file; at `give_up_at` (monotonic) return one without the lock.

    `opened` opens the file. If the file was replaced meanwhile, the new one is opened. After SILENT_S seconds the wait
    is reported once for each file, with the holder of the lock of `awaited`; so is the end of a wait in vain.
    """
    while True:
        descriptor, report_at = opened(path), time.monotonic() + SILENT_S
        while not (is_locked := _is_free(descriptor)):
            now = time.monotonic()
            if give_up_at is not None and now > give_up_at:
                _report(awaited, f"no longer waiting for {what}")
                break
            if now > report_at:
                _report(awaited, f"waiting for {what}")
                report_at = math.inf
            time.sleep(PAUSE_S)
        with contextlib.suppress(FileNotFoundError):
            if is_locked and _is_root() and os.fstat(descriptor).st_uid != 0:
                path.unlink()
            if not is_locked or os.path.samestat(path.stat(), os.fstat(descriptor)):
                return descriptor
        os.close(descriptor)  # the file was removed or replaced


def _is_free(descriptor: int) -> bool:
    """Take an exclusive lock on an open file if no other process holds one."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _report(path: Path, text: str) -> None:
    """Print a line on stderr with the processes that hold the lock of a file."""
    pids = holders(path)
    processes = ", ".join(f"process {pid} ({command_of(pid) or 'ended; its children run'})" for pid in pids)
    print(f"railyard: {text}; held by {processes or 'another process'}", file=sys.stderr, flush=True)
