"""The small C programs that tori and launches need, as `make setup` builds them."""

from __future__ import annotations

from railyard.base.checkout import CHECKOUT
from railyard.base.errors import RunError

BIN = CHECKOUT / "build/bin"
#: Runs a command on a host of a torus.
ENTER = BIN / "railyard-enter"
#: Carries the packets of a torus with network `router`.
ROUTER = BIN / "railyard-router"
#: Preloaded into ranks: one that has polled in vain sleeps until a packet comes.
IDLE = CHECKOUT / "build/lib/railyard-idle.so"
#: Preloaded into ranks that srun starts: they wait for one another behind MPI_Init.
FENCE = CHECKOUT / "build/lib/railyard-fence.so"


def need() -> None:
    """RunError for the first that is not built."""
    for path in (ENTER, IDLE, FENCE):
        if not path.is_file():
            raise RunError(f"{path} is not built; run `make setup`")
