"""Launch an MPI program on a simulated topology, by SimGrid's SMPI and within limits of time and memory.

Models: the nodes of ranks are a host file, latencies and rates a calibration, failures faults. The program is one that
smpicc built. All its ranks are threads of one process and run in turn, so a run repeats bit for bit. Simulated time
passes for communication, and for copies that a program reports (halo/faces.h). Leaves out all other computation,
which takes no time.

Sources of the options: SimGrid 3.32, docs/source/Configuring_SimGrid.rst and app_smpi.rst.
"""

from __future__ import annotations

import dataclasses
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from railyard.base import parent
from railyard.base.checkout import CHECKOUT
from railyard.base.errors import InputError, RunError
from railyard.placements.hosts.hostfile import Nic
from railyard.placements.topology.base import Topology
from railyard.placements.topology.faults import Faults
from railyard.torus.simulated import network
from railyard.torus.simulated.calibration import Calibration

PLATFORM = CHECKOUT / "build/lib/railyard-simgrid.so"
STACK_KIB = 512
#: Exit statuses of a simulation that a signal ended.
BROKEN_OFF = frozenset(128 + number for number in (signal.SIGABRT, signal.SIGSEGV, signal.SIGKILL))
#: Lines that smpirun and SimGrid add to a program's stderr.
FRAME = re.compile(r"^Execution failed with code|^\S+ --cfg=|^\s+->\s|^Aborted|^Backtrace|^Current backtrace|^Killed")
COLLECTIVES = ("allgather", "allreduce", "alltoall", "barrier", "bcast", "gather", "reduce", "scatter")
#: Pairs of routers. SimGrid reads a description with so many routes in about ten seconds.
MOST_PAIRS = 4_000_000
#: The limits of a launch, unless its user gives others: seconds of this machine's time, GiB of its memory.
TIME_S, MEMORY_GIB = 600.0, 4.0
#: Seconds per message of a large collective, a rough value for one idle processor.
MESSAGE_S = 500e-6
#: Blocks in the buffers of a rank per rank of its group: to send, received, and in transit.
BLOCKS = {"alltoall": 3.0, "allgather": 2.0}


def collectives_excess(collectives: Iterable[tuple[str, int, int, int]], *, rounds: int) -> str:
    """Return in words which usual limit the simulation of collectives would exceed; an empty text if it exceeds none.

    Each collective is (name, groups, ranks of a group, bytes), and runs `rounds` times in all groups at once, after the
    one before. The bytes are those of a block for each pair (alltoall) or of each rank's contribution (allgather).

    All ranks are one process, so their buffers add up, and each message takes some time of this machine. Models: send
    and receive buffers of every rank, copies of messages that wait for their receiver, the ranks' stacks, and the
    number of messages times the time of one. Other collectives pass 2 messages per rank in each of about log2(ranks)
    steps, and their buffers are small. Leaves out what the benchmark and SimGrid need otherwise (some ten MiB).
    """
    memory_bytes = time_s = 0.0
    for name, groups, ranks, size_bytes in collectives:
        pairs, stacks_bytes = groups * ranks * ranks, groups * ranks * STACK_KIB * 1024
        memory_bytes = max(memory_bytes, BLOCKS.get(name, 0.0) * pairs * size_bytes + stacks_bytes)
        time_s += (pairs if name in BLOCKS else 2 * groups * ranks * ranks.bit_length()) * rounds * MESSAGE_S
    if (gib := memory_bytes / 2**30) > MEMORY_GIB:
        return f"it would take about {gib:.3g} GiB of memory, of {MEMORY_GIB:g}"
    return f"it would take about {time_s:.0f} s of this machine's time, of {TIME_S:g}" if time_s > TIME_S else ""


@dataclass(frozen=True, kw_only=True)
class SimulatedLaunch:
    """A simulated launch. Rank k runs on `ranks[k]`.

    `algorithms` maps a collective to SMPI's algorithm; the calibration decides for all others. The launch may take
    `time_s` seconds of this machine, and `memory_gib` of its memory.
    """

    topology: Topology
    ranks: Sequence[Nic]
    program: Sequence[str]
    calibration: Calibration
    algorithms: Mapping[str, str] = field(default_factory=dict)
    faults: Faults = field(default_factory=Faults)
    time_s: float = TIME_S
    memory_gib: float = MEMORY_GIB


