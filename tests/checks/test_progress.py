"""The lines that ReFrame shows while it waits: launches that have ended, of how many, and the time that is left."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from railyard.placed import figures

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("ended", "elapsed_s", "waited_s", "text"),
    [
        (0, 14.0, 0.4, "halo: 0 of 18 launches ended in 14 s"),
        (5, 41.0, 0.0, "halo: 5 of 18 launches ended in 41 s, about 107 s left"),
        (
            9,
            900.0,
            61.0,
            "halo: 9 of 18 launches ended in 15 min (61 s of it waiting for other launches on this machine), "
            "about 15 min left",
        ),
    ],
)
def test_the_line(ended: int, elapsed_s: float, waited_s: float, text: str) -> None:
    assert figures.line("halo", ended, 18, elapsed_s, waited_s=waited_s) == text


def test_a_line_per_interval_until_the_job_has_finished(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Programs beside the measured one are not counted, and a job that the scheduler ended is reported no further."""
    answers = iter([False, False, False])  # finished on the fourth question

    def finished(job: object) -> bool:
        del job
        (tmp_path / "launch-000.begun").touch()
        return next(answers, True)

    job = SimpleNamespace(jobid="7", scheduler=SimpleNamespace(finished=finished))
    (tmp_path / "mpi").mkdir()
    for name in ("launch-000.ended", "launch-000.noise.ended", "mpi/launch-000.ended"):
        (tmp_path / name).touch()
    thread = figures.watch("halo", job, tmp_path, 3, interval_s=0.01)
    thread.join(60)
    lines = capfd.readouterr().err.splitlines()
    assert lines[0].startswith("halo: 2 of 3 launches ended in ") and len(lines) == 3
