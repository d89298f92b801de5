"""A process that ends with its parent, however the parent ends: kill -9 included. Linux alone."""

from __future__ import annotations

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1


def end_with(parent: int, number: signal.Signals) -> None:
    """Let the kernel send this process, now and after exec, a signal when the process `parent` has ended."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os.kill(os.getpid(), number)
