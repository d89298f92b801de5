"""One launch of several programs: a victim, and on other nodes congestors or copies of it (`railyard together`).

The congestors start first. The victim starts when each has said that its load is there (a file). They go on until the
victim has ended (the stop file) and end by themselves. Copies start with the victim. A congestor that ends before the
victim leaves it without its load: everything is ended at once, and the launch is void.

    launch-NNN.ROLE.out, .err   what each companion wrote
    launch-NNN.ROLE.ready       a congestor's word that its load is there
    launch-NNN.stop             the victim has ended
    launch-NNN.roles            how the programs ended, their times, and the bytes of all NICs during the victim's time

All programs end with `railyard together`, however it ends. The files are in the stage directory, which all nodes of a
job share. On a virtual torus all launchers are one launch: they share the machine's launch lock and the guard, and the
torus counts the NICs. Elsewhere the congestors count them. Leaves out: what became of the load
(`railyard.jobs.beside`).
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from railyard.base.errors import InputError
from railyard.base.parent import end_with
from railyard.jobs.nodes import strays
from railyard.jobs.roles import PROGRAM, Role
from railyard.jobs.schedule import ASSIGNMENTS
from railyard.records.store import archive
from railyard.torus.virtual import counters, launch, lifecycle
from railyard.torus.virtual.lifecycle import VirtualTorus

FORMAT = "railyard-roles/1"
#: Seconds in which a load must be there, in which congestors must end by themselves, and in which ended ones may tidy.
READY_S = 300.0
STOP_S = 60.0
TIDY_S = 20.0
LOOK_S = 0.02
#: The exit status of a launch that lost its load.
VOID_STATUS = 75


#: Gives the bytes of all NICs since its last call; None where nobody counts them.
Count = Callable[[], list[dict[str, Any]] | None]


class _VoidError(Exception):
    """The launch is void; the text says why."""


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
        """Its exit status, as a shell gives it; None while it runs, or where it never started."""
        code = self.child.poll() if self.child else None
        return code if code is None or code >= 0 else 128 - code

    def document(self) -> dict[str, Any]:
        """Return what the launch's file says of it."""
        return {
            "name": self.name,
            "role": self.role,
            "exit_status": self.status,
            "begun_s": self.begun_s,
            "ready_s": self.ready_s,
            "ended_s": self.ended_s,
            "starts": self.starts,
            "forced": self.forced,
        }


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
        """The file that tells congestors that the victim has ended."""
        return self.folder / f"{self.stem}.stop"

    @property
    def congestors(self) -> list[Program]:
        return [each for each in self.companions if each.role == Role.CONGESTOR]

    @property
    def everyone(self) -> list[Program]:
        return [self.victim, *self.companions]


def read(folder: Path, stem: str, companions: Sequence[tuple[str, str]], victim: Sequence[str]) -> Launch:
    """Return the launch that a command line says: companions as (option, `NAME=COMMAND`), the victim's words.

    The option `program` means any program as a congestor: it says nothing when it is ready, and starts again when it
    has ended. Raises InputError for a companion without a name or a command, and for a name given twice.
    """
    made: list[Program] = []
    for option, text in companions:
        name, _, command = text.partition("=")
        if not name or not command.strip() or name in {each.name for each in made}:
            raise InputError("together", f"--{option}", text, "NAME=COMMAND, each name once")
        words, environment = taken_apart(command)
        made.append(
            Program(
                name=name,
                role=Role.COPY if option == Role.COPY else Role.CONGESTOR,
                command=words,
                environment=environment,
                ready=folder / f"{stem}.{name}.ready" if option == Role.CONGESTOR else None,
                again=option == PROGRAM,
            )
        )
    if not made:
        raise InputError(
            "together", "", problem="nothing beside the victim", valid="--congestor, --program or --copy"
        )
    main = Program(name="victim", role="victim", command=victim, environment={})
    return Launch(folder=folder, stem=stem, victim=main, companions=made)


def taken_apart(command: str) -> tuple[list[str], dict[str, str]]:
    """Return a command's words and the variables that it sets before them."""
    found = ASSIGNMENTS.match(command)
    before = found[0] if found else ""
    variables = dict(word.split("=", 1) for word in shlex.split(before))
    return shlex.split(command[len(before) :]), variables


def run(make: Callable[[], Launch]) -> int:
    """Run all programs of a launch and write what became of them; the victim's exit status, or `VOID_STATUS`.

    On a virtual torus a launch that load alone made void is run again, as a launch of one program is; `make` gives the
    launch anew.
    """
    name = os.environ.get("RAILYARD_TORUS", "")
    torus = lifecycle.read(name) if name else None
    tried: list[Launch] = []

    def once(count: Count) -> int:
        tried.append(make())
        return _run(tried[-1], count)

    def on_torus(granted: VirtualTorus) -> int:
        return once(_counter(granted))

    status = launch.together(torus, on_torus) if torus else once(lambda: None)
    _finish(tried[-1])
    return status


def _counter(torus: VirtualTorus) -> Count:
    """Return a function that gives the bytes of all NICs of a torus since its last call."""
    before = counters.read(torus.name, torus.topology)

    def since() -> list[dict[str, Any]]:
        nonlocal before
        now = counters.read(torus.name, torus.topology)
        counted = counters.difference(now, before)
        before = now
        return list(counted.nics(torus.topology))

    return since


