"""The lock that a running job holds in its stage directory, so that nobody empties the directory under it.

The job script opens `job.lock` and takes an flock, which its launches inherit. The lock is free when the last of these
processes has ended, on whatever host, as far as the file system has locks between hosts: NFS has, Lustre has if it is
mounted with `flock`. Where a file system or a node has no locks, the job runs without one and nothing is refused.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

FILE = "job.lock"
#: The exit status of flock for a lock that another process holds; its other failures are no reason to stop a job.
HELD_STATUS = 75

#: The line of a job script that takes the lock, or ends the job where another job runs in the same directory.
LINE = (
    f"exec 9>>{FILE}; flock --nonblock --conflict-exit-code {HELD_STATUS} 9 2>/dev/null; "
    f'[ $? -ne {HELD_STATUS} ] || {{ echo "railyard: another job runs in $PWD" >&2; exit 1; }}'
)


def is_held(folder: Path) -> bool:
    """Return whether a job runs in a stage directory; False where that cannot be found out."""
    try:
        descriptor = os.open(
            folder / FILE, os.O_RDWR | os.O_CLOEXEC
        )  # NFS locks only what is open for writing
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
