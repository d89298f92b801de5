"""Evaluate a test's functions for each launch, write what they return, and report how many launches have ended.

Models: a launch's output takes the place of the job's while the functions run, so they need not know of launches; the
files that the launch wrote are back in their places. The result is the launch's file `.left`, which
`railyard.applications.launch` reads. While ReFrame waits without a word, a thread reads the launches' files at
intervals; ReFrame's own logger is not for threads. Leaves out: when that happens (`railyard.placed.mixin`).
"""

from __future__ import annotations

import functools
import json
import math
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import reframe.utility.osext as osext
import reframe.utility.sanity as sn
from reframe.core.exceptions import ReframeError

from railyard.base.json_files import json_object
from railyard.jobs.job import job_folder
from railyard.jobs.job.submitted import Planned
from railyard.records import units
from railyard.records.units import Better, Fom

#: The figure of a test without a performance variable: the time of its launch, without its wait for other launches.
WALL_TIME = units.fom("elapsed_s", "s", "lower")
#: What `reframe --repeat` adds to a test's name.
REPETITION = ".repeat_no="
#: What a function of a test raises for an output that it does not expect.
FAULTS = (*(ReframeError, OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError), AssertionError)


def variant(name: str) -> dict[str, str]:
    """Return the parameters in a test's name, such as `osu %build.type=cpu`, by names that a record can have.

    The number of a repetition is none: repeated jobs are of one case.
    """
    parts = [part.partition("=") for part in name.split(" %")[1:] if not part.startswith(REPETITION)]
    return {re.sub(r"[^a-z0-9_]+", "_", key.lower()).lstrip("_0123456789"): value for key, _, value in parts}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A performance variable of a test: its name and unit there, how to evaluate it, and the figure of a record."""

    name: str
    unit: str
    evaluate: Callable[[], Any]
    fom: Fom


def recorded(name: str, unit: str, better: str = "") -> Fom:
    """Return a test's variable as a record declares it; its unit is `count` if the test's is not registered.

    Without a direction, which only references have, that of the unit applies: times are better if lower, rates if
    higher.
    """
    stem = re.sub(r"[^a-z0-9_]+", "_", name.lower()).strip("_")
    stem = stem if stem[:1].isalpha() else f"figure_{stem}"
    registered = suffix(unit)
    name = stem if stem.endswith(f"_{registered}") else f"{stem}_{registered}"
    measures = units.fom(name, registered, Better.NEITHER).unit.measures
    usual = Better.LOWER if measures == "time" else Better.HIGHER if "rate" in measures else Better.NEITHER
    return units.fom(name, registered, better or usual)


def suffix(unit: str) -> str:
    """Return the registered name of a unit's text, such as `mbyte_s` for MB/s; `count` for one that is unknown.

    Spellings are exact, because Mb and MB differ. IMB's `t[usec]` has its unit in brackets.
    """
    registered = units.find(re.sub(r".*\[(.+)\]", r"\1", unit.strip()).replace("μ", "µ"))
    return registered.name if registered else "count"


def unknown(own: Sequence[Figure]) -> list[str]:
    """Return the variables with a unit that is not registered, each with that unit."""
    return [
        f"{figure.name}: {figure.unit!r}"
        for figure in own
        if figure.unit.strip() and suffix(figure.unit) == "count" and not units.find(figure.unit)
    ]


def performance_variables(test: Any) -> list[Figure]:
    """Return the performance variables of a test, of either of ReFrame's two forms.

    Of names that differ only in letters which a record's names cannot have, the later ones get a number.
    """
    own: dict[Fom, Figure] = {}
    patterns = getattr(test, "perf_patterns", None) or {}
    for name, expr in {**test.perf_variables, **patterns}.items():
        entry, better = _reference(test, name), ""
        if len(entry) > 2 and (entry[1] is None) != (entry[2] is None):  # a bound on one side alone is a direction
            better = Better.LOWER if entry[1] is None else Better.HIGHER
        if name in patterns:
            unit, evaluate = str(entry[3] or "") if len(entry) > 3 else "", functools.partial(sn.evaluate, expr)
        else:
            unit, evaluate = expr.unit, expr.evaluate
        fom, number = recorded(name, unit, better), 1
        while fom in own:
            number += 1
            fom = recorded(f"{name} {number}", unit, better)
        own[fom] = Figure(name=name, unit=unit, evaluate=evaluate, fom=fom)
    return list(own.values())


def _reference(test: Any, name: str) -> Sequence[Any]:
    """Return a variable's reference: value, lower and upper bound, unit; empty if it has none.

    That of an expected failure, `xfail(MESSAGE, REFERENCE)`, is its second part.
    """
    here, system = test.current_partition.fullname, test.current_system.name
    for scope in (f"{here}:{name}", f"{system}:{name}", f"*:{name}"):
        try:
            entry = test.reference[scope]
        except (KeyError, TypeError):
            continue
        return tuple(getattr(entry, "data", entry))
    return ()


@contextmanager
def output_of(test: Any, launch: Planned) -> Iterator[None]:
    """Let a launch's output and files take the place of the job's."""
    job, folder = test.job, Path(test.stagedir)
    own = job._stdout, job._stderr  # ReFrame has no other way
    if (copies := folder / f"{launch.stem}.files").is_dir():
        shutil.copytree(copies, folder, dirs_exist_ok=True)
    job._stdout, job._stderr = f"{launch.stem}.out", f"{launch.stem}.err"
    try:
        with osext.change_dir(str(folder)):
            yield
    finally:
        job._stdout, job._stderr = own


def fault(test: Any, launch: Planned) -> str:
    """Return why the test's own sanity function rejects a launch, in one line; empty if it accepts it."""
    own = getattr(test, "_rfm_sanity", None)
    with output_of(test, launch):
        try:
            accepted = sn.evaluate(own() if own else test.sanity_patterns)
        except FAULTS as error:
            return " ".join(f"sanity: {error}".split())
    return "" if accepted else "sanity: its function is false"


