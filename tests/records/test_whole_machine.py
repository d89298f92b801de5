"""A job at the size of a real machine, through every step of railyard, with launches and times that are made up."""

from __future__ import annotations

import subprocess
import sys

from support import whole_machine
from support.commands import CHECKOUT, HUNG_S, environment

from railyard.records.store import archive


def test_a_record_of_36_nodes_with_128_ranks_is_kept_and_read() -> None:
    """Its 71 MB could not be read back once, and no other record of that archive either."""
    sizes = ["--nodes", "36", "--ranks-per-node", "128", "--nics", "8", "--launches", "12"]
    done = subprocess.run(
        [sys.executable, "-m", "perf", "machine", *sizes],
        capture_output=True,
        text=True,
        timeout=HUNG_S,
        cwd=CHECKOUT,
        env=environment(),
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    records = archive.load_all(whole_machine.FOLDER / "archive")
    assert [[len(launch.ranks) for launch in record.launches] for record in records] == 2 * [12 * [36 * 128]]
    strict = (whole_machine.FOLDER / "strict-check.log").read_text().splitlines()
    changed = "provenance.railyard.git_dirty: the checkout was changed, or nobody looked"
    assert all(line.endswith(changed) or " was committed at " in line for line in strict[:-1]), strict
    assert "<html" in (whole_machine.FOLDER / "report.html").read_text()
