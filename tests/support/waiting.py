"""Wait for a condition instead of an amount of time: no verdict of a test may depend on an idle machine."""

from __future__ import annotations

import time
from collections.abc import Callable

#: Far longer than any condition takes on a busy machine, waits for the launches of others included: only what never
#: comes true fails.
LIMIT_S = 600.0
PAUSE_S = 0.02


def wait_until(
    condition: Callable[[], object], what: str, *, limit_s: float = LIMIT_S, pause_s: float = PAUSE_S
) -> None:
    """Return once the condition is true; AssertionError with `what` after the limit.

    A condition that starts a program takes no more than half of the time: others wait for the processor.
    """
    deadline = time.monotonic() + limit_s
    while True:
        begun = time.monotonic()
        if condition():
            return
        now = time.monotonic()
        assert now < deadline, f"not within {limit_s:.0f} s: {what}"
        time.sleep(max(pause_s, now - begun))
