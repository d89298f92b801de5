"""Standard error of launches under each MPI, as recorded: the program's own words, or the signal, are the reason."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commands import CHECKOUT

from railyard.jobs import complaints

pytestmark = pytest.mark.unit
RECORDINGS = CHECKOUT / "tests/data/stderr"
OWN = "halo: error: --size 0 is not valid"


@pytest.mark.parametrize("path", sorted(RECORDINGS.glob("*-exit.err")), ids=lambda path: path.stem)
def test_the_line_of_a_program_that_failed_is_the_reason(path: Path, tmp_path: Path) -> None:
    assert complaints.first(path) == complaints.last(path) == OWN
    silent = tmp_path / path.name
    silent.write_text(path.read_text().replace(f"{OWN}\n", ""))
    assert complaints.first(silent) == ""


@pytest.mark.parametrize("path", sorted(RECORDINGS.glob("*-killed.err")), ids=lambda path: path.stem)
def test_the_signal_that_ended_a_rank_is_the_reason(path: Path) -> None:
    reason = complaints.first(path)
    assert reason.startswith("process rank 0 with PID") and reason.endswith("on signal 9 (Killed).")
    assert complaints.last(path) == reason


def test_a_message_of_mpirun_itself_is_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "launch-000.err"
    rule = "-" * 74
    path.write_text(f"{rule}\nmpirun was unable to find the specified executable file\n{rule}\n")
    assert complaints.first(path) == "mpirun was unable to find the specified executable file"
