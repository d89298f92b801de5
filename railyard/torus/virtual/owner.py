"""Identify the process that a torus was made for. A torus named `jobPID` is removed after that process has ended."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: The name that reframe.yml gives the torus of a job script: `job$$`.
OF_A_JOB = re.compile(r"job(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A process, by its number and its start time in the kernel's ticks, because a number can be used again."""

    pid: int
    started: str

    def lives(self) -> bool:
        """Return whether this process still runs, and not another one with its number."""
        return started(self.pid) == self.started


def of(name: str) -> Owner | None:
    """Return the job script that calls this process, if it owns a torus of this name; None for any other torus."""
    match = OF_A_JOB.fullmatch(name)
    if match is None or int(match[1]) != os.getppid():
        return None
    return Owner(pid=os.getppid(), started=started(os.getppid()))


def parse(document: dict[str, Any] | None) -> Owner | None:
    """Return the owner from its part of torus.json; None for None."""
    return Owner(pid=document["pid"], started=document["started"]) if document else None


def started(pid: int) -> str:
    """Return the start time of a process in the kernel's ticks; an empty text if there is none, or a zombie."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if words[0] in "ZX" else words[19]
