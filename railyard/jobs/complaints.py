"""What a program, its launcher and the shell wrote to standard error, without what says nothing.

Models: the frames that Open MPI's mpirun writes around a program's own words, the shell's notice of a signal, and
railyard's notices before a launch. Leaves out: what a launch is worth (`railyard.records.assemble`).
"""

from __future__ import annotations

import re
from pathlib import Path

#: How lines begin that mpirun writes around the words of a program that failed, and railyard's own before a launch.
FRAME = (
    "mpirun",
    "Primary job  terminated",
    "a non-zero exit code. Per user-direction",
    "railyard: waiting for another ",
    "railyard: removed torus ",
)
#: A first line that says nothing without the next.
HEADINGS = ("usage:", "error:", "syntax:")
KILLED = re.compile(r"mpirun\S* noticed that (process rank \d+ .*)")
#: What the shell of a job script says of a signal: that it came, not why.
SIGNAL = re.compile(r"(\S+: line \d+: +\d+ )?(Terminated|Killed|Hangup)\b")


def first(path: Path) -> str:
    """Return the first line that a program wrote to its standard error, mpirun's own frame left out.

    With the next line where it is a heading, and the file's name where even that is all.
    """
    lines = _complaints(path)
    if lines and lines[0].strip().lower() in HEADINGS:
        return " ".join([*(line.strip() for line in lines[:2]), f"({path.name} has all of it)"])
    return next(iter(lines), "")


def last(path: Path) -> str:
    """Return the last such line: what a job script said before it ended."""
    return next(reversed(_complaints(path)), "")


def _complaints(path: Path) -> list[str]:
    lines = path.read_text(errors="replace").splitlines() if path.is_file() else []
    killed = [match[1] for line in lines if (match := KILLED.match(line))]
    words = [line for line in lines if line.strip("- ") and not SIGNAL.match(line)]
    return [*killed, *(line for line in words if not line.startswith(FRAME))]