def values(test: Any, launch: Planned, own: Sequence[Figure]) -> dict[Fom, float]:
    """Return the performance variables of a launch, without those that it does not give."""
    taken: dict[Fom, float] = {}
    with output_of(test, launch):
        for figure in own:
            with suppress(*FAULTS):
                value = float(figure.evaluate())
                taken |= {figure.fom: value} if math.isfinite(value) else {}
    return taken


def write(folder: Path, launch: Planned, why: str, taken: Mapping[Fom, float]) -> None:
    """Write what the functions returned for a launch."""
    figures = {str(fom): {**fom.document(), "value": value} for fom, value in taken.items()}
    (folder / f"{launch.stem}.left").write_text(json.dumps({"fault": why, "figures": figures}))


#: Seconds between two lines: on a terminal, and in a file or a pipe.
TERMINAL_S, FILE_S = 10.0, 60.0


def watch(name: str, job: Any, folder: Path, launches: int, *, interval_s: float | None = None) -> threading.Thread:
    """Print a line per interval until ReFrame's `job` has finished or all of its launches have ended."""
    pause_s = interval_s or (TERMINAL_S if sys.stderr.isatty() else FILE_S)

    def report() -> None:
        done = 0
        while done < launches and not (job.jobid is not None and job.scheduler.finished(job)):
            time.sleep(pause_s)
            done = len(_files(folder, "ended"))
            begun_s = [path.stat().st_mtime for path in _files(folder, "begun")]
            if done < launches and begun_s:
                waited_s = sum(job_folder.waited_s(json_object(path)) for path in _files(folder, "evidence"))
                text = line(name, done, launches, max(0.0, time.time() - min(begun_s)), waited_s=waited_s)
                print(text, file=sys.stderr, flush=True)

    thread = threading.Thread(target=report, daemon=True, name=f"progress of {name}")
    thread.start()
    return thread


def line(name: str, done: int, launches: int, elapsed_s: float, *, waited_s: float = 0.0) -> str:
    """Return the number of launches that have ended, the time since the first began, and the time that is left.

    At least a second of waiting for other launches on the machine is shown.
    """
    waited = f" ({_duration(waited_s)} of it waiting for other launches on this machine)" if waited_s >= 1 else ""
    left = f", about {_duration(elapsed_s / done * (launches - done))} left" if done else ""
    return f"{name}: {done} of {launches} launches ended in {_duration(elapsed_s)}{waited}{left}"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _files(folder: Path, ending: str) -> list[Path]:
    """Return the files of launches, not those of their companions; a job of several MPIs has a folder for each."""
    paths = [*folder.glob(f"launch-*.{ending}"), *folder.glob(f"*/launch-*.{ending}")]
    return [path for path in paths if "." not in path.stem]
