"""Reserve a stage directory for one job: by a lock while it runs, by its id, and by the scheduler's queue.

The job script opens `job.lock` and takes an flock, which its launches inherit, before it writes anything. The lock is
free when the last of these processes has ended, on whatever host, as far as the file system has locks between hosts:
NFS has, Lustre has if it is mounted with `flock`. Where a file system or a node has no locks, the job runs without one
and nothing is refused. A script ends at once if the directory's `job.json` is another job's. Jobs that
still wait are found by Slurm's squeue.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import subprocess
from pathlib import Path

from railyard.base import programs
from railyard.jobs.job import submitted

FILE = "job.lock"
#: The exit status of flock for a lock that another process holds; its other failures are no reason to stop a job.
HELD_STATUS = 75

#: The line of a job script that takes the lock, or ends the job where another job runs in the same directory.
LINE = (
    f"exec 9>>{FILE}; flock --nonblock --conflict-exit-code {HELD_STATUS} 9 2>/dev/null; "
    f'[ $? -ne {HELD_STATUS} ] || {{ echo "railyard: another job runs in $PWD" >&2; exit 1; }}'
)
#: Jobs in this state have ended, but for what Slurm tidies up; what still runs holds the lock.
COMPLETING = "COMPLETING"
QUEUE_S = 30


def same_job(job: str) -> str:
    """Return the line of a job script that ends it where a stage directory is another job's, submitted later."""
    mark = shlex.quote(f'"id": "{job}"')
    wrong = "another job was submitted in $PWD after this one"
    return f'grep -qsF {mark} {submitted.FILE} || {{ echo "railyard: {wrong}" >&2; exit 1; }}'


def is_held(folder: Path) -> bool:
    """Return whether a job runs in a stage directory; False where that cannot be found out."""
    try:
        descriptor = os.open(folder / FILE, os.O_RDWR | os.O_CLOEXEC)  # NFS locks only what is open for writing
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False


def queued(folder: Path) -> str:
    """Return number and state of this user's Slurm job in a stage directory, empty where there is none.

    Empty, too, where no Slurm answers: then no job of it can be submitted either.
    """
    words = ["squeue", "--noheader", f"--user={os.getuid()}", "--format=%i %T %Z"]
    try:
        done = programs.run(words, QUEUE_S)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    rows = (line.split(" ", 2) for line in done.stdout.splitlines() if done.returncode == 0)
    for number, state, directory in (row for row in rows if len(row) == 3):  # the others name a cluster
        if state != COMPLETING and Path(directory).resolve() == folder.resolve():
            return f"{number} {state}"
    return ""
