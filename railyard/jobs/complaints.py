"""Find the line of a standard error that explains a failure, among the lines that launcher and shell add.

Models: what mpirun of Open MPI 4 and 5 adds around a program's own lines, a shell's notice of a signal, and railyard's
notices before a launch. Hydra (MPICH, Intel MPI) adds nothing to standard error. tests/data/stderr has recordings of
each. Leaves out: whether the launch failed (`railyard.records.assemble`).
"""

from __future__ import annotations

import re
from pathlib import Path

#: Lines that Open MPI's mpirun adds when a rank failed, and railyard's notices. Other messages of mpirun are reasons.
FRAME = re.compile(
    r"-{20,}$|Primary job  terminated|a non-zero exit code\. Per user-direction"
    r"|(thus causing )?the job to be terminated\."
    r"|(mpirun|prterun)\S*( noticed| detected|: Forwarding signal)|signal \d+ \([\w ]+\)\.$"
    r"|\s+(Process name|Exit code): "
    r"|railyard: (waiting for another|removed torus|after \d+ s this launch has) "
)
#: Open MPI's notice that a signal ended a rank, which version 5 breaks into two lines.
KILLED = re.compile(
    r"^(?:mpirun|prterun)\S* noticed that (process rank \d+ .*(?:\nsignal \d+ .*)?)", re.MULTILINE
)
#: A shell's notice that a signal ended a command; it does not contain the reason.
SIGNAL = re.compile(r"(\S+: line \d+: +\d+ )?(Terminated|Killed|Hangup)\b")
#: First lines that need the next line to be understood.
HEADINGS = ("usage:", "error:", "syntax:")


def first(path: Path) -> str:
    """Return the first line of a standard error that is not the launcher's or the shell's; empty if there is none.

    The notice that a signal ended a rank comes before all other lines. A heading such as `usage:` is returned together
    with the line after it and the name of the file.
    """
    lines = _complaints(path)
    if lines and lines[0].strip().lower() in HEADINGS:
        return " ".join([*(line.strip() for line in lines[:2]), f"({path.name} has all of it)"])
    return next(iter(lines), "")


def last(path: Path) -> str:
    """Return the last such line, which is why a job script ended; empty if there is none."""
    return next(reversed(_complaints(path)), "")


def _complaints(path: Path) -> list[str]:
    text = path.read_text(errors="replace") if path.is_file() else ""
    killed = [" ".join(match[1].split()) for match in KILLED.finditer(text)]
    lines = [line for line in text.splitlines() if line.strip("- ")]
    return [*killed, *(line for line in lines if not FRAME.match(line) and not SIGNAL.match(line))]
