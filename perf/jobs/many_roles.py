"""Launches of several programs at once: what a killed congestor does, and what many launches in a row leave behind.

    python -m perf.jobs.many_roles kills [--count 20]       a victim and two congestors, of which one loses a process
    python -m perf.jobs.many_roles launches [--count 50]    launches with three roles in a job of ReFrame, on mpirun
    python -m perf.jobs.many_roles slurm [--count 50]       the same in a job of Slurm on a virtual torus, by srun
    python -m perf.jobs.many_roles slurm-mpirun [--count 50]    the same by mpirun in that job
    python -m perf.jobs.many_roles copies [--count 50]      a machine filled with four copies, on mpirun

A kill sends SIGKILL at a random moment of the victim's time to a random rank or launcher of a random congestor. The
launch must end with the exit status and the words of a void one, and no process may stay. Of the launches in a row
every record is read: exit status, roles, proved loads, messages about ports. Meanwhile all processes that work in the
job's folder are listed: one that belongs to a launch that has ended is a stray.

`--keep FILE` holds every kill, and every job of five launches: a call that `--minutes M` ended early goes on next time.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from perf.pieces import Pieces, Row, options
from perf.torus import shared_links
from perf.torus.shared_links import Case, Congestor, Place
from railyard.base.checkout import BUILD, CHECKOUT
from railyard.jobs import roles
from railyard.jobs.together import VOID_STATUS
from railyard.records.record import Record
from railyard.records.store import archive
from railyard.torus.virtual import lifecycle

BIN = Path(sys.executable).parent
KILLS, LAUNCHES, SEED = 20, 50, 24
#: Launches with several roles of one job.
OF_A_JOB = 5
TORUS = "bench-roles"
#: Seconds within which the processes of an ended launch must be gone, and which a launch may take. A launch waits for
#: those of other programs on this machine.
GONE_S, LONGEST_S = 20.0, 400.0
PORTS = re.compile(r"address already in use|bind\(\)? failed|port .*(in use|unavailable)", re.IGNORECASE)
THREE_ROLES = ("-n", "^congestion_smoke$", "-S", "loads=incast.permutation", "-S", "repeats=20")
COPIES = ("-n", "^congestion_copies$", "-S", "cells=4", "-S", "repeats=2")
console = Console(width=120)


# ---- kills ----


def kills(count: int, pieces: Pieces) -> None:
    """Kill a process of a congestor in so many launches; those that are kept are not repeated."""
    if missing := [number for number in range(count) if pieces.get(number) is None]:
        with shared_links.ring() as torus, tempfile.TemporaryDirectory() as temporary:
            for number in missing:
                if pieces.is_over:
                    break
                row = pieces.add(_kill(Place(torus=torus, folder=Path(temporary)), number), number)
                console.print(f"kill {number + 1} of {count}: {row}")
    done = pieces.rows
    figures = {
        "kills": len(done),
        "launches that are void": sum(each["void"] for each in done),
        "launches whose line names a congestor": sum(each["named"] for each in done),
        "processes left": sum(each["left"] for each in done),
    }
    _print("kills of a congestor", figures)


def _kill(place: Place, number: int) -> dict[str, Any]:
    folder = place.folder
    chance = random.Random(SEED + number)
    patterns = chance.sample(sorted(roles.PATTERNS), 2)
    load = (
        Congestor(pattern=patterns[0], at=(4, 2), window=2),
        Congestor(pattern=patterns[1], at=(5, 6, 7), window=2),
    )
    stem = f"kill-{number}"
    victim = shared_links.victim_line(folder, stem, repeats=100_000)
    process = shared_links.started(place, stem, Case(name=stem, load=load), victim)
    try:
        _await(lambda: len(working(folder, "pt2pt")) == len(shared_links.VICTIM), "the victim")
        time.sleep(chance.uniform(0, 2))
        name = chance.choice(["congestor", "congestor", "mpirun"])
        own = [pid for pid, words in working(folder, name).items() if f"{stem}.load-" in " ".join(words)]
        os.kill(chance.choice(sorted(own)), signal.SIGKILL)
        _, err = process.communicate(timeout=LONGEST_S)
    finally:
        process.kill()
    line = next((line for line in err.splitlines() if line.startswith("railyard: void: ")), "")
    return {
        "killed": name,
        "patterns": patterns,
        "void": process.returncode == VOID_STATUS and "while the victim ran" in line,
        "named": "congestor load-" in line,
        "left": _left(folder),
    }


def _left(folder: Path) -> int:
    until = time.monotonic() + GONE_S
    while (left := len(working(folder))) and time.monotonic() < until:
        time.sleep(0.1)
    return left


def _await(condition: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + LONGEST_S
    while not condition():
        if time.monotonic() > until:
            raise SystemExit(f"perf: waited in vain for {what}")
        time.sleep(0.05)


def working(folder: Path, program: str = "") -> dict[int, list[str]]:
    """Return the processes that work in a folder, or those of one program there: number -> words.

    Debian's launcher has the name of its MPI behind a full stop.
    """
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_text(errors="replace").split("\0")
            if (path / "cwd").resolve() == folder and program in ("", Path(words[0]).name.partition(".")[0]):
                found[int(path.name)] = words
        except OSError:
            continue
    return found


# ---- launches in a row ----


class Strays(threading.Thread):
    """Looks all the time for processes that belong to launches of a job which have ended; `found` are their words."""

    def __init__(self, stage: Path) -> None:
        super().__init__(daemon=True)
        self.stage, self.found, self.looks = stage, dict[int, str](), 0
        self.is_over = threading.Event()
        self._seen: Counter[int] = Counter()

    def run(self) -> None:
        """Look until the job is over."""
        while not self.is_over.wait(0.2):
            self._look()

    def _look(self) -> None:
        self.looks += 1
        ended = {path.name.split(".")[0] for path in self.stage.glob("**/launch-*.ended")}
        seen = {pid: words for path in self._folders() for pid, words in working(path).items()}
        # `railyard strays` ends what a launch left, so it comes after the launch.
        now = {pid: " ".join(words) for pid, words in seen.items() if "strays" not in words}
        late = {pid for pid, words in now.items() if set(re.findall(r"launch-\d+", words)) & ended}
        self._seen = Counter({pid: self._seen[pid] + 1 for pid in late})
        # A process that is going takes a moment.
        self.found |= {pid: now[pid] for pid, times in self._seen.items() if times > 10}

    def _folders(self) -> list[Path]:
        return sorted({path.parent.resolve() for path in self.stage.glob("**/launch-*.begun")})


def launches(count: int, options: Sequence[str], system: str, pieces: Pieces) -> None:
    """Run jobs of a check whose launches have several roles, `count` launches in all, and print what went wrong."""
    for number in range(-(-count // OF_A_JOB)):
        if pieces.is_over:
            break
        if pieces.get(number) is None:
            row = pieces.add(_job(min(OF_A_JOB, count - number * OF_A_JOB), options, system), number)
            console.print(f"job {number + 1}: {row}")
    _print(f"launches in a row, {system}", total(pieces.rows))


def total(jobs: Sequence[Row]) -> dict[str, Any]:
    """Return the sums of the jobs' figures; of lists all that they name."""
    figures: dict[str, Any] = {"jobs": len(jobs)}
    for name in jobs[0] if jobs else ():
        values = [job[name] for job in jobs]
        is_list = isinstance(values[0], list)
        figures[name] = sorted({each for value in values for each in value}) if is_list else sum(values)
    return figures