def _run(found: Launch, count: Count) -> int:
    for each in found.companions:
        (found.folder / f"{found.stem}.{each.name}.ready").unlink(missing_ok=True)
    found.stop.unlink(missing_ok=True)
    with _signals(found):
        try:
            _measure(found, count)
        except _VoidError as why:
            found.reasons.append(str(why))
        finally:
            _end_all(found)
    if not found.reasons:
        found.reasons += [
            f"void: congestor {each.name} ended with status {each.status}"
            for each in found.congestors
            if each.status and not each.again
        ]
    return VOID_STATUS if found.reasons else _status(found)


def _finish(found: Launch) -> None:
    """Write what became of a launch, and end what it left on any node if it went wrong.

    That ends the counters of the torus's guard, too, so it comes when the guard has seen the launch.
    """
    if any(each.forced for each in found.everyone) or found.reasons:
        strays.end_on_all_nodes(found.folder, found.stem, os.environ)
    _write(found)
    for reason in found.reasons:
        print(f"railyard: {reason}", file=sys.stderr, flush=True)


def _status(found: Launch) -> int:
    """Return the victim's exit status, or that of the first copy that failed."""
    of_copies = [each.status or 0 for each in found.companions if each.role == Role.COPY]
    return next((status for status in [found.victim.status or 0, *of_copies] if status), 0)


def _measure(found: Launch, count: Count) -> None:
    """Run the victim while the load is there; raises _VoidError where it is not."""
    for each in found.congestors:
        _start(found, each)
    _wait_for_load(found)
    count()
    for each in found.companions:
        if each.role == Role.COPY:
            _start(found, each)
    _start(found, found.victim)
    while found.victim.status is None:
        _check_load(found, "while the victim ran")
        time.sleep(LOOK_S)
    found.victim.ended_s = _now()
    found.counted = count()
    _check_load(found, "while the victim ran")
    for each in found.companions:
        while each.role == Role.COPY and each.status is None and not found.is_ending:
            time.sleep(LOOK_S)


def _start(found: Launch, each: Program) -> None:
    own = found.folder / f"{found.stem}.{each.name}"
    how = "ab" if each.starts else "wb"
    with contextlib.ExitStack() as files:
        written = (
            {}
            if each is found.victim
            else {
                "stdout": files.enter_context(Path(f"{own}.out").open(how)),
                "stderr": files.enter_context(Path(f"{own}.err").open(how)),
            }
        )
        try:
            each.child = subprocess.Popen(
                list(each.command),
                cwd=found.folder,
                env={**os.environ, **each.environment},
                stdin=subprocess.DEVNULL,
                stdout=written.get("stdout"),
                stderr=written.get("stderr"),
                preexec_fn=functools.partial(end_with, os.getpid(), signal.SIGTERM),
            )
        except OSError as error:
            raise _VoidError(
                f"void: {each.name} cannot be started: {each.command[0]}: {error.strerror}"
            ) from error
    each.begun_s = _now() if each.begun_s is None else each.begun_s
    each.starts += 1


def _wait_for_load(found: Launch) -> None:
    until = _now() + READY_S
    while waiting := [each for each in found.congestors if each.ready_s is None]:
        for each in waiting:
            if each.ready is None or each.ready.exists():
                each.ready_s = _now()
        _check_load(found, "before its load was there")
        if _now() > until:
            raise _VoidError(f"void: congestor {waiting[0].name} was not ready after {READY_S:.0f} s")
        time.sleep(LOOK_S)


def _check_load(found: Launch, when: str) -> None:
    """Raise _VoidError for a congestor that has ended; start those again that are to go on."""
    if found.is_ending:
        raise _VoidError("void: the launch was ended from outside")
    for each in found.congestors:
        if each.status is None:
            continue
        if each.again and each.status == 0:
            if found.victim.ended_s is None:
                _start(found, each)
            continue
        after = _now() - (each.begun_s or _now())
        raise _VoidError(
            f"void: congestor {each.name} ended with status {each.status} after {after:.1f} s, {when}"
        )


def _end_all(found: Launch) -> None:
    """Tell the congestors to end, wait for them, and end whoever does not."""
    with contextlib.suppress(OSError):
        found.stop.touch()
    is_lost = bool(found.reasons) or found.victim.status is None
    running = [each for each in found.everyone if each.child is not None]
    for each in running:
        if each.again and each.status is None and each.child:
            each.child.terminate()
    _wait(running, 0.0 if is_lost else STOP_S)
    for number, patience_s in ((signal.SIGTERM, TIDY_S), (signal.SIGKILL, TIDY_S)):
        for each in running:
            if each.status is None and each.child:
                each.forced = each.forced or not each.again
                each.child.send_signal(number)
        _wait(running, patience_s)


def _wait(running: Sequence[Program], seconds: float) -> None:
    until = _now() + seconds
    while _now() <= until and any(each.status is None for each in running):
        time.sleep(LOOK_S)
    for each in running:
        if each.status is not None and each.ended_s is None:
            each.ended_s = _now()


@contextlib.contextmanager
def _signals(found: Launch) -> Iterator[None]:
    """Let a signal that ends this process, such as that of a time limit, end all programs first."""

    def end(*_: object) -> None:
        found.is_ending = True
        if found.victim.child and found.victim.status is None:
            found.victim.child.terminate()

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, end) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _write(found: Launch) -> None:
    document = {
        "format": FORMAT,
        "reasons": found.reasons,
        "victim": found.victim.document(),
        "roles": [each.document() for each in found.companions],
        "nics": found.counted,
    }
    archive.write_whole(found.folder / f"{found.stem}.roles", json.dumps(document), replace=True)


def _now() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)
