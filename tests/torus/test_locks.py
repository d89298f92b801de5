"""The launch lock: one per machine, free as soon as its holder is dead, and whoever waits for it reports that once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest
from support.commands import CHECKOUT, HUNG_S

from railyard.base.errors import RunError
from railyard.torus.virtual import locks

SETTINGS = """
import sys
from pathlib import Path
from railyard.torus.virtual import locks
locks.SHARED_FOLDERS, locks.OF_ROOT = (Path(sys.argv[1]),), Path(sys.argv[1], "of-root")
locks.SILENT_S = 0
"""
#: Takes the lock of a folder's own machine, reports it, and holds it until its standard input ends.
TURN = """
with locks.turn():
    print("held", flush=True)
    sys.stdin.read()
"""
#: Takes the lock of a file, reports it and ends.
LOCK = """
locks.acquire(Path(sys.argv[1]), what="another")
print("held", flush=True)
"""


def taking(script: str, path: Path) -> subprocess.Popen[str]:
    """Start a process that takes a lock of `path`."""
    return subprocess.Popen(
        [sys.executable, "-c", SETTINGS + script, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=CHECKOUT,
        env={name: value for name, value in os.environ.items() if name != locks.INSIDE_LAUNCH},
    )


def line(pipe: IO[str] | None) -> str:
    """Return the next line that a process prints."""
    assert pipe is not None
    return pipe.readline()


def test_the_second_waits_reports_it_once_and_has_the_lock_when_the_first_is_killed(tmp_path: Path) -> None:
    first = taking(TURN, tmp_path)
    assert line(first.stdout) == "held\n"
    second = taking(TURN, tmp_path)
    told = line(second.stderr)
    assert told.startswith("railyard: waiting for another launch on this machine to end; held by process ")
    assert f"process {first.pid} (" in told
    first.kill()
    assert line(second.stdout) == "held\n"
    _, errors = second.communicate(timeout=HUNG_S)
    assert errors == "" and second.returncode == 0
    first.communicate()


def test_who_waits_is_told_the_holder_and_comes_before_who_launches_again_at_once(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    mine = locks.acquire(path, what="the first")
    waiters, told = [], []
    for _ in range(2):
        waiters.append(taking(LOCK, path))
        told.append(line(waiters[-1].stderr))
    assert all(f"held by process {os.getpid()} (" in text for text in told)
    assert f"process {waiters[0].pid} (" not in told[1]
    waiters[1].kill()
    waiters[1].communicate()
    os.close(mine)
    mine = locks.acquire(path, what="the second launch")
    assert waiters[0].communicate(timeout=HUNG_S)[0] == "held\n"
    os.close(mine)


def test_a_lock_file_that_was_removed_meanwhile_is_not_taken_for_the_lock(tmp_path: Path) -> None:
    first = taking(TURN, tmp_path)
    assert line(first.stdout) == "held\n"
    second = taking(TURN, tmp_path)
    assert line(second.stderr)
    for path in tmp_path.iterdir():
        path.unlink()
    third = taking(TURN, tmp_path)
    assert line(third.stdout) == "held\n"
    first.communicate(timeout=HUNG_S)
    assert f"process {third.pid} (" in line(second.stderr)  # the third has the lock that counts
    third.communicate(timeout=HUNG_S)
    assert line(second.stdout) == "held\n"
    second.communicate(timeout=HUNG_S)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The machine's lock file, in a folder of the test's own, for a process outside of launches."""
    monkeypatch.setattr(locks, "SHARED_FOLDERS", (tmp_path,))
    monkeypatch.setattr(locks, "OF_ROOT", tmp_path / "of-root")
    monkeypatch.delenv(locks.INSIDE_LAUNCH, raising=False)
    return locks.machine_file()


def test_every_user_can_take_a_lock_that_another_made(machine: Path) -> None:
    os.close(locks.open_for_all(machine))
    assert machine.stat().st_mode & 0o777 == 0o644
    machine.chmod(0o444)
    os.close(locks.open_for_all(machine))


@pytest.mark.parametrize(
    ("put", "reason"),
    [
        (os.mkfifo, "it is no regular file"),
        (Path.mkdir, "it is no regular file"),
        (lambda path: path.symlink_to("/etc/passwd"), "it is a symbolic link"),
    ],
)
def test_what_is_no_file_stops_no_root_and_is_an_error_for_a_user(
    machine: Path, monkeypatch: pytest.MonkeyPatch, put: Callable[[Path], None], reason: str
) -> None:
    """A FIFO of any user made root wait for ever, without a word."""
    put(machine)
    monkeypatch.setattr(locks, "_is_root", lambda: False)
    with pytest.raises(RunError, match=f"{reason}; expected .*; run as root: rm -r {machine}"):
        locks.take_turn()
    monkeypatch.setattr(locks, "_is_root", lambda: True)
    with locks.turn():
        assert machine.is_file() and not machine.is_symlink() and locks.is_held(machine)


def test_root_goes_on_beside_a_user_who_never_ends_and_waits_for_root(
    machine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(locks, "_is_root", lambda: False)
    monkeypatch.setattr(locks, "PATIENCE_S", 0.0)
    with locks.turn():
        monkeypatch.setattr(locks, "_is_root", lambda: True)
        with locks.turn():
            assert capsys.readouterr().err.startswith(
                f"railyard: no longer waiting for {locks.LAUNCH}; held by process {os.getpid()} ("
            )
            assert locks.is_held(locks.OF_ROOT)
        assert locks.is_held(machine) and not locks.is_held(locks.OF_ROOT)


def test_root_makes_a_users_lock_its_own(machine: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("gives a file to another user, as root")
    machine.touch()
    os.chown(machine, 65534, 65534)
    with locks.turn():
        assert machine.stat().st_uid == 0 and locks.is_held(machine)


@pytest.mark.usefixtures("machine")
def test_a_launch_within_a_launch_is_refused_instead_of_waiting_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(locks.INSIDE_LAUNCH, "1")
    with pytest.raises(RunError, match="a launch within a launch"):
        locks.take_turn()
