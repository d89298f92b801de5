"""An archive that several processes and users add to, on file systems with locks and on those without."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from support import synthetic
from support.nobody import NOBODY

from railyard.base.errors import InputError, RunError
from railyard.records.store import archive, exclusive, sessions


def without_flock(*_: object) -> NoReturn:
    raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))


def test_without_flock_a_chain_is_kept_by_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As on Lustre, whose default mount has no flock."""
    monkeypatch.setattr("fcntl.flock", without_flock)
    made = synthetic.halo()
    with sessions.opened(tmp_path, "s") as chain:
        (mark,) = tmp_path.glob(".sessions/*.lock")
        chain.add("a" * 32, made)
    assert not mark.exists() and "without flock" in capsys.readouterr().err
    with sessions.opened(tmp_path, "s") as chain:
        assert chain.place("b" * 32) == sessions.Place(number=1, previous=made.sha256)


def test_a_lock_of_a_killed_process_is_removed_and_one_of_a_live_process_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("fcntl.flock", without_flock)
    ended = subprocess.Popen(["true"])
    ended.wait()
    path, mark = tmp_path / "s", tmp_path / "s.lock"
    mark.write_text(f"{os.uname().nodename} {ended.pid}\n")
    with path.open("a+") as file, exclusive.held(file, path):
        assert mark.read_text().split()[1] == str(os.getpid())
    monkeypatch.setattr(exclusive, "REPORTED_S", 0.0)
    monkeypatch.setattr(exclusive, "LONGEST_S", 0.1)
    mark.write_text(f"{os.uname().nodename} {os.getppid()}\n")
    with path.open("a+") as file, pytest.raises(RunError, match="remove it"), exclusive.held(file, path):
        pass
    assert mark.exists() and "railyard: waiting for" in capsys.readouterr().err


def test_a_lock_that_another_holds_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(exclusive, "REPORTED_S", 0.0)
    monkeypatch.setattr(exclusive, "LONGEST_S", 0.1)
    path = tmp_path / "s"
    waits = pytest.raises(RunError, match="which another process locked")
    both = path.open("a+"), path.open("a+")
    with both[0], both[1], exclusive.held(both[0], path), waits, exclusive.held(both[1], path):
        pass
    assert capsys.readouterr().err.startswith(f"railyard: waiting for {path}")


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that its group may write, as a site makes it; pytest's own are for one user alone."""
    made = subprocess.run(["mktemp", "-d"], capture_output=True, text=True, check=True)
    folder = Path(made.stdout.strip())
    os.chown(folder, -1, NOBODY.pw_gid)
    folder.chmod(0o775)
    yield folder
    subprocess.run(["rm", "-rf", folder], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user; run as root")
def test_two_users_add_to_one_archive(shared: Path) -> None:
    umask = os.umask(0o022)
    try:
        first = archive.add(synthetic.halo(seed=1), shared)
        with sessions.opened(shared, "first"):
            pass
    finally:
        os.umask(umask)
    for folder in (first.parent, shared / sessions.FOLDER):
        assert (stat.S_IMODE(folder.stat().st_mode), folder.stat().st_gid) == (0o775, NOBODY.pw_gid)
    other = os.fork()
    if other == 0:
        status = 1
        try:
            os.setgroups([])
            os.setgid(NOBODY.pw_gid)
            os.setuid(NOBODY.pw_uid)
            with sessions.opened(shared, "second"):
                archive.add(synthetic.halo(seed=2), shared)
            status = 0
        finally:
            sys.stderr.flush()
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(other, 0)[1]) == 0
    assert len(archive.load_all(shared)) == 2


def test_an_archive_that_cannot_be_written_is_known_beforehand(tmp_path: Path) -> None:
    archive.check_writable(tmp_path / "new", ("vtorus", sessions.FOLDER))
    assert not (tmp_path / "new").exists()
    with pytest.raises(InputError, match="-S archive=FOLDER"):
        archive.check_writable(Path("/proc/archive"), ("vtorus", sessions.FOLDER))
