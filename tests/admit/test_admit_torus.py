"""`railyard admit` on a virtual torus: a node with a slow NIC is named and left out."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.commands import Run

pytestmark = pytest.mark.torus


def test_a_node_with_a_slow_nic_is_named_and_left_out(railyard: Run, tmp_path: Path) -> None:
    name = f"t{os.getpid()}-admit"
    done = railyard("torus", "up", "gemini-2x2x2", "--name", name, "--rate-scale", "0.0004")
    assert done.returncode == 0, done.stderr
    try:
        done = railyard("torus", "fault", name, "n0-1-1", "--injection", "20")
        assert done.returncode == 0, done.stderr
        where = ["--topology", "gemini-2x2x2", "--command", f"railyard torus mpirun {name}"]
        words = ["admit", *where, "--repeats", "3", "--output", str(tmp_path)]
        done = railyard(*words)
        again = railyard(*words, "--resume")
        other = railyard(*words, "--resume", "--slow", "50")
    finally:
        railyard("torus", "down", name)
    document = json.loads((tmp_path / "admission.json").read_text())
    assert "n0-1-1" in document["bad"], done.stdout + done.stderr
    assert "slow node: n0-1-1" in done.stdout
    assert "n0-1-1" not in (tmp_path / "good-nodes").read_text().split()
    assert done.returncode in (3, 4)  # other readings may be slow on a busy machine
    launches = [line for line in done.stdout.splitlines() if line.startswith("launch ")]
    judged = [line for line in launches if "at most" in line]
    assert len(launches) == document["launches"] and len(judged) == len(document["rates_gbyte_s"])
    assert "at most 39 launches follow" in judged[0]
    assert "not judged, because an end is no good node: " in done.stdout
    assert len(document["not_judged"]) >= 3, "the cables of the slow node"
    assert again.stdout == "".join(done.stdout.splitlines(keepends=True)[len(launches) :])
    assert other.returncode == 2 and "--resume" in other.stderr and "slow" in other.stderr


def test_pairs_that_run_elsewhere_or_never_are_one_line(railyard: Run, tmp_path: Path) -> None:
    (tmp_path / "nodes").write_text("n1\nn2\n")
    done = railyard("admit", "--nodes", str(tmp_path / "nodes"), "--output", str(tmp_path / "out"))
    assert done.returncode == 2
    assert done.stderr.strip().splitlines()[-1].endswith("2 is not valid; expected at least 4 nodes")
