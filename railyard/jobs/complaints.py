"""Find the line of a standard error that explains a failure, among the lines that launcher and shell add.

Models: the frames that Open MPI's mpirun writes around a program's own words, the shell's notice of a signal, and
railyard's notices before a launch. Leaves out: whether the launch failed (`railyard.records.assemble`).
"""

from __future__ import annotations

import re
from pathlib import Path

#: Beginnings of the lines that mpirun adds to the output of a program that failed, and of railyard's own notices.
FRAME = (
    "mpirun",
    "Primary job  terminated",
    "a non-zero exit code. Per user-direction",
    "railyard: waiting for another ",
    "railyard: removed torus ",
)
#: First lines that need the next line to be understood.
HEADINGS = ("usage:", "error:", "syntax:")
KILLED = re.compile(r"mpirun\S* noticed that (process rank \d+ .*)")
#: A shell's notice that a signal ended a command; it does not contain the reason.
SIGNAL = re.compile(r"(\S+: line \d+: +\d+ )?(Terminated|Killed|Hangup)\b")


def first(path: Path) -> str:
    """Return the first line of a standard error that is not the launcher's or the shell's; empty if there is none.

    A heading such as `usage:` is returned together with the line after it and the name of the file.
    """
    lines = _complaints(path)
    if lines and lines[0].strip().lower() in HEADINGS:
        return " ".join([*(line.strip() for line in lines[:2]), f"({path.name} has all of it)"])
    return next(iter(lines), "")


def last(path: Path) -> str:
    """Return the last such line, which is why a job script ended; empty if there is none."""
    return next(reversed(_complaints(path)), "")


def _complaints(path: Path) -> list[str]:
    lines = path.read_text(errors="replace").splitlines() if path.is_file() else []
    killed = [match[1] for line in lines if (match := KILLED.match(line))]
    words = [line for line in lines if line.strip("- ") and not SIGNAL.match(line)]
    return [*killed, *(line for line in words if not line.startswith(FRAME))]
