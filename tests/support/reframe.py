"""Run ReFrame on the checks, with a stage and an archive of the test's own."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from railyard.records.record import Record
from railyard.records.store import archive
from support.commands import BIN, CHECKOUT, HUNG_S, environment

ReFrame = Callable[..., "subprocess.CompletedProcess[str]"]
QUICK = {"RAILYARD_TOPOLOGY": "gemini-2x2x2", "RAILYARD_RATE_SCALE": "0.00025"}


def command(prefix: Path, *arguments: str, checks: Path = CHECKOUT / "checks") -> list[str]:
    fixed = ["--prefix", str(prefix), "-C", str(CHECKOUT / "reframe.yml"), "-c", str(checks), "--nocolor"]
    fixed += ["--system", "vtorus:netns"]  # tests/torus/test_docker.py has the other one
    return [str(BIN / "reframe"), *fixed, *arguments]


def reframe_in(tmp_path: Path) -> ReFrame:
    """Run ReFrame with its own stage below tmp_path, and the archive in tmp_path/archive."""

    def run(
        *arguments: str, checks: Path = CHECKOUT / "checks", **changes: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(tmp_path, *arguments, checks=checks),
            capture_output=True,
            text=True,
            timeout=HUNG_S,
            cwd=CHECKOUT,
            env=environment(**QUICK, **changes),
            check=False,
        )

    return run


def records(tmp_path: Path) -> list[Record]:
    return archive.load_all(tmp_path / "archive")


def into(tmp_path: Path) -> list[str]:
    return ["-S", f"archive={tmp_path}/archive"]
