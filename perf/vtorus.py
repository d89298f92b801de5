"""Run `railyard` for sections of the bench, and name the torus and the programs that they share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from railyard.base.checkout import CHECKOUT
from railyard.placements.topology import catalog

PROGRAMS = CHECKOUT / "build/benchmarks-openmpi/bin"
NAME, TOPOLOGY = "bench", catalog.load("gemini-4x4x4")
#: A halo exchange that fills this torus.
HALO = ("--grid", "4x4x4", "--cells", "32", "--repeats", "4", "--warmups", "1")
console = Console(width=110)


def railyard(*words: object, statuses: Sequence[int] = (0,), **environment: str) -> None:
    """Run `railyard` without what it prints; exit with its error if its status is none of `statuses`."""
    command = [str(Path(sys.executable).with_name("railyard")), *map(str, words)]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    if done.returncode not in statuses:
        raise SystemExit(f"bench: {' '.join(command)}: {done.stderr or done.stdout}")
