"""`tools/demo`: one line per finished check, then the report; a failure is shown and is the command's status."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from support.commands import CHECKOUT, program, ran

#: What ReFrame 4.10 prints, its start and most of its end left out.
REFRAME = """\
[ReFrame Setup]
  version:           4.10.4
[==========] Running 2 check(s)
[ RUN      ] halo_3d /56b8e1be @vtorus:netns+openmpi
[       OK ] (1/2) halo_3d /56b8e1be @vtorus:netns+openmpi
P: iteration: 9231 us (r:0, l:None, u:None)
[     FAIL ] (2/2) hops_curve /a311468a @vtorus:netns+openmpi
==> test failed during 'sanity': test staged in 'stage/hops_curve'
"""
#: What ReFrame leaves: without a new record nothing was measured.
RECORDS = "mkdir -p results/vtorus results/simtorus; touch results/vtorus/1.json results/simtorus/1.json"


def demo(folder: Path, status: int) -> subprocess.CompletedProcess[str]:
    """Run the script in a checkout whose ReFrame prints `REFRAME`."""
    (folder / "tools").mkdir()
    for script in ("demo", "measure"):
        shutil.copy(CHECKOUT / "tools" / script, folder / "tools")
    (folder / "said").write_text(REFRAME)
    program(folder / ".venv/bin", "reframe", f"cat said; {RECORDS}; exit {status}")
    program(folder / ".venv/bin", "railyard", 'echo "the screen of railyard $*"')
    return ran(folder / "tools/demo")


def test_a_simulated_torus_is_measured_too_where_simgrid_was_built(tmp_path: Path) -> None:
    (tmp_path / "build/lib").mkdir(parents=True)
    (tmp_path / "build/lib/railyard-simgrid.so").touch()
    shown = demo(tmp_path, 0).stdout.splitlines()
    assert [line.split(":")[0] for line in shown if line[0] != " "][:2] == ["measuring", "simulating"]
    assert (tmp_path / "build/demo-simulated.log").read_text() == REFRAME


def test_progress_is_a_line_per_check_and_the_report_comes_last(tmp_path: Path) -> None:
    done = demo(tmp_path, 0)
    assert done.returncode == 0 and done.stderr == ""
    shown = done.stdout.splitlines()
    assert shown[1:4] == ["  (1/2) halo_3d: OK", "      iteration: 9231 us", "  (2/2) hops_curve: FAIL"]
    assert shown[-1] == "the screen of railyard report -o report.html"
    assert len(shown) == 6, "nothing else of ReFrame's output"
    assert (tmp_path / "build" / "demo.log").read_text() == REFRAME


@pytest.mark.parametrize("status", [1, 2])
def test_a_failure_of_reframe_is_shown_and_is_the_status(tmp_path: Path, status: int) -> None:
    done = demo(tmp_path, status)
    assert done.returncode == status
    assert "test failed during 'sanity'" in done.stderr
    assert "the screen of railyard report" in done.stdout, "the records of what was measured are reported"
