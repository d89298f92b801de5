"""Work on the other machines of a torus: reach them, connect the routers, make and remove their parts.

    railyard torus up TOPOLOGY --hosts FILE
        this machine                                   another one, reached by ssh or srun
        the request, and a key              ---->      python -m railyard.torus.virtual.part
        ports                               <---->     a port at its own address
        connections between all routers, each proved by the key; namespaces; the router
        "up"                                <----      "up", or one line with the reason

The heads are joined by VXLAN between the machines' addresses. Daemons of a launch use it, as they use the management
network of one machine; messages between ranks never cross it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import math
import os
import secrets
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Listener
from pathlib import Path
from typing import IO, Any

from railyard.base.errors import InputError, RunError
from railyard.torus.engines import netns
from railyard.torus.native.programs import last_line, system_path
from railyard.torus.plan.parts import Machine, Parts
from railyard.torus.plan.plan import HEAD

SSH = ("ssh", "-o", "BatchMode=yes", "{host}")
#: Ranks are no tasks of the step: they need all its processors, and none of its variables for MPI.
SRUN_OPTIONS = ("--overlap", "--nodes=1", "--ntasks=1", "--cpu-bind=none", "--mpi=none", "--quiet")
SRUN = ("srun", "--nodelist={host}", *SRUN_OPTIONS)
#: What another machine runs, from the same checkout.
PART = [sys.executable, "-m", "railyard.torus.virtual.part"]
RAILYARD = [sys.executable, "-m", "railyard.cli"]
#: Shells take one text, srun and others take words.
REMOTE_SHELLS = frozenset({"ssh", "rsh"})
CONNECT_S = 20.0  # seconds in which all routers must be connected
PAUSE_S = 0.002  # seconds between two looks at the output of a program
VXLAN_PORT = 4789
CLOSED_PORT = 1  # where no machine listens
WIRE_LIMIT_S = 0.5


def read(path: Path) -> list[Machine]:
    """Return the machines of a file with a line NAME [ADDRESS] for each; InputError for a bad one."""
    try:
        return _of_lines(path.read_text(encoding="utf-8").splitlines(), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("--hosts", "", str(path), "a file with a line NAME [ADDRESS] for each machine") from error


def of_slurm() -> list[Machine]:
    """Return the machines of the Slurm allocation in which this process runs; InputError without one."""
    nodes = os.environ.get("SLURM_JOB_NODELIST")
    if not nodes:
        raise InputError("--hosts", "", "slurm", "a file of machines; there is no Slurm allocation here")
    command = ["sinfo", "--noheader", "--Node", f"--nodes={nodes}", "--format=%N %o"]  # a line per node and partition
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return _of_lines(list(dict.fromkeys(result.stdout.splitlines())), "sinfo")


def _of_lines(lines: Sequence[str], source: str) -> list[Machine]:
    """Return the machines of lines NAME [ADDRESS]; InputError with the number of a bad one."""
    machines = []
    for number, line in enumerate(lines, start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            address = socket.gethostbyname(words[-1])
        except OSError as error:
            raise InputError(source, f"line {number}", words[-1], "NAME [ADDRESS] of a machine") from error
        machines.append(Machine(name=words[0], address=address))
    return machines


def parts_here(machines: Sequence[Machine], reach: Sequence[str]) -> Parts:
    """Return the parts of a torus on these machines; InputError unless exactly one of them is this machine."""

    def is_here(address: str) -> bool:
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as trial:
            trial.bind((address, 0))
            return True
        return False

    own = [number for number, machine in enumerate(machines) if is_here(machine.address)]
    if len(own) != 1:
        valid = "machines with one address each, exactly one of them this machine's"
        raise InputError("--hosts", "addresses", ", ".join(machine.address for machine in machines), valid)
    try:
        words = [word.format(host="", address="") for word in reach]
    except (KeyError, IndexError, ValueError):
        words = []
    if not words:
        raise InputError("--reach", "", " ".join(reach), "a command, with {host} or {address} in it")
    return Parts(machines=tuple(machines), own=own[0], head=own[0], reach=tuple(reach))


def wire_s(parts: Parts) -> float:
    """Return the longest round trip to another machine, in seconds: that of a refused connection, the least of five.

    Machines that drop such a packet count as 0.
    """
    times_s = []
    for machine in parts.others.values():
        tries_s = [WIRE_LIMIT_S]
        for _ in range(5):
            with socket.socket() as trial:
                trial.settimeout(WIRE_LIMIT_S)
                begun_s = time.perf_counter()
                refused = trial.connect_ex((machine.address, CLOSED_PORT)) in {0, errno.ECONNREFUSED}
                tries_s += [time.perf_counter() - begun_s] if refused else []
        times_s.append(min(tries_s))
    return max((time_s for time_s in times_s if time_s < WIRE_LIMIT_S), default=0.0)


def command(parts: Parts, machine: Machine, words: Sequence[str]) -> list[str]:
    """Return the command that runs a program on another machine: the system's srun, where a torus's is on the PATH."""
    reach = [word.format(host=machine.name, address=machine.address) for word in parts.reach]
    reach[0] = shutil.which(reach[0], path=system_path()) or reach[0]
    return [*reach, shlex.join(words)] if Path(reach[0]).name in REMOTE_SHELLS else [*reach, *words]


def on_others(parts: Parts | None, words: Sequence[str], text: str = "") -> list[str]:
    """Run a program on every other machine at once, with a text as its input; return the outputs.

    Raises RunError with the first machine's name and last line on stderr, after all have ended.
    """
    if parts is None:
        return []
    running = [(machine, _start(parts, machine, words)) for machine in parts.others.values()]
    outputs, failures = [], []
    for machine, process in running:
        output, complaint = process.communicate(text)
        outputs.append(output)
        if process.returncode != 0:
            failures.append(f"{machine.name}: {last_line(complaint) or f'status {process.returncode}'}")
    if failures:
        raise RunError("; ".join(failures))
    return outputs


@dataclass(slots=True, kw_only=True)
class Watcher:
    """A program on a machine that runs until its input ends, and the file with its output.

    `machine` is empty for this machine. `complaint` is what the program has written on stderr, once it has ended.
    """

    machine: str
    process: subprocess.Popen[str]
    output: IO[str]
    complaint: str = ""

    def text(self) -> str:
        """Return the output so far; the position of the file, where the program writes, does not move."""
        number = self.output.fileno()
        return os.pread(number, os.fstat(number).st_size, 0).decode()

    def wait_for(self, text: str) -> None:
        """Wait until the output has a text; RunError with the machine's name if the program ends before.

        Another machine has `CONNECT_S` seconds for it.
        """
        deadline = time.monotonic() + CONNECT_S if self.machine else math.inf
        while text not in self.text():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                complaint = self.process.communicate()[1]
                if self.machine:
                    raise RunError(f"{self.machine}: {last_line(complaint) or 'it does not answer'}")
                raise RunError(last_line(complaint) or "the counters cannot be read")
            time.sleep(PAUSE_S)

    def end(self) -> list[str]:
        """End the program; return the lines of its output."""
        _, self.complaint = self.process.communicate()
        with self.output as file:
            file.seek(0)
            return file.readlines()


def watch(parts: Parts | None, words: Sequence[str], folder: Path) -> list[Watcher]:
    """Start a program that runs until its input ends: here, and then on every other machine of a torus.

    Its output goes to a file in `folder`, because a pipe would fill.
    """
    watchers = []
    for machine in (None, *(parts.others.values() if parts else ())):
        output = tempfile.TemporaryFile("w+", dir=folder)  # noqa: SIM115 - its watcher closes it
        process, name = _start(parts, machine, words, output), machine.name if machine else ""
        watchers.append(Watcher(machine=name, process=process, output=output))
    return watchers


def _start(
    parts: Parts | None, machine: Machine | None, words: Sequence[str], output: IO[str] | int = subprocess.PIPE
) -> subprocess.Popen[str]:
    """Start a program on another machine, or here for None, with pipes.

    Raises RunError if the command that reaches the machine is absent.
    """
    if machine is not None:
        assert parts is not None
        words = command(parts, machine, words)
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen(words, stdin=pipe, stdout=output, stderr=pipe, text=True)
    except FileNotFoundError as error:
        raise RunError(f"no {words[0]} on the PATH" + (f", to reach {machine.name}" if machine else "")) from error


# Connect the routers. -------------------------------------------------------------------------------------------------


def make_others(name: str, request: Mapping[str, Any], parts: Parts, make: Callable[[Mapping[int, int]], None]) -> None:
    """Make a torus on all machines: `make` makes this one's part, with (machine number -> connected socket).

    `request` is torus.json's document. Raises RunError with the first machine's name and reason; each machine then
    has removed its part.
    """
    key = secrets.token_bytes(32)
    with listening(parts, key) as listener:
        running = {n: _start(parts, m, [*PART, "make"]) for n, m in parts.others.items()}
        try:
            for number, process in running.items():
                own = {**request, "parts": {**request["parts"], "own": number}}
                _say(process, {"name": name, "torus": own, "key": key.hex()})
            ports = {parts.own: listener.address[1]}
            ports |= {n: _answer(parts, n, process)["port"] for n, process in running.items()}
            for process in running.values():
                _say(process, {"ports": ports})
            with connected(parts, listener, key, ports) as sockets:
                make(sockets)
            for number, process in running.items():
                _answer(parts, number, process)
        except BaseException:
            with contextlib.suppress(RunError):
                on_others(parts, [*PART, "down", name])
            for process in running.values():
                with contextlib.suppress(OSError):
                    process.communicate()
            raise


@contextlib.contextmanager
def listening(parts: Parts, key: bytes) -> Iterator[Listener]:
    """Listen at this machine's address for the routers of others, which must have the key."""
    with Listener((parts.machines[parts.own].address, 0), backlog=len(parts.machines), authkey=key) as listener:
        listener._listener._socket.settimeout(CONNECT_S)  # type: ignore[attr-defined]
        yield listener


