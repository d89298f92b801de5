"""Make the records of jobs that ReFrame did not judge: timed out, cancelled, or submitted by a killed ReFrame.

ReFrame makes no record of such a job. This module therefore lists each job from its submission until its record is
made, and records those that are left when ReFrame ends. The jobs of a killed ReFrame are recorded when the same check
runs again, before its stage directory is emptied.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import platform
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from railyard.base import parent
from railyard.base.errors import InputError, RunError
from railyard.jobs import job_lock, stagedir
from railyard.jobs.job import job_folder
from railyard.jobs.job.submitted import read
from railyard.records import assemble

#: How a user measures in another folder; `railyard fit` has a command of its own.
ELSEWHERE = "reframe --prefix ANOTHER-FOLDER ..."

MOST_PATH_BYTES = 4096

_open: dict[Path, Callable[[], str]] = {}


def owner() -> dict[str, Any]:
    """Return host, number and start of this process, by which another finds out whether it still waits for its job."""
    return {"host": platform.node(), "pid": os.getpid(), "started": parent.started(os.getpid())}


def session() -> str:
    """Return one name for all records of this process, from its start and its number; ReFrame hides its own."""
    started = datetime.fromtimestamp(Path("/proc/self").stat().st_ctime, UTC)
    return f"{assemble.utc_text(started)}-{os.getpid()}"


def submitted(folder: Path, state: Callable[[], str]) -> None:
    """List the job of a stage directory as submitted; `state()` returns the scheduler's name of its state.

    The bytes that the note of its record's path needs are reserved before launches can fill the disk. Without the note
    the record would be made a second time.
    """
    (folder / "recorded").write_text(" " * MOST_PATH_BYTES)
    _open[folder] = state


def recorded(folder: Path) -> None:
    """Take a job whose record is made from the list."""
    _open.pop(folder, None)


@atexit.register
def keep_open_ones() -> None:
    """Record every job that has launched something and has no record."""
    for folder, state in list(_open.items()):
        _keep(folder, f"the job ended as {state() or 'unknown'}, ReFrame gave it up")
    _open.clear()


def keep_left_behind(folders: Iterable[Path]) -> None:
    """Record what is in stage directories whose ReFrame was killed, because this ReFrame is about to empty them.

    Those of this very ReFrame are left alone. Raises RunError for one that another ReFrame or a running job uses.
    """
    for folder in folders:
        with contextlib.suppress(InputError):
            if dict(read(folder).owner) == owner():
                continue
        if reason := in_use(folder):
            remedy = f"expected one that is not in use; wait until it has ended, or run: {ELSEWHERE}"
            raise RunError(f"stage directory {folder}: {reason}; {remedy}")
        if stagedir.record_path(folder) is None:
            _keep(folder, "ReFrame was killed")


def in_use(folder: Path) -> str:
    """Return what uses a job's stage directory, in one line; empty if nothing does, or if that cannot be found out."""
    if stagedir.record_path(folder) is None and is_waited_for(folder):
        return f"another ReFrame, process {read(folder).owner['pid']}, still waits for its job"
    if job_lock.is_held(folder):
        return f"its job still runs ({job_lock.FILE} is locked)"
    if stagedir.record_path(folder) is None and (job := job_lock.queued(folder)):
        return f"Slurm has its job in the queue: {job}"
    return ""


def _keep(folder: Path, reason: str) -> None:
    if not job_folder.began(folder):
        return
    try:
        stagedir.keep(folder, reason)
    except (InputError, RunError, OSError) as error:
        print(f"railyard: {folder} could not be recorded: {error}", file=sys.stderr)
        return
    print(f"railyard: {folder.name} was interrupted; {stagedir.record_path(folder)} has its launches", file=sys.stderr)


def is_waited_for(folder: Path) -> bool:
    """Return whether the process that submitted a job still runs; one on another host counts as ended."""
    try:
        process = read(folder).owner
    except InputError:
        return False
    here = process["host"] == platform.node()
    return bool(here and process["started"] and parent.started(process["pid"]) == process["started"])
