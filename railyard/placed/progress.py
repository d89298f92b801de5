"""Report how many launches of a job have ended, while ReFrame waits for the job without a word.

Models: the files that launches leave in the stage directory, read at intervals by a thread. Leaves out: a job that
waits in a queue, because no launch has begun. ReFrame's own logger is not for threads: it reads the running test.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any

from railyard.base.json_files import json_object
from railyard.jobs.job import job_folder

#: Seconds between two lines: on a terminal, and in a file or a pipe.
TERMINAL_S, FILE_S = 10.0, 60.0


def watch(name: str, job: Any, folder: Path, launches: int, *, interval_s: float | None = None) -> threading.Thread:
    """Print a line per interval until ReFrame's `job` has finished or all of its launches have ended."""
    pause_s = interval_s or (TERMINAL_S if sys.stderr.isatty() else FILE_S)

    def report() -> None:
        done = 0
        while done < launches and not (job.jobid is not None and job.scheduler.finished(job)):
            time.sleep(pause_s)
            done = len(_files(folder, "ended"))
            if done < launches and (start := _first_begun(folder)) is not None:
                waited_s = sum(job_folder.waited_s(json_object(path)) for path in _files(folder, "evidence"))
                text = line(name, done, launches, max(0.0, time.time() - start), waited_s=waited_s)
                print(text, file=sys.stderr, flush=True)

    thread = threading.Thread(target=report, daemon=True, name=f"progress of {name}")
    thread.start()
    return thread


def line(name: str, done: int, launches: int, elapsed_s: float, *, waited_s: float = 0.0) -> str:
    """Return the number of launches that have ended, the time since the first began, and the time that is left.

    At least a second of waiting for other launches on the machine is shown.
    """
    waited = f" ({_duration(waited_s)} of it waiting for other launches on this machine)" if waited_s >= 1 else ""
    left = f", about {_duration(elapsed_s / done * (launches - done))} left" if done else ""
    return f"{name}: {done} of {launches} launches ended in {_duration(elapsed_s)}{waited}{left}"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _files(folder: Path, ending: str) -> list[Path]:
    """Return the files of launches, not those of their companions; a job of several MPIs has a folder for each."""
    paths = [*folder.glob(f"launch-*.{ending}"), *folder.glob(f"*/launch-*.{ending}")]
    return [path for path in paths if "." not in path.stem]


def _first_begun(folder: Path) -> float | None:
    return min((path.stat().st_mtime for path in _files(folder, "begun")), default=None)
