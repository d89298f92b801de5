"""Run a launcher on a torus: start it, copy its stderr, pass signals on, end it with its router.

`relay` starts what a launch runs on the other machines of a torus on several.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO

from railyard.base.checkout import TORUS_BIN
from railyard.torus.engines import router
from railyard.torus.native.programs import ENTER
from railyard.torus.virtual import environment as environments
from railyard.torus.virtual import locks, machines
from railyard.torus.virtual.lifecycle import VirtualTorus

#: Seconds that a launcher has to end its ranks after its router has ended; it is killed then.
TERMINATION_S = 0.5
#: The variable with the seconds after which a launcher is ended, counted from its start: waits come before that.
LIMIT = "RAILYARD_LIMIT_S"
#: Open MPI prints this when an agent starts before its parent continues. It is harmless.
NOISE = re.compile(rb"plm:[rs]sh: Warning: setpgid\(\d+,\d+\) failed in parent")
#: Variables that daemons of a launch inherit on this machine, and get by name on another one.
PASSED = ("FI_", "HWLOC_", "HYDRA_", "I_MPI_", "LD_", "MPIR_", "OMPI_", "PATH", "PMI", "PRTE_", "RAILYARD_", "UCX_")


@dataclass(frozen=True, slots=True, kw_only=True)
class LauncherProcess:
    """A running launcher, and the thread that copies its stderr."""

    child: subprocess.Popen[bytes]
    reader: threading.Thread

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
    reader = threading.Thread(target=_copy_stderr, args=(child.stderr,), daemon=True)
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


def _copy_stderr(stderr: IO[bytes]) -> None:
    """Copy a launcher's stderr to that of this process, without `NOISE`."""
    for line in stderr:
        if not NOISE.search(line):
            sys.stderr.buffer.write(line)
            sys.stderr.buffer.flush()


@contextlib.contextmanager
def relay(torus: VirtualTorus) -> Iterator[None]:
    """Start programs on nodes of other machines for `railyard-enter`, by a socket in the torus's folder.

    railyard-enter runs inside the torus, from where no other machine can be reached.
    """
    if torus.parts is None:
        yield
        return
    path, program = torus.folder / "agent", torus.folder / "elsewhere"
    path.unlink(missing_ok=True)
    program.unlink(missing_ok=True)
    program.symlink_to(TORUS_BIN / "elsewhere")  # takes the place of a program on another machine
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        path.chmod(0o600)
        server.listen(1024)
        threading.Thread(target=_serve, args=(server, torus, torus.machine_of), daemon=True).start()
        yield
        path.unlink(missing_ok=True)
        server.shutdown(socket.SHUT_RDWR)


def _serve(server: socket.socket, torus: VirtualTorus, machine_of: Mapping[str, int]) -> None:
    """Accept requests until the socket is closed."""
    with contextlib.suppress(OSError):
        while True:
            connection, _ = server.accept()
            threading.Thread(target=_run, args=(connection, torus, machine_of), daemon=True).start()


def _run(connection: socket.socket, torus: VirtualTorus, machine_of: Mapping[str, int]) -> None:
    """Run one program on a node of another machine, with the caller's files, and answer with its status."""
    assert torus.parts is not None
    with connection:
        data, files, _, _ = socket.recv_fds(connection, 1 << 20, 3)
        size = int.from_bytes(data[:4])
        while len(data) < size + 4:
            data += connection.recv(1 << 20)
        request = json.loads(data[4:])
        host = request["host"]
        words = entered(
            torus.name, host, request["words"], environment=request["environment"], folder=request["folder"]
        )
        if host not in machine_of:
            os.write(files[2], f"railyard-enter: the torus has no host {host}\n".encode())
            return
        command = machines.command(torus.parts, torus.parts.machines[machine_of[host]], words)
        process = subprocess.Popen(command, stdin=files[0], stdout=files[1], stderr=files[2])
        for descriptor in files:
            os.close(descriptor)
        threading.Thread(target=_end_with, args=(connection, process), daemon=True).start()
        status = process.wait()
        with contextlib.suppress(OSError):
            connection.sendall(bytes([status & 255 if status >= 0 else 128 - status]))


def _end_with(connection: socket.socket, process: subprocess.Popen[bytes]) -> None:
    """End a program when its caller has ended."""
    with contextlib.suppress(OSError):
        connection.recv(1)
    if process.poll() is None:
        process.terminate()


def entered(name: str, host: str, words: Sequence[str], *, environment: Mapping[str, str], folder: str) -> list[str]:
    """Return the words that run a program on a node, on the machine that has it.

    `words` may begin with an option of railyard-enter, which comes before the host there.
    """
    passed = [f"{key}={value}" for key, value in environment.items() if key.startswith(PASSED)]
    script = f'cd {shlex.quote(folder)} 2>/dev/null; exec "$@"'
    options = [word for word in words[:1] if word == "-s"]
    program = [str(ENTER), *options, host, *words[len(options) :]]
    return ["env", *passed, f"RAILYARD_TORUS={name}", "sh", "-c", script, "sh", *program]
