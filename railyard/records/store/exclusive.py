"""Lock a file for one process, on file systems with and without locks.

Models: flock. If the file system has none (Lustre mounted without `-o flock`), a file `<name>.lock` in the same folder,
which only one process can create. It names its host and process, so that one left by a killed process of this host is
removed. A wait of more than two seconds is reported once. Leaves out: fairness among waiting processes.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from railyard.base.errors import RunError

#: The errors of flock on a file system without locks.
WITHOUT_LOCKS = frozenset({errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP})
REPORTED_S = 2.0
#: The longest wait. A lock file left by a killed process on another host remains until someone removes it.
LONGEST_S = 600.0


@contextmanager
def held(file: IO[str], path: Path) -> Iterator[None]:
    """Lock the open file at `path` until the end of the block; raises RunError after `LONGEST_S` of waiting."""
    if _wait(lambda: _flocked(file), path, "which another process locked"):
        yield
        return
    mark = path.with_name(f"{path.name}.lock")
    print(f"railyard: {path.parent} is on a file system without flock; {mark.name} is used instead", file=sys.stderr)
    _wait(lambda: _made(mark), path, f"for which {mark} exists; if no other railyard runs, remove it")
    try:
        yield
    finally:
        mark.unlink(missing_ok=True)


def _wait(take: Callable[[], bool | None], path: Path, who: str) -> bool:
    """Call `take` until it returns something other than None, and return that.

    `take` returns True if the lock was taken, False if this kind of lock is not supported, and None while another
    process has it. Raises RunError after `LONGEST_S`.
    """
    start_s, is_reported = time.monotonic(), False
    while (taken := take()) is None:
        waited = time.monotonic() - start_s
        if waited > LONGEST_S:
            raise RunError(f"waited {LONGEST_S:.0f} s for {path}, {who}")
        if waited > REPORTED_S and not is_reported:
            print(f"railyard: waiting for {path}, {who}", file=sys.stderr, flush=True)
            is_reported = True
        time.sleep(0.05)
    return taken


def _flocked(file: IO[str]) -> bool | None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    except OSError as error:
        if error.errno in WITHOUT_LOCKS:
            return False
        raise RunError(f"{file.name} cannot be locked: {error.strerror}") from error
    return True


def _made(mark: Path) -> bool | None:
    """Create the lock file and return True; None if it exists. Raises RunError if it cannot be created."""
    try:
        with mark.open("x", encoding="utf-8") as file:
            file.write(f"{platform.node()} {os.getpid()}\n")
    except FileExistsError:
        _remove_left_behind(mark)
        return None
    except OSError as error:
        raise RunError(f"{mark} cannot be made: {error.strerror}") from error
    return True


def _remove_left_behind(mark: Path) -> None:
    """Remove a lock file whose process ran on this host and has ended, unless another process has replaced the file."""
    moved = mark.with_name(f".{mark.name}.{platform.node()}.{os.getpid()}")
    with contextlib.suppress(OSError, ValueError):
        text = mark.read_text(encoding="utf-8")
        host, process = text.split()
        if host != platform.node() or Path("/proc", process).exists():
            return
        mark.rename(moved)
        if moved.read_text(encoding="utf-8") != text:
            moved.rename(mark)
        moved.unlink(missing_ok=True)
