"""Random kills of the commands of a torus, and many launches in a row: what is lost, and what is left behind.

Each kill starts a command (up, down, fault or mpirun), sends SIGKILL after a random time, and checks three things.
`status` is truthful: a torus that is not whole is never sound. `down` then removes everything. Nobody outside was
signalled: a process beside the torus lives, and the machine's own network is unchanged. SEED decides the times.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from railyard.base.checkout import BUILD
from railyard.torus.engines import netns
from railyard.torus.virtual import lifecycle

RAILYARD = str(Path(sys.executable).parent / "railyard")
NAME = "bench-soak"
TOPOLOGY = "gemini-3x3x3"
LAUNCH_TOPOLOGY = "gemini-2x2x2"
RANKS = 8
CABLE = "X+ 0,0,0>1,0,0"
SEED = 1
KILLS = 200
LAUNCHES = 1000
END_S = 120.0
HALO = BUILD / "benchmarks-openmpi/bin/halo"
HOST_NETWORK = ("ip -o link", "ip route show table all", "ip rule", "sysctl -a")
#: Figures of the kernel that change by themselves.
CHANGES = (
    "random",
    "nr_",
    "file-nr",
    "inode-",
    "dentry-state",
    "sched_domain",
    "ns_last_pid",
    "perf_",
    "pty.nr",
)

COMMANDS: Mapping[str, Sequence[str]] = {
    "up": ("up", TOPOLOGY, "--name", NAME),
    "down": ("down", NAME),
    "fault": ("fault", NAME, CABLE, "--down"),
    "mpirun": ("mpirun", NAME, "-np", str(RANKS), "sleep", "5"),
}


def options(parser: argparse.ArgumentParser) -> None:
    """Add how long the soak is."""
    parser.add_argument(
        "--kills", type=int, default=KILLS, help="soak: commands killed  [default: %(default)s]"
    )
    parser.add_argument(
        "--launches",
        type=int,
        help=f"soak: launches  [default: {LAUNCHES}]; machine: launches of the job  [default: 4]",
    )


def measure(console: Console, kills: int, launches: int | None) -> dict[str, Any]:
    """Return the counts of both parts, and print them."""
    figures = {**(_kills(kills) if kills else {}), **_launches(LAUNCHES if launches is None else launches)}
    table = Table("figure", "", title="soak")
    for name, value in figures.items():
        table.add_row(name, str(value))
    console.print(table)
    return figures


def _kills(count: int) -> dict[str, Any]:
    chance = random.Random(SEED)
    longest = {name: _longest(name) for name in COMMANDS}
    before, canary = _machine(), subprocess.Popen(["sleep", "infinity"])
    found: Counter[str] = Counter()
    try:
        for number in range(count):
            name = list(COMMANDS)[number % len(COMMANDS)]
            found[f"killed {name}"] += _kill_one(name, chance.uniform(0, longest[name]))
            found += _judge()
            left = _left_after_down("--all", lifecycle.RUN)
            found += left
            print(f"kill {number + 1} of {count}: {name}: left {dict(left)}", file=sys.stderr, flush=True)
        found["processes outside that were ended"] += canary.poll() is not None
    finally:
        canary.kill()
        canary.wait()
    changed = sorted(set(before) ^ set(_machine()))
    return {"kills": count, **found, "lines of the machine's own network that differ": len(changed)}


def _longest(name: str) -> float:
    """Seconds that a command takes when nobody kills it."""
    _prepare(name)
    begun = time.monotonic()
    _railyard(*COMMANDS[name])
    taken = time.monotonic() - begun
    _railyard("down", "--all")
    return taken


def _prepare(name: str) -> None:
    if name != "up":
        _railyard(*COMMANDS["up"])


def _kill_one(name: str, after_s: float) -> int:
    """Kill a command after some seconds; 1 where the kill met it, 0 where it had ended."""
    _prepare(name)
    process = subprocess.Popen(
        [RAILYARD, "torus", *COMMANDS[name]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(after_s)
    process.send_signal(signal.SIGKILL)
    return int(process.wait() == -signal.SIGKILL)


def _judge() -> Counter[str]:
    """Return what a user is told after the kill, and whether it is so: a torus called sound must repeat its `up`."""
    listed = {torus["name"]: torus["state"] for torus in json.loads(_railyard("list", "--json").stdout)}
    state = listed.get(NAME, "gone")
    if state != "up":
        return Counter({f"then {state}": 1})
    report = _railyard("status", NAME, "--json")
    if json.loads(report.stdout)["sound"]:
        same = "already up" in _railyard(*COMMANDS["up"]).stdout or "is down" in report.stdout
        return Counter({"then sound": 1, "sound, and not the torus asked for": int(not same)})
    repeated = _railyard(*COMMANDS["fault"])
    return Counter({"then not sound": 1, "fault that cannot be repeated": int(repeated.returncode != 0)})


def _left_after_down(which: str, folder: Path) -> Counter[str]:
    """Return what `down` of a torus, or of all, leaves below a folder of /run; processes may take a moment."""
    done = _railyard("down", which)
    _wait(lambda: not _ranks())
    return Counter(
        {
            "down that failed": int(done.returncode != 0),
            "namespaces left": len(list(netns.NETNS.glob(f"railyard.{NAME}.*"))),
            "files left in /run": len(_files(folder)),
            "processes left": len(_ranks()),
        }
    )


def _files(folder: Path) -> list[Path]:
    return list(folder.rglob("*")) if folder.exists() else []


def _launches(count: int) -> dict[str, Any]:
    """Launches of 8 ranks in a row on one torus. Other tori may be up beside it."""
    folder, program = lifecycle.RUN / NAME, [str(HALO), "--cells", "4", "--repeats", "1"]
    _railyard("up", LAUNCH_TOPOLOGY, "--name", NAME, "--rate-scale", "0.001")
    _railyard("mpirun", NAME, "-np", str(RANKS), *program)  # the first one leaves the torus's own lock
    files_before, processes_before = len(_files(folder)), len(_ranks())
    lost, void = 0, 0
    for number in range(count):
        done = _railyard("mpirun", NAME, "-np", str(RANKS), *program)
        lost += done.returncode != 0
        void += "is void" in done.stderr
        print(f"launch {number + 1} of {count}: {done.returncode}", file=sys.stderr, flush=True)
    _wait(lambda: len(_ranks()) <= processes_before)
    grown = len(_files(folder)) - files_before
    ranks = len(_ranks()) - processes_before
    left = _left_after_down(NAME, folder)
    return {
        "launches": count,
        "launches lost": lost,
        "launches void": void,
        "processes left by launches": ranks,
        "files in /run more than before": grown,
        **{f"{name}, after the launches": value for name, value in left.items()},
    }


def _ranks() -> set[int]:
    """The processes in the torus, Open MPI's daemons included, and any mpirun that still waits."""
    return netns.processes(netns.identities(netns.namespaces(NAME)))


def _machine() -> list[str]:
    """The machine's own network and settings, a line each."""
    lines = []
    for command in HOST_NETWORK:
        done = subprocess.run(command.split(), capture_output=True, text=True, check=False)
        lines += [line for line in done.stdout.splitlines() if not any(word in line for word in CHANGES)]
    return lines


def _wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + END_S
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)


def _railyard(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([RAILYARD, "torus", *arguments], capture_output=True, text=True, check=False)
