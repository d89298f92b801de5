"""Run a launcher on a torus: start it, copy its stderr, pass signals on, end it with its router."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from railyard.torus.engines import router
from railyard.torus.native.programs import ENTER
from railyard.torus.virtual import environment as environments
from railyard.torus.virtual import locks
from railyard.torus.virtual.lifecycle import VirtualTorus

#: Seconds that a launcher has to end its ranks after its router has ended; it is killed then.
TERMINATION_S = 0.5
#: The variable with the seconds after which a launcher is ended, counted from its start: waits come before that.
LIMIT = "RAILYARD_LIMIT_S"
#: Open MPI prints this when an agent starts before its parent continues. It is harmless.
NOISE = re.compile(rb"plm:[rs]sh: Warning: setpgid\(\d+,\d+\) failed in parent")


@dataclass(frozen=True, slots=True, kw_only=True)
class LauncherProcess:
    """A running launcher, and the thread that copies its stderr."""

    child: subprocess.Popen[bytes]
    reader: threading.Thread

    def is_running(self) -> bool:
        """Return whether the launcher has not ended."""
        return self.child.poll() is None

    def wait(self) -> int:
        """Wait for the launcher, and pass it the signals that this process gets; return its exit status.

        The status of a launcher that a signal ended is 128 plus the number of the signal, as in a shell.
        """
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda received, _: self.child.send_signal(received))
        self.reader.join()
        status = self.child.wait()
        return 128 - status if status < 0 else status


def start(
    torus: VirtualTorus, command: Sequence[str], environment: Mapping[str, str], host: str | None
) -> LauncherProcess:
    """Start a launcher on a host of the torus, or in this process's network for None.

    It ends with this process, and after the seconds in the variable LIMIT.
    """
    enter = [str(ENTER), host] if host else []
    limit_s = os.environ.get(LIMIT, "")
    limited = ["timeout", "--foreground", "-k", "30", limit_s] if limit_s else []
    child = subprocess.Popen(
        [*enter, "setpriv", "--pdeathsig", "TERM", *limited, *command],
        env={
            **environments.of_caller(torus),
            **environments.for_any_program(torus),
            "LD_PRELOAD": environments.preloaded(),
            **environment,
            locks.INSIDE_LAUNCH: "1",
        },
        stderr=subprocess.PIPE,
        close_fds=False,
    )
    reader = threading.Thread(target=_copy_stderr, args=(child,), daemon=True)
    reader.start()
    if torus.shape.network == "router":
        threading.Thread(target=_end_without_router, args=(torus, child), daemon=True).start()
    return LauncherProcess(child=child, reader=reader)


def router_ended(torus: VirtualTorus) -> str:
    """Return the message for a torus whose router has ended."""
    reason = router.reason(torus.folder)
    because = f" ({reason})" if reason else ""
    return f"the router of torus {torus.name} has ended{because}; run: railyard torus down {torus.name}"


def _end_without_router(torus: VirtualTorus, child: subprocess.Popen[bytes]) -> None:
    """Wait for the end of the torus's router, then end the launcher: its ranks would wait for packets for ever."""
    router.wait(torus.name, torus.folder)
    if child.poll() is not None:
        return
    print(f"railyard: {router_ended(torus)}", file=sys.stderr, flush=True)
    child.terminate()
    try:
        child.wait(TERMINATION_S)
    except subprocess.TimeoutExpired:
        child.kill()


def _copy_stderr(child: subprocess.Popen[bytes]) -> None:
    """Copy a launcher's stderr to that of this process, without `NOISE`."""
    assert child.stderr is not None
    for line in child.stderr:
        if not NOISE.search(line):
            sys.stderr.buffer.write(line)
            sys.stderr.buffer.flush()