def _job(count: int, options: Sequence[str], system: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir=BUILD) as temporary:
        folder = Path(temporary)
        strays = Strays(folder / "stage")
        strays.start()
        done = _reframe(folder, options, count, system)
        strays.is_over.set()
        strays.join()
        records = archive.load_all(folder / "archive")
        errors = "\n".join(path.read_text(errors="replace") for path in folder.glob("**/launch-*.err"))
        figures = _counts(records, errors)
        figures |= {"strays seen": len(strays.found), "looks for strays": strays.looks}
        figures |= {"processes left in the end": sum(len(working(path)) for path in folder.glob("stage/**/"))}
        for words in strays.found.values():
            console.print(f"stray: {words[:300]}")
    if not records:
        raise SystemExit(f"perf: no record: {done[-3000:]}")
    return figures


def _reframe(folder: Path, options: Sequence[str], count: int, system: str) -> str:
    words = [
        str(BIN / "reframe"),
        "-C",
        str(CHECKOUT / "reframe.yml"),
        "-c",
        str(CHECKOUT / "checks"),
        "--nocolor",
    ]
    words += ["--system", system, "--prefix", str(folder), "--keep-stage-files", "-r", *options]
    words += ["-S", f"launches={count}", "-S", f"archive={folder}/archive", "-S", "launch_limit_s=300"]
    if system != "vtorus:netns":
        words = [str(BIN / "railyard"), "torus", "exec", TORUS, "head", "--", *words]
    done = subprocess.run(words, capture_output=True, text=True, cwd=CHECKOUT, check=False)
    return done.stdout + done.stderr


