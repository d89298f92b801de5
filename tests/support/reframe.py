"""Run ReFrame on the checks, with a stage and an archive of the test's own."""

from __future__ import annotations

import itertools
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from railyard.records.record import Record
from railyard.records.store import archive
from support.commands import BIN, CHECKOUT, environment, ran, variables

ReFrame = Callable[..., "subprocess.CompletedProcess[str]"]
QUICK = variables("RAILYARD_TOPOLOGY", "RAILYARD_RATE_SCALE")

#: What the reason of a failed check contains if load on this machine made a launch void.
VOID = "is void: its times may be"

CHECKS = CHECKOUT / "checks"


def reading(*arguments: str) -> list[str]:
    """Return the option by which ReFrame reads the files of the checks that arguments name by `-n`.

    All of `checks` is read where no check is named, which takes twice as long to start as one file does. Nothing is
    added where the arguments themselves name files.
    """
    if "-c" in arguments:
        return []
    named = {
        name.strip("^$")
        for before, names in itertools.pairwise(arguments)
        if before == "-n"
        for name in names.split("|")
    }
    found = {
        name: file
        for file in CHECKS.rglob("*.py")
        for name in named & set(re.findall(r"^class (\w+)\(", file.read_text(), re.MULTILINE))
    }
    chosen = sorted({*found.values()}) if named and found.keys() == named else [CHECKS]
    return [word for path in chosen for word in ("-c", str(path))]


def command(prefix: Path, *arguments: str, checks: Path = CHECKS) -> list[str]:
    where = reading(*arguments) if checks == CHECKS else ["-c", str(checks)]
    fixed = ["--prefix", str(prefix), "-C", str(CHECKOUT / "reframe.yml"), *where, "--nocolor"]
    fixed += ["--system", "vtorus:netns"]  # tests/torus/test_docker.py has the other one
    return [str(BIN / "reframe"), *fixed, *arguments]


def reframe_of(*words: object, **changes: str) -> subprocess.CompletedProcess[str]:
    """Run ReFrame with these words alone, from the checkout."""
    return ran(BIN / "reframe", "--nocolor", *words, cwd=CHECKOUT, env=environment(**changes))


def reframe_in(tmp_path: Path) -> ReFrame:
    """Run ReFrame with its own stage below tmp_path, and the archive in tmp_path/archive."""

    def run(*arguments: str, checks: Path = CHECKS, **changes: str) -> subprocess.CompletedProcess[str]:
        _, *words = command(tmp_path, *arguments, checks=checks)
        return reframe_of(*words, **{**QUICK, **changes})

    return run


def assert_passed(done: subprocess.CompletedProcess[str]) -> None:
    """Assert that every check of a run passed, but for launches that load on this machine made void.

    Such a launch was made again, as often as can be; that all were void says nothing about the checks.
    """
    reasons = re.findall(r"\* Reason: (.*)", done.stdout)
    assert all(VOID in reason for reason in reasons), done.stdout + done.stderr
    assert (done.returncode == 0) == (not reasons), done.stdout + done.stderr


def records(tmp_path: Path) -> list[Record]:
    return archive.load_all(tmp_path / "archive")


def settings(**values: object) -> list[str]:
    """Return the options that set variables of checks: `-S NAME=VALUE` for each."""
    return [word for name, value in values.items() for word in ("-S", f"{name}={value}")]


def into(tmp_path: Path) -> list[str]:
    return settings(archive=tmp_path / "archive")


def third_launch_waits(go: Path) -> str:
    """Return a `-S` word: the launches after the second wait for a file, so none ends before a test did its part."""
    waits = f"until test ! -e launch-001.ended -o -e {go}; do sleep 0.1; done"
    return "preparations=" + "; ".join(
        f'{launcher}() {{ {waits}; command {launcher} "$@"; }}' for launcher in ("timeout", "mpirun")
    )
