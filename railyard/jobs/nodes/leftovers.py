"""End the ranks that a launch left running when its launcher was ended at its time limit.

A process belongs to a launch if its environment has the launch's evidence file and it works in the job's folder. In
a Slurm job one task per node looks for them. Elsewhere only this node is searched, because the daemons of mpirun end
their ranks when they lose the connection to it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path

PROC = Path("/proc")
STEP_S = 120


def end_here(folder: Path, stem: str, proc: Path = PROC) -> list[int]:
    """Kill every process of a launch on this node and return their numbers."""
    mark = f"RAILYARD_EVIDENCE={stem}.evidence".encode()
    pids = [int(path.name) for path in proc.glob("[0-9]*") if _belongs(path, mark, folder.resolve())]
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return pids


def end_on_all_nodes(folder: Path, stem: str) -> None:
    """Kill every process of a launch on each node of this job."""
    end_here(folder, stem)
    if nodes := os.environ.get("SLURM_JOB_NUM_NODES"):
        task = ["railyard", "end-launch", "--here", stem]
        step = ["srun", "--overlap", "--mpi=none", "--nodes", nodes, "--ntasks", nodes, "--ntasks-per-node=1", *task]
        without = {name: value for name, value in os.environ.items() if name != "SLURM_HOSTFILE"}
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(step, cwd=folder, env=without, timeout=STEP_S, check=False)


def _belongs(process: Path, mark: bytes, folder: Path) -> bool:
    """Return whether a process is of the launch with this mark; the job script and this program are not."""
    try:
        variables = (process / "environ").read_bytes().split(b"\0")
        words = (process / "cmdline").read_bytes().split(b"\0")
        inside = (process / "cwd").resolve() == folder
    except OSError:
        return False
    is_helper = int(process.name) in {os.getpid(), os.getppid()} or b"end-launch" in words
    is_script = any(word.endswith((b"rfm_job.sh", b"slurm_script")) for word in words)
    return mark in variables and inside and not is_helper and not is_script
