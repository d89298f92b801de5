"""Stop an srun between its allocation and its step, so that the launch lock is taken only after the allocation.

An srun that waited for nodes with the lock would block the launches of the job that has the nodes: a deadlock. When
srun has its nodes, it runs the program that SLURM_PROLOG names. That program reports through one pipe, and waits for an
answer from another one. Leaves out an srun with a prolog of its own: `is_possible` is False for it.
"""

from __future__ import annotations

import os
import select
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

PROLOG = "SLURM_PROLOG"
POLL_S = 0.2
SCRIPT = """\
#!/bin/sh
echo > "${0%/*}/granted"
read -r _ < "${0%/*}/go"
"""


def is_possible(arguments: Sequence[str]) -> bool:
    """Return whether srun with these arguments runs the prolog of a `Gate`, and not one of the caller's."""
    return PROLOG not in os.environ and not any(word.startswith("--prolog") for word in arguments)


class Gate:
    """Context manager with two named pipes and the prolog that uses them, in a new folder below `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="gate-", dir=folder, ignore_cleanup_errors=True)
        self.prolog = Path(self._folder.name, "prolog")
        self.prolog.write_text(SCRIPT, encoding="ascii")
        self.prolog.chmod(0o755)
        for name in ("granted", "go"):
            os.mkfifo(self.prolog.with_name(name), 0o600)
        self._granted = os.open(self.prolog.with_name("granted"), os.O_RDONLY | os.O_NONBLOCK)
        self._go = os.open(self.prolog.with_name("go"), os.O_RDWR)

    def __enter__(self) -> Gate:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._granted)
        os.close(self._go)
        self._folder.cleanup()

    @property
    def environment(self) -> Mapping[str, str]:
        """Return the variable that makes srun stop at the gate."""
        return {PROLOG: str(self.prolog)}

    def wait(self, has_ended: Callable[[], bool]) -> bool:
        """Wait until srun has its nodes; return False if `has_ended` returns True before."""
        while not has_ended():
            if select.select([self._granted], [], [], POLL_S)[0] and os.read(self._granted, 1):
                return True
        return False

    def open(self) -> None:
        """Let srun start its step."""
        os.write(self._go, b"go\n")
