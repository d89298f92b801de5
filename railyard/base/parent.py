"""Start processes that end with their parent, even if that is killed by `kill -9`; signals. Works on Linux only."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from railyard.base.errors import RunError

_PR_SET_PDEATHSIG = 1


def end_with(parent: int, number: signal.Signals) -> None:
    """Let the kernel send this process, now and after exec, a signal when the process `parent` has ended."""
    if number is not signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)  # a shell's background job ignores SIGINT
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os.kill(os.getpid(), number)


def started(pid: int) -> str:
    """Return the start time of a process in the kernel's ticks; an empty text if there is none, or a zombie."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if words[0] in "ZX" else words[19]


@contextlib.contextmanager
def on_signals(handler: Callable[[int, object], object]) -> Iterator[None]:
    """Let signals that end this process, such as that of a time limit, call a function within the block instead."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    former = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, before in former.items():
            signal.signal(number, before)


@contextlib.contextmanager
def workers(count: int) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of forks of this process that end with it; an error within cancels what has not begun.

    Raises RunError when a worker is killed, for instance by the kernel for want of memory.
    """
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(count, fork, initializer=_begin, initargs=(os.getpid(),)) as pool:
        try:
            yield pool
        except BrokenProcessPool as error:
            raise RunError("a worker process was killed; is the machine out of memory?") from error
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _begin(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends a worker without a traceback
    end_with(parent, signal.SIGKILL)
