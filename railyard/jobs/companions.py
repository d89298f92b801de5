"""Run one launch of several programs: a victim, and on other nodes congestors or copies (`railyard launch-roles`).

The congestors start first. The victim starts when each has made its ready file. They load the network until the stop
file exists, which means that the victim has ended, and then end by themselves. Copies start with the victim. A
congestor that ends before the victim leaves it without its load: everything is ended at once, and the launch is void.

    launch-NNN.ROLE.out, .err   what each companion wrote
    launch-NNN.ROLE.ready       made by a congestor when it loads the network
    launch-NNN.stop             the victim has ended
    launch-NNN.roles            how the programs ended, their times, and the bytes of all NICs during the victim's time

All programs end with `railyard launch-roles`, however it ends. The files are in the stage directory, which all nodes of
a job share. On a virtual torus all launchers are one launch: they share the machine's launch lock and the guard, and
the torus counts the NICs. Elsewhere the congestors count them. Leaves out how the results are read
(`railyard.jobs.load_evidence`).
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from railyard.base.errors import InputError
from railyard.base.parent import end_with, on_signals
from railyard.jobs import schedule
from railyard.jobs.nodes import leftovers
from railyard.jobs.roles import FORMAT, PROGRAM, Role
from railyard.records.store import archive
from railyard.torus.virtual import counters, lifecycle
from railyard.torus.virtual import launch as torus_launch
from railyard.torus.virtual.launcher_process import LIMIT
from railyard.torus.virtual.lifecycle import VirtualTorus

#: Most seconds until all congestors are ready, until they end after the stop file, and after a signal that ends them.
READY_S = 300.0
STOP_S = 60.0
TIDY_S = 20.0
LOOK_S = 0.02
#: The exit status of a launch that lost its load.
VOID_STATUS = 75


#: Returns the bytes of all NICs since its last call; None if they are not counted.
Count = Callable[[], list[dict[str, Any]] | None]
#: A program's fields in the launch's file `.roles`, after its name, role and exit status.
REPORTED = ("begun_s", "ready_s", "ended_s", "starts", "forced")


class _VoidError(Exception):
    """The launch is void; the text is the reason."""


@dataclass(slots=True, kw_only=True)
class Program:
    """A program of the launch while it runs. `ready` is the file that it makes when its load is there, or None."""

    name: str
    role: str
    command: Sequence[str]
    environment: Mapping[str, str]
    ready: Path | None = None
    again: bool = False
    child: subprocess.Popen[bytes] | None = None
    begun_s: float | None = None
    ready_s: float | None = None
    ended_s: float | None = None
    starts: int = 0
    forced: bool = False

    @property
    def status(self) -> int | None:
        """Return its exit status as a shell has it; None while it runs, or if it never started."""
        code = self.child.poll() if self.child else None
        return code if code is None or code >= 0 else 128 - code

    def document(self) -> dict[str, Any]:
        """Return its entry in the launch's file `.roles`."""
        own = {"name": self.name, "role": self.role, "exit_status": self.status}
        return own | {name: getattr(self, name) for name in REPORTED}


@dataclass(slots=True, kw_only=True)
class Launch:
    """A launch of several programs in a folder. `counted` are the bytes of all NICs during the victim's time."""

    folder: Path
    stem: str
    victim: Program
    companions: Sequence[Program]
    counted: list[dict[str, Any]] | None = None
    reasons: list[str] = field(default_factory=list)
    is_ending: bool = False

    @property
    def stop(self) -> Path:
        """Return the path of the file that makes congestors end."""
        return self.folder / f"{self.stem}.stop"

    @property
    def congestors(self) -> list[Program]:
        return [program for program in self.companions if program.role == Role.CONGESTOR]

    @property
    def everyone(self) -> list[Program]:
        return [self.victim, *self.companions]


def read(folder: Path, stem: str, companions: Sequence[tuple[str, str]], victim: Sequence[str]) -> Launch:
    """Return the launch of a command line: companions as (option, `NAME=COMMAND`), and the words of the victim.

    The option `program` is any program as a congestor: it makes no ready file, and is started again when it has ended.
    Raises InputError for a companion without a name or a command, and for a repeated name.
    """
    programs: list[Program] = []
    for option, text in companions:
        name, _, command = text.partition("=")
        if not name or not command.strip() or name in {program.name for program in programs}:
            raise InputError("launch-roles", f"--{option}", text, "NAME=COMMAND, each name once")
        before, words = schedule.apart(command)
        environment = dict(word.split("=", 1) for word in shlex.split(before))
        programs.append(
            Program(
                name=name,
                role=Role.COPY if option == Role.COPY else Role.CONGESTOR,
                command=shlex.split(words),
                # The launch's limit is the measured programs'; congestors end with them.
                environment=environment if option == Role.COPY else {**environment, LIMIT: ""},
                ready=folder / f"{stem}.{name}.ready" if option == Role.CONGESTOR else None,
                again=option == PROGRAM,
            )
        )
    if not programs:
        valid = "--congestor, --program or --copy"
        raise InputError("launch-roles", "", problem="no companion of the victim", valid=valid)
    main = Program(name="victim", role="victim", command=victim, environment={})
    return Launch(folder=folder, stem=stem, victim=main, companions=programs)


