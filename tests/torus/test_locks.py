"""The launch lock: one per machine, free as soon as its holder is dead, and whoever waits for it reports that once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import CHECKOUT, HUNG_S

from railyard.errors import RunError
from railyard.torus.virtual import locks

#: Takes the lock of a folder's own machine, reports it, and holds it until its standard input ends.
HOLDER = """
import sys
from pathlib import Path
from railyard.torus.virtual import locks
locks.SHARED_FOLDERS = (Path(sys.argv[1]),)
locks.SILENT_S = 0
with locks.turn():
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOLDER, folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=CHECKOUT,
        env={name: value for name, value in os.environ.items() if name != locks.INSIDE_LAUNCH},
    )


def test_the_second_waits_reports_it_once_and_has_the_lock_when_the_first_is_killed(tmp_path: Path) -> None:
    first = holder(tmp_path)
    assert first.stdout is not None and first.stdout.readline() == "held\n"
    second = holder(tmp_path)
    assert second.stderr is not None and second.stdout is not None
    line = second.stderr.readline()
    assert line.startswith("railyard: waiting for another launch on this machine to end; held by process ")
    assert f"process {first.pid} (" in line
    first.kill()
    assert second.stdout.readline() == "held\n"
    _, errors = second.communicate(timeout=HUNG_S)
    assert errors == "" and second.returncode == 0
    first.communicate()


def test_a_lock_file_that_was_removed_meanwhile_is_not_taken_for_the_lock(tmp_path: Path) -> None:
    first = holder(tmp_path)
    assert first.stdout is not None and first.stdout.readline() == "held\n"
    second = holder(tmp_path)
    assert second.stderr is not None and second.stderr.readline()
    (tmp_path / "railyard.launch").unlink()
    third = holder(tmp_path)
    assert third.stdout is not None and third.stdout.readline() == "held\n"
    first.communicate(timeout=HUNG_S)
    assert f"process {third.pid} (" in second.stderr.readline()  # the third has the lock that counts
    third.communicate(timeout=HUNG_S)
    assert second.stdout is not None and second.stdout.readline() == "held\n"
    second.communicate(timeout=HUNG_S)


def test_every_user_can_take_a_lock_that_another_made_and_a_link_in_its_place_is_refused(
    tmp_path: Path,
) -> None:
    path = tmp_path / "railyard.launch"
    os.close(locks.open_for_all(path))
    assert path.stat().st_mode & 0o777 == 0o644
    path.chmod(0o444)
    os.close(locks.open_for_all(path))
    path.unlink()
    path.symlink_to("/etc/passwd")
    with pytest.raises(RunError, match="symbolic link"):
        locks.open_for_all(path)


def test_a_launch_within_a_launch_is_refused_instead_of_waiting_for_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "SHARED_FOLDERS", (tmp_path,))
    monkeypatch.setenv(locks.INSIDE_LAUNCH, "1")
    with pytest.raises(RunError, match="a launch within a launch"):
        locks.take_turn()


def test_the_faults_of_a_launch_come_while_it_runs_and_those_of_others_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "SHARED_FOLDERS", (tmp_path,))
    monkeypatch.delenv(locks.INSIDE_LAUNCH, raising=False)
    own, other = tmp_path / "own", tmp_path / "other"
    other.touch()
    launch = locks.acquire(own, what="")
    with locks.turn(), locks.turn_unless_held(own):
        pass  # would wait for itself for ever if it took the machine's lock
    with locks.turn_unless_held(other):
        assert locks.is_held(locks.machine_file())
    os.close(launch)
    assert not locks.is_held(own)
