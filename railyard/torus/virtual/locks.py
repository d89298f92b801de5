"""Locks of the virtual tori on this machine, and who holds them.

A lock is a file under flock. It ends with the last process that has it open, so that no kill leaves one behind.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import time
from pathlib import Path

from railyard.errors import RunError

#: A wait of this length is no longer silent.
SILENT_S = 2.0
PAUSE_S = 0.05


def acquire(path: Path, *, what: str) -> int:
    """Return a descriptor that holds an exclusive lock on `path`; wait for it, and report whom for.

    `what` names the lock in the report. The descriptor is inheritable, so that a child of a killed holder keeps the
    lock until the child ends. Raises RunError where the file cannot be written.
    """
    while True:
        descriptor = _open(path)
        _wait(descriptor, what)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(path.stat(), os.fstat(descriptor)):
                return descriptor
        os.close(descriptor)  # the holder before us removed it


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
    return " ".join(word.decode(errors="replace") for word in words).strip()


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
