"""Name the C programs and libraries that tori and launches need. `make setup` builds them."""

from __future__ import annotations

import os
from pathlib import Path

from railyard.base.checkout import CHECKOUT, TORUS_BIN
from railyard.base.errors import RunError

BIN = CHECKOUT / "build/bin"
#: Runs a command on a host of a torus.
ENTER = BIN / "railyard-enter"
#: Forwards the packets of a torus with network `router`.
ROUTER = BIN / "railyard-router"
#: Preloaded into ranks. A rank that has polled in vain sleeps until a packet arrives.
IDLE = CHECKOUT / "build/lib/railyard-idle.so"
#: Preloaded into ranks that srun starts. They wait for one another after MPI_Init.
FENCE = CHECKOUT / "build/lib/railyard-fence.so"


def need() -> None:
    """Raise RunError for the first program or library that every launch needs and that is not built."""
    for path in (ENTER, IDLE, FENCE):
        built(path)


def built(path: Path) -> str:
    """Return the path of a program or library; RunError if it is not built."""
    if not path.is_file():
        raise RunError(f"{path} is not built; run `make setup`")
    return str(path)


def last_line(text: str) -> str:
    """Return the last line of a program's complaint, without railyard's name; empty if there is none."""
    return (text.strip().splitlines() or [""])[-1].removeprefix("railyard: ")


def system_path() -> str:
    """Return PATH without the folder with the torus's own `mpirun`, `mpiexec` and `srun`."""
    return os.pathsep.join(folder for folder in os.get_exec_path() if Path(folder).resolve() != TORUS_BIN)