def run(make: Callable[[], Launch]) -> int:
    """Run all programs of a launch, write the file `.roles`, and return the victim's exit status, or `VOID_STATUS`.

    On a virtual torus a launch that is void only because the machine was busy is run again. `make` builds a fresh
    `Launch` for each attempt. After a failure the ranks that it left on any node are ended. That ends the counters of
    the torus's guard, too, so it comes after the guard has read them.
    """
    name = os.environ.get("RAILYARD_TORUS", "")
    torus = lifecycle.read(name) if name else None
    tried: list[Launch] = []

    def once(count: Count) -> int:
        tried.append(make())
        return _run(tried[-1], count)

    def on_torus(granted: VirtualTorus) -> int:
        readings = [counters.read(granted.name, granted.topology, granted.parts)]

        def since() -> list[dict[str, Any]]:
            readings.append(counters.read(granted.name, granted.topology, granted.parts))
            return list(counters.difference(readings[-1], readings[-2]).nics(granted.topology))

        return once(since)

    status = torus_launch.run_as_one(torus, on_torus) if torus else once(lambda: None)
    launch = tried[-1]
    if any(program.forced for program in launch.everyone) or launch.reasons:
        leftovers.end_on_all_nodes(launch.folder, launch.stem)
    document = {
        "format": FORMAT,
        "reasons": launch.reasons,
        "victim": launch.victim.document(),
        "roles": [program.document() for program in launch.companions],
        "nics": launch.counted,
    }
    archive.write_whole(launch.folder / f"{launch.stem}.roles", json.dumps(document))
    for reason in launch.reasons:
        print(f"railyard: {reason}", file=sys.stderr, flush=True)
    return status


def _run(launch: Launch, count: Count) -> int:
    for program in launch.companions:
        (launch.folder / f"{launch.stem}.{program.name}.ready").unlink(missing_ok=True)
    launch.stop.unlink(missing_ok=True)

    def end(*_: object) -> None:
        """End the victim; all other programs then end before this process does."""
        launch.is_ending = True
        if launch.victim.child and launch.victim.status is None:
            launch.victim.child.terminate()

    with on_signals(end):
        try:
            _measure(launch, count)
        except _VoidError as why:
            launch.reasons.append(str(why))
        finally:
            _end_all(launch)
    if not launch.reasons:
        launch.reasons += [
            f"void: congestor {program.name} ended with status {program.status}"
            for program in launch.congestors
            if program.status and not program.again
        ]
    if launch.reasons:
        return VOID_STATUS
    copies = [program for program in launch.companions if program.role == Role.COPY]
    return next((program.status for program in (launch.victim, *copies) if program.status), 0)


def _measure(launch: Launch, count: Count) -> None:
    """Run the victim under the load of all congestors; raises _VoidError if one of them fails or ends."""
    for program in launch.congestors:
        _start(launch, program)
    until = _now() + READY_S
    while waiting := [program for program in launch.congestors if program.ready_s is None]:
        for program in waiting:
            if program.ready is None or program.ready.exists():
                program.ready_s = _now()
        _check_load(launch, "before its load was there")
        if _now() > until:
            raise _VoidError(f"void: congestor {waiting[0].name} was not ready after {READY_S:.0f} s")
        time.sleep(LOOK_S)
    count()
    for program in launch.companions:
        if program.role == Role.COPY:
            _start(launch, program)
    _start(launch, launch.victim)
    while launch.victim.status is None:
        _check_load(launch, "while the victim ran")
        time.sleep(LOOK_S)
    launch.victim.ended_s = _now()
    launch.counted = count()
    _check_load(launch, "while the victim ran")
    for program in launch.companions:
        while program.role == Role.COPY and program.status is None and not launch.is_ending:
            time.sleep(LOOK_S)


def _start(launch: Launch, program: Program) -> None:
    own = launch.folder / f"{launch.stem}.{program.name}"
    how = "ab" if program.starts else "wb"
    with contextlib.ExitStack() as files:
        out, err = None, None
        if program is not launch.victim:
            out, err = (files.enter_context(Path(f"{own}.{ending}").open(how)) for ending in ("out", "err"))
        try:
            program.child = subprocess.Popen(
                list(program.command),
                cwd=launch.folder,
                env={**os.environ, **program.environment},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                preexec_fn=functools.partial(end_with, os.getpid(), signal.SIGTERM),
            )
        except OSError as error:
            why = f"{program.command[0]}: {error.strerror}"
            raise _VoidError(f"void: {program.name} cannot be started: {why}") from error
    program.begun_s = _now() if program.begun_s is None else program.begun_s
    program.starts += 1


def _check_load(launch: Launch, when: str) -> None:
    """Raise _VoidError for a congestor that has ended, unless it is one to start again."""
    if launch.is_ending:
        raise _VoidError("void: the launch was ended from outside")
    for program in launch.congestors:
        if program.status is None:
            continue
        if program.again and program.status == 0:
            if launch.victim.ended_s is None:
                _start(launch, program)
            continue
        after = f"after {_now() - (program.begun_s or _now()):.1f} s, {when}"
        raise _VoidError(f"void: congestor {program.name} ended with status {program.status} {after}")


def _end_all(launch: Launch) -> None:
    """Make the stop file, wait for the congestors, and end those that still run by signals."""
    with contextlib.suppress(OSError):
        launch.stop.touch()
    is_lost = bool(launch.reasons) or launch.victim.status is None
    running = [program for program in launch.everyone if program.child is not None]
    for program in running:
        if program.again and program.status is None and program.child:
            program.child.terminate()
    _wait(running, 0.0 if is_lost else STOP_S)
    for number, patience_s in ((signal.SIGTERM, TIDY_S), (signal.SIGKILL, TIDY_S)):
        for program in running:
            if program.status is None and program.child:
                program.forced = program.forced or not program.again
                program.child.send_signal(number)
        _wait(running, patience_s)


def _wait(running: Sequence[Program], seconds: float) -> None:
    until = _now() + seconds
    while _now() <= until and any(program.status is None for program in running):
        time.sleep(LOOK_S)
    for program in running:
        if program.status is not None and program.ended_s is None:
            program.ended_s = _now()


def _now() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)
