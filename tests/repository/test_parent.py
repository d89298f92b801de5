"""Worker processes end with the process that made them, and no module makes workers of another kind."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.commands import CHECKOUT, HUNG_S

from railyard.base.errors import RunError
from railyard.base.parent import workers

#: Prints the worker's number, and then waits for a worker that sleeps.
PARENT = f"""
import os, time
from railyard.base.parent import workers
with workers(1) as pool:
    print(pool.submit(os.getpid).result(), flush=True)
    pool.submit(time.sleep, {HUNG_S}).result()
"""


def test_a_worker_ends_with_a_parent_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True, cwd=CHECKOUT) as parent:
        assert parent.stdout is not None
        worker = Path("/proc", parent.stdout.readline().strip())
        assert worker.exists()
        parent.kill()
        end = time.monotonic() + HUNG_S
        while worker.exists() and "State:\tZ" not in (worker / "status").read_text():
            assert time.monotonic() < end, "the worker still runs"
            time.sleep(0.01)


def test_a_killed_worker_is_one_line() -> None:
    with pytest.raises(RunError, match="a worker process was killed"), workers(1) as pool:
        pool.submit(signal.raise_signal, signal.SIGKILL).result()


def test_every_pool_is_made_in_one_way() -> None:
    makers = [
        path.relative_to(CHECKOUT)
        for folder in ("checks", "perf", "railyard")
        for path in (CHECKOUT / folder).rglob("*.py")
        if re.search(r"\b(Process)?Pool(Executor)?\(", path.read_text())
    ]
    assert makers == [Path("railyard/base/parent.py")]
