"""The measurement of launches with several roles: jobs that are kept, their sums, and which processes are seen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.waiting import wait_until

from perf.jobs import many_roles
from perf.pieces import Pieces


def job(launches: int, reasons: list[str]) -> dict[str, Any]:
    return {"launches": launches, "why": reasons}


def test_jobs_that_are_kept_are_not_repeated_and_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []

    def run(count: int, *_: object) -> dict[str, Any]:
        counts.append(count)
        return job(count, ["lost"])

    monkeypatch.setattr(many_roles, "_job", run)
    kept = tmp_path / "kept.jsonl"
    Pieces(kept).add(job(5, []), 0)
    many_roles.launches(12, many_roles.THREE_ROLES, "vtorus:netns", Pieces(kept))
    assert counts == [5, 2]
    many_roles.launches(12, many_roles.THREE_ROLES, "vtorus:netns", Pieces(kept))
    assert counts == [5, 2]
    assert many_roles.total(Pieces(kept).rows) == {"jobs": 3, "launches": 12, "why": ["lost"]}


def test_a_call_whose_time_is_over_runs_no_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many_roles, "_job", lambda *_: pytest.fail("a job ran"))
    many_roles.launches(
        10, many_roles.THREE_ROLES, "vtorus:netns", Pieces(tmp_path / "none.jsonl", minutes=0)
    )


def test_a_launcher_is_seen_by_debian_s_name_too(tmp_path: Path) -> None:
    """Before, no launcher was seen, and a kill of one ended the measurement."""
    words = ["/usr/bin/mpirun.openmpi", "-c", "import time; time.sleep(60)"]
    process = subprocess.Popen(words, executable=sys.executable, cwd=tmp_path)
    try:
        wait_until(lambda: many_roles.working(tmp_path, "mpirun") != {}, "the launcher to start")
        assert set(many_roles.working(tmp_path, "mpirun")) == {process.pid}
        assert many_roles.working(tmp_path, "pt2pt") == {}
    finally:
        process.kill()
        process.wait()