@dataclass(frozen=True, kw_only=True)
class SimulationResult:
    """The result of a launch: the program's exit status, link name -> payload bytes, and the peak memory.

    Links without traffic are left out.
    """

    status: int
    link_bytes: Mapping[str, int]
    memory_mib: float


def missing() -> str:
    """Return in one line why nothing can be simulated here; an empty text if it can."""
    if shutil.which("smpirun") is None:
        return "SimGrid's smpirun is not installed; `make simulated` installs it (Debian: simgrid, libsimgrid-dev)"
    return "" if PLATFORM.is_file() else f"{PLATFORM} is not built; run `make simulated`"


def version() -> str:
    """Return SimGrid's version, such as `3.32`; `unknown` if smpirun does not print it or is missing."""
    if shutil.which("smpirun") is None:
        return "unknown"
    result = subprocess.run(["smpirun", "-version"], capture_output=True, text=True, check=False)
    match = re.search(r"\d+\.\d+[\d.]*", result.stdout)
    return match[0] if match else "unknown"


def read_algorithms(text: str) -> dict[str, str]:
    """Return collective -> SMPI's algorithm from a text such as `alltoall:ring,allgather:rdb`.

    Raises InputError for anything else in the list.
    """
    pairs = [word.strip().partition(":") for word in text.split(",") if word.strip()]
    for name, _, algorithm in pairs:
        if name not in COLLECTIVES or not re.fullmatch(r"\w+", algorithm):
            valid = f"COLLECTIVE:ALGORITHM of {', '.join(COLLECTIVES)}, for SimGrid's option smpi/COLLECTIVE"
            raise InputError("--algorithms", "", text, valid)
    return {name: algorithm for name, _, algorithm in pairs}


def options(calibration: Calibration, algorithms: Mapping[str, str]) -> list[str]:
    """Return the options of smpirun; `algorithms` maps a collective to SMPI's algorithm for it."""
    # The time that a message of any size takes of its rank. SimGrid 3 crashes on a single number. SimGrid 4 does not
    # apply a range of sizes from 0 to messages of 0 bytes.
    overhead, major = f"{calibration.mpi_latency_us * 1e-6 / 2:.10g}", version().partition(".")[0]
    if not (major.isdigit() and int(major) >= 4):
        overhead = f"0:{overhead}:0"
    configured = {
        "network/model": "CM02",  # the description's latencies and rates; simgrid/platform.cpp divides a link equally
        "network/crosstraffic": "yes",  # acknowledgements take 5 % of a message's rate in the other direction
        "network/TCP-gamma": "0",  # rates are not limited by a window
        "smpi/os": overhead,
        "smpi/ois": overhead,
        "smpi/or": overhead,
        "smpi/async-small-thresh": str(calibration.eager_bytes),
        "smpi/send-is-detached-thresh": str(calibration.eager_bytes),
        "smpi/coll-selector": calibration.collectives,
        **{f"smpi/{name}": algorithm for name, algorithm in algorithms.items()},
        "smpi/simulate-computation": "no",
        "smpi/test": "1e-7",  # seconds of a call of MPI_Test, because for programs that poll time must pass
        "smpi/grow-injected-times": "no",
        "contexts/stack-size": str(STACK_KIB),
    }
    settings = [f"--cfg={name}:{value}" for name, value in configured.items()]
    return ["-no-privatize", *settings, "--log=root.thres:critical"]


def command(launch: SimulatedLaunch, hostfile: str) -> list[str]:
    """Return the command of smpirun for a launch; `hostfile` is the path of the file `hosts` that `write` writes.

    The command needs the variable RAILYARD_NETWORK with the path of the file `network`.
    """
    start = ["smpirun", "-np", str(len(launch.ranks)), "-platform", str(PLATFORM), "-hostfile", hostfile]
    return [*start, *options(launch.calibration, launch.algorithms), *launch.program]