@contextlib.contextmanager
def connected(parts: Parts, listener: Listener, key: bytes, ports: Mapping[int, int]) -> Iterator[dict[int, int]]:
    """Connect to the machines before this one and let those after it connect; yield machine number -> descriptor."""
    sockets: dict[int, int] = {}
    try:
        for number in range(parts.own):
            with Client((parts.machines[number].address, ports[number]), authkey=key) as connection:
                connection.send_bytes(str(parts.own).encode())
                sockets[number] = _plain(connection.fileno())
        while len(sockets) < len(parts.machines) - 1:
            with listener.accept() as connection:
                number = int(connection.recv_bytes())
                sockets[number] = _plain(connection.fileno())
        yield sockets
    except (OSError, EOFError, AuthenticationError) as error:
        raise RunError(f"the machines' routers cannot be connected: {error}") from error
    finally:
        for descriptor in sockets.values():
            os.close(descriptor)


def _plain(descriptor: int) -> int:
    """Return a copy of a connection for the router: it does not block, and sends at once."""
    with socket.socket(fileno=os.dup(descriptor)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setblocking(False)
        return connection.detach()


def _say(process: subprocess.Popen[str], document: Mapping[str, Any]) -> None:
    """Send a document to the command on another machine, as one line."""
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # its answer is missing, too, and has the reason
        process.stdin.write(json.dumps(document) + "\n")
        process.stdin.flush()


def _answer(parts: Parts, number: int, process: subprocess.Popen[str]) -> Any:
    """Return the next document of the command on another machine; RunError with its reason if it ended."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        _, complaint = process.communicate()
        raise RunError(f"{parts.machines[number].name}: {last_line(complaint) or 'it ended without a word'}")
    return json.loads(line)


# Join the heads. ------------------------------------------------------------------------------------------------------


def join_heads(name: str, parts: Parts) -> None:
    """Put a VXLAN interface to the other machines into the bridge of this machine's head. RunError if Linux has none.

    It is made in this machine's own network, which transports it, and moved into the head.
    """
    number = int.from_bytes(hashlib.sha256(f"{name} {parts.machines}".encode()).digest()[:3])
    head, own = netns.full_name(name, HEAD), parts.machines[parts.own].address
    netns.batch("ip", [f"link add vx0 netns {head} type vxlan id {number} local {own} dstport {VXLAN_PORT} nolearning"])
    lines = [f"fdb append 00:00:00:00:00:00 dev vx0 dst {machine.address}" for machine in parts.others.values()]
    netns.batches(name, "ip", {HEAD: ["link set vx0 mtu 1500 master mgmt0 up"]})
    netns.batches(name, "bridge", {HEAD: lines})
