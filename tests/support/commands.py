"""Find the checkout and its virtual environment, and run commands in it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from railyard.base.checkout import CHECKOUT as CHECKOUT

BIN = Path(sys.executable).parent
TESTS = CHECKOUT / "tests"
#: After this time a command has hung. No test judges how long a command takes: the machine may be busy.
HUNG_S = 900.0

OF_OTHERS = ("railyard: waiting for another ", "railyard: removed torus job")

#: Every variable that tests set for what they start, and why. A user can set each of them, to the same effect.
VARIABLES = {
    "RAILYARD_ATTEMPTS": "9",  # the rule for a launch that load made void: it is made again, as often as can be
    "RAILYARD_TOPOLOGY": "gemini-2x2x2",  # of jobs: the path through a small torus is that through a large one
    "RAILYARD_RATE_SCALE": "0.0001",  # of jobs: what `auto` is at most there, so a small machine need not be measured
    "HWLOC_COMPONENTS": "-pci,-linuxio",  # of ranks without a torus: as every launch on a torus has it (docs/torus.md)
    "HWLOC_PLUGINS_PATH": os.devnull,  # the same
}

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def environment(**changes: str) -> dict[str, str]:
    """Return this process's environment with the tests' virtual environment first on the PATH.

    A job's launch that load on this machine made void is made again, as often as can be: no test's verdict may depend
    on an idle machine.
    """
    own = {"PATH": f"{BIN}:{os.environ['PATH']}", **variables("RAILYARD_ATTEMPTS")}
    return {**os.environ, **own, **changes}


def variables(*names: str) -> dict[str, str]:
    """Return some of the variables that tests set."""
    return {name: VARIABLES[name] for name in names}


def executable(path: Path, text: str) -> Path:
    """Write a script that can be run, in a folder that is made and in place of a link; return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def program(folder: Path, name: str, text: str) -> Path:
    """Write a script of the shell, in a folder that is made; return its path."""
    return executable(folder / name, f"#!/bin/sh\n{text}\n")


def ran(
    *words: object, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Return the output and status of a command; `env` are variables in addition to those of this process."""
    return subprocess.run(
        list(map(str, words)),
        capture_output=True,
        text=True,
        timeout=HUNG_S,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        check=False,
    )


def started(words: list[str], environment: dict[str, str], timeout_s: float) -> subprocess.CompletedProcess[str]:
    """Return the output and status of `railyard WORDS...`, started by its script."""
    return subprocess.run(
        [BIN / "railyard", *words], capture_output=True, text=True, timeout=timeout_s, env=environment, check=False
    )


def in_checkout(
    words: Sequence[str | Path], cwd: Path = CHECKOUT, /, **changes: str
) -> subprocess.CompletedProcess[str]:
    """Return the output and status of a command in the checkout or `cwd`; `changes` are those of the environment."""
    return ran(*words, cwd=cwd, env=environment(**changes))


def tracked(*patterns: str) -> list[str]:
    """Return the paths of the files in git, from the checkout; with patterns, of those that match one."""
    done = ran("git", "ls-files", *patterns, cwd=CHECKOUT)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def refused(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """Assert that a command refused its input in one line of standard error, which has all the words."""
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
    assert all(word in done.stderr for word in words), done.stderr


def without_waits(errors: str) -> str:
    """Return what a command wrote on standard error without what it reports of others on this machine.

    It may wait for their launches, and remove the torus of a job that was killed.
    """
    lines = errors.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(OF_OTHERS))


def command_lines() -> list[str]:
    """Return the command line of every process of this machine, its words separated by blanks."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # a process that has ended meanwhile
            found.append((path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return found