def _counts(records: Sequence[Record], errors: str) -> dict[str, Any]:
    every = [launch for record in records for launch in record.launches]
    loaded = [launch for launch in every if launch.roles]
    several = [role for launch in loaded for role in launch.roles or ()]
    return {
        "launches": len(every),
        "with several roles": len(loaded),
        "roles of such a launch, the victim included": sorted(
            {1 + len(launch.roles or ()) for launch in loaded}
        ),
        "launches that failed": sum(launch.status != "ok" for launch in every),
        "why": sorted({launch.reason for launch in every if launch.reason}),
        "launches that the guard voids": sum(
            launch.guard is not None and launch.guard.verdict == "void" for launch in every
        ),
        "roles that failed": sum(role.status != "ok" for role in several),
        "congestors whose NICs sent nothing": sum(
            role.role == "congestor" and not sum(nic.tx_bytes for nic in role.nics or ()) for role in several
        ),
        "lines about ports": len(PORTS.findall(errors)),
    }


def _on_slurm(count: int, system: str, pieces: Pieces) -> None:
    words = ["torus", "up", "gemini-2x2x2", "--name", TORUS, "--rate-scale", "0.00025", "--slurm"]
    subprocess.run([str(BIN / "railyard"), *words], check=True, stdout=subprocess.DEVNULL)
    os.environ["RAILYARD_TORUS"] = TORUS
    try:
        launches(count, THREE_ROLES, system, pieces)
    finally:
        lifecycle.down(TORUS)


def _print(title: str, figures: Mapping[str, Any]) -> None:
    table = Table("figure", "", title=title)
    for name, value in figures.items():
        table.add_row(name, str(value))
    console.print(table)


def main() -> None:
    """Run the part that is named."""
    parser = argparse.ArgumentParser(
        prog="python -m perf.jobs.many_roles", description="several programs at once"
    )
    parts = ["kills", "launches", "slurm", "slurm-mpirun", "copies"]
    parser.add_argument("part", choices=parts, help="what to run")
    parser.add_argument("--count", type=int, default=0, help="kills or launches (default: 20 or 50)")
    parser.add_argument("--keep", type=Path, help="file of what is done (default: in build)")
    options(parser)
    asked = parser.parse_args()
    # A limit ends this with a signal: what is up then comes down.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    pieces = Pieces(asked.keep or BUILD / f"many-roles-{asked.part}.jsonl", asked.minutes)
    match asked.part:
        case "kills":
            kills(asked.count or KILLS, pieces)
        case "launches":
            launches(asked.count or LAUNCHES, THREE_ROLES, "vtorus:netns", pieces)
        case "copies":
            launches(asked.count or LAUNCHES, COPIES, "vtorus:netns", pieces)
        case _:
            _on_slurm(asked.count or LAUNCHES, f"vtorus:{asked.part}", pieces)


if __name__ == "__main__":
    main()