def run(launch: SimulatedLaunch) -> SimulationResult:
    """Run a launch; the program's stdout and stderr are those of this process.

    Raises InputError for what cannot be simulated. Raises RunError if SimGrid is missing or a limit ends the launch.
    """
    if reason := missing():
        raise RunError(reason)
    _check(launch)
    program = [str(_built_by_smpicc(launch.program[0])), *launch.program[1:]]
    launch = dataclasses.replace(launch, program=program)
    with tempfile.TemporaryDirectory(prefix="railyard-sim-") as name:
        folder = Path(name)
        write(launch, folder)
        ranks_per_node = max(Counter(nic.node.name for nic in launch.ranks).values())
        environment = {
            **os.environ,
            "RAILYARD_NETWORK": str(folder / "network"),
            "RAILYARD_LINK_BYTES": str(folder / "bytes"),
            "RAILYARD_CORE_GBYTE_S": f"{launch.calibration.packing_gbyte_s(ranks_per_node):g}",
        }
        child = [*command(launch, str(folder / "hosts")), f"--cfg=smpi/tmpdir:{folder}"]
        with (folder / "errors").open("wb") as errors:
            status, memory_kib = _within_limits(launch, child, environment, errors)
        every_line = (folder / "errors").read_text(errors="replace").splitlines()
        program_errors = [line for line in every_line if line.strip() and not FRAME.search(line)]
        if status in BROKEN_OFF:
            why = f"{program_errors[0]}; " if program_errors else ""
            limit = f"{launch.memory_gib:g} GiB (--memory-limit)"
            raise RunError(f"sim: the program ended early: {why}status {status}; its memory is limited to {limit}")
        sys.stderr.write("".join(f"{line}\n" for line in program_errors))
        counted = folder / "bytes"
        rows = (line.split(" ", 1) for line in counted.read_text().splitlines()) if counted.is_file() else ()
        link_bytes = {name: int(size) for size, name in rows}
        return SimulationResult(status=status, link_bytes=link_bytes, memory_mib=memory_kib / 1024)


def write(launch: SimulatedLaunch, folder: Path) -> None:
    """Write the files `network` and `hosts`, which the command of smpirun reads, to a folder."""
    nodes = list(dict.fromkeys(nic.node for nic in launch.ranks))
    text = network.render(launch.topology, nodes, launch.faults, launch.calibration)
    (folder / "network").write_text(text)
    hosts = (network.nic_name(nic.node, nic.rail) for nic in launch.ranks)
    (folder / "hosts").write_text("".join(f"{host}\n" for host in hosts))


def _check(launch: SimulatedLaunch) -> None:
    """Raise InputError for a topology with too many routes, and if the stacks alone exceed the memory limit."""
    routers = len({nic.node.coordinate for nic in launch.ranks})
    if routers**2 * launch.topology.rails > MOST_PAIRS:
        valid = f"at most {int((MOST_PAIRS / launch.topology.rails) ** 0.5)} routers with ranks"
        raise InputError("topology", "", problem=f"{routers} routers of {launch.topology.name}", valid=valid)
    stacks_gib = len(launch.ranks) * STACK_KIB / 2**20
    if stacks_gib > launch.memory_gib:
        valid = f"more than {stacks_gib:.3g} GiB, which the stacks of {len(launch.ranks)} ranks take"
        raise InputError("--memory-limit", "", f"{launch.memory_gib:g}", valid)


def _built_by_smpicc(program: str) -> Path:
    """Return the path of a program; InputError if it is not on the PATH or another compiler built it."""
    path = shutil.which(program)
    if path is None:
        raise InputError("sim", "PROGRAM", program, "a program on the PATH (build/benchmarks-simgrid/bin)")
    if b"libsimgrid" not in Path(path).read_bytes():
        raise InputError("sim", "PROGRAM", path, "a program that smpicc built (build/benchmarks-simgrid/bin)")
    return Path(path).resolve()


def _within_limits(
    launch: SimulatedLaunch, child: Sequence[str], environment: Mapping[str, str], errors: IO[bytes]
) -> tuple[int, int]:
    """Run the command of a launch; return its exit status, and the peak memory of its largest process in KiB.

    Raises RunError after the limit of time. Memory is limited as address space.
    """
    most_bytes = int(launch.memory_gib * 2**30)
    process = subprocess.Popen(
        child,
        env=environment,
        stderr=errors,
        start_new_session=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes)),
    )
    with parent.on_signals(lambda received, _: os.killpg(process.pid, received)):
        try:
            status = process.wait(launch.time_s)
        except subprocess.TimeoutExpired:
            problem = f"not done after {launch.time_s:g} s of this machine's time"
            raise RunError(f"sim: {problem}; raise --time-limit") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    memory_kib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss  # this process has no other large child
    return 128 - status if status < 0 else status, memory_kib
