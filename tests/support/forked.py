"""Run `railyard` in forks of a process that has loaded its libraries already: that takes a start half a second.

Such a command is a process with its own environment, folder and output, like one that the script starts. Leaves out
what only a fresh start shows, such as which libraries a command loads: tests/repository/test_start.py has that.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

#: What commands load and what starts no thread: a fork would lack the threads.
LOADED = (
    "matplotlib.pyplot",
    "railyard.placements.cli.place",
    "railyard.jobs.cli",
    "railyard.tender.cli",
    "scipy.stats",
)
#: More than a request needs, whose largest part is the environment.
REQUEST_BYTES = 1 << 17


class Commands:
    """Starts commands in forks of one process, one at a time."""

    def __init__(self) -> None:
        self.connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        words = [sys.executable, "-m", "support.forked", str(theirs.fileno())]
        path = os.pathsep.join(sys.path)
        alone = {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": path}
        self.loader = subprocess.Popen(words, pass_fds=[theirs.fileno()], env={**os.environ, **alone})
        theirs.close()

    def close(self) -> None:
        """End the process whose forks the commands are."""
        self.connection.close()
        self.loader.wait()

    def run(self, words: list[str], environment: dict[str, str], timeout_s: float) -> subprocess.CompletedProcess[str]:
        """Return the output and status of `railyard WORDS...`, as subprocess.run does."""
        request = {"words": words, "environment": environment, "folder": str(Path.cwd())}
        with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
            files = [output.fileno(), errors.fileno()]
            socket.send_fds(self.connection, [json.dumps(request).encode()], files)
            process = self._answer(None)
            try:
                status = self._answer(timeout_s)
            except TimeoutError:
                os.kill(process, signal.SIGKILL)
                self._answer(None)
                raise subprocess.TimeoutExpired(["railyard", *words], timeout_s) from None
            return subprocess.CompletedProcess(["railyard", *words], status, _text(output), _text(errors))

    def _answer(self, timeout_s: float | None) -> int:
        self.connection.settimeout(timeout_s)
        return int(self.connection.recv(64))


def _text(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


def serve(connection: socket.socket) -> dict[str, Any] | None:
    """Fork for each request. Return the request in the fork; return None in the process itself after the last one."""
    for name in LOADED:
        importlib.import_module(name)
    gc.freeze()
    while True:
        request, files, _, _ = socket.recv_fds(connection, REQUEST_BYTES, 2)
        if not request:
            return None
        process = os.fork()
        if process == 0:
            connection.close()
            for number, file in enumerate(files, start=1):
                os.dup2(file, number)
                os.close(file)
            return dict(json.loads(request))
        for file in files:
            os.close(file)
        connection.send(str(process).encode())
        _, status = os.waitpid(process, 0)
        connection.send(str(os.waitstatus_to_exitcode(status)).encode())


def status_of(request: dict[str, Any]) -> int:
    """Do what the script `railyard` does, as the process that the request describes; return its exit status."""
    from railyard.cli import main

    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.argv = ["railyard", *request["words"]]
    try:
        main()
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


if __name__ == "__main__":
    requested = serve(socket.socket(fileno=int(sys.argv[1])))
    if requested is not None:
        # Python would free what was loaded, object by object: pages that the fork shares are copied for that.
        status = status_of(requested)
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
