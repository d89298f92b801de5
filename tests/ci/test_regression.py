"""The action's script fails on a regression, and its summary compares the new records with the baseline."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.commands import CHECKOUT, HUNG_S, environment
from support.reframe import QUICK

SLOW = """\
#!/bin/sh
# The job's torus is up and described: the record does not know what follows, as on a machine where a link went bad.
railyard torus fault "$RAILYARD_TORUS" n0-0-0 --injection 20
"""


def smoke(out: Path, *options: str, **changes: str) -> subprocess.CompletedProcess[str]:
    """Run what action.yml runs, on one check of the smoke set, with its results in a folder of the test's own."""
    chosen = " ".join([*options] if "-n" in options else ["-n halo_smoke -S placements=custom", *options])
    return subprocess.run(
        [CHECKOUT / "tools/smoke"],
        capture_output=True,
        text=True,
        timeout=HUNG_S,
        env=environment(
            **changes,
            OUT=str(out),
            SELECT=chosen,
            LAUNCHES="6",
            TOPOLOGY=QUICK["RAILYARD_TOPOLOGY"],
            RAILYARD_RATE_SCALE=QUICK["RAILYARD_RATE_SCALE"],
        ),
        check=False,
    )


@pytest.mark.reframe
def test_a_link_that_became_slow_fails_the_smoke_run_and_the_summary_shows_by_how_much(
    tmp_path: Path,
) -> None:
    status = subprocess.run(
        ["git", "status", "--short"], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    if status.stdout:
        pytest.skip("the checkout has uncommitted changes; of such records railyard makes no reference")
    done = smoke(tmp_path / "before")
    assert done.returncode == 0, done.stdout + done.stderr

    slow = tmp_path / "slow-link"
    slow.write_text(SLOW)
    slow.chmod(0o755)
    baseline = str(tmp_path / "before/baseline")
    done = smoke(tmp_path / "after", f"-S preparations={slow}", BASELINE=baseline)
    assert done.returncode != 0
    assert "custom/iteration_us" in done.stdout and "above the reference" in done.stdout
    summary = (tmp_path / "after/report.md").read_text()
    assert "worse" in summary and "times as fast as now" in summary and "## Sides compared" in summary
    assert "worse: halo_smoke: custom/iteration_us" in summary and not (tmp_path / "after/baseline").exists()
    assert (tmp_path / "after/report.html").exists()
    assert "| halo\\_smoke | custom/iteration\\_us |" in (tmp_path / "after/summary.md").read_text()

    done = smoke(tmp_path / "after", f"-S preparations={slow}", BASELINE=baseline, ACCEPT="true")
    assert done.returncode == 0, done.stdout + done.stderr
    history = str(tmp_path / "after/baseline/references.yaml")
    railyard = str(CHECKOUT / ".venv/bin/railyard")
    shown = subprocess.run(
        [railyard, "references", "show", "-o", history], capture_output=True, text=True, check=True
    )
    assert "accepted 20" in shown.stdout and "custom/iteration_us" in shown.stdout
