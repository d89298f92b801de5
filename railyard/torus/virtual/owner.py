"""The process that a torus was made for: with it a torus named `jobPID` ends, even where nothing took it down."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: What reframe.yml calls the torus of a job script: `job$$`.
OF_A_JOB = re.compile(r"job(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A process, by its number and its start in the kernel's ticks: a number alone can be used again."""

    pid: int
    started: str

    def lives(self) -> bool:
        """Return whether the very process still runs."""
        return started(self.pid) == self.started


def of(name: str) -> Owner | None:
    """Return the job script that makes a torus of this name now; None for a torus that no job owns."""
    match = OF_A_JOB.fullmatch(name)
    if match is None or int(match[1]) != os.getppid():
        return None
    return Owner(pid=os.getppid(), started=started(os.getppid()))


def parse(document: dict[str, Any] | None) -> Owner | None:
    """Return the owner that torus.json names."""
    return Owner(pid=document["pid"], started=document["started"]) if document else None


def started(pid: int) -> str:
    """Return when a process started, in the kernel's ticks; empty where there is none, or only a zombie."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if words[0] in "ZX" else words[19]
