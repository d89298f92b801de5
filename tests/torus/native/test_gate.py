"""The gate of an srun: its prolog waits between the allocation and the step, and an srun without a step passes by."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from railyard.torus.slurm import gate


def test_the_prolog_reports_and_waits_until_the_gate_is_open(tmp_path: Path) -> None:
    with gate.Gate(tmp_path) as stop:
        prolog = subprocess.Popen([stop.environment["SLURM_PROLOG"], "hostname"])
        assert stop.wait(lambda: False)
        assert prolog.poll() is None
        stop.open()
        assert prolog.wait(timeout=60) == 0
    assert not list(tmp_path.iterdir())


def test_an_srun_that_ends_without_a_step_is_not_waited_for(tmp_path: Path) -> None:
    with gate.Gate(tmp_path) as stop:
        assert not stop.wait(lambda: True)


@pytest.mark.parametrize(
    ("arguments", "variable", "possible"),
    [(["-n", "2"], "", True), (["--prolog=/bin/true"], "", False), (["-n", "2"], "/bin/true", False)],
)
def test_a_prolog_of_the_caller_stays(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], variable: str, possible: bool
) -> None:
    monkeypatch.delenv("SLURM_PROLOG", raising=False)
    if variable:
        monkeypatch.setenv("SLURM_PROLOG", variable)
    assert gate.is_possible(arguments) is possible
