"""Slurm on a virtual torus of 27 nodes: up, down, and how much of a check's job is spent outside its launches."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from railyard.base.checkout import CHECKOUT
from railyard.records.store import archive
from railyard.torus.slurm import cluster
from railyard.torus.virtual import lifecycle

BIN = Path(sys.executable).parent
NAME = "bench-slurm"
TOPOLOGY = "gemini-3x3x3"
REPEATS = 3
LAUNCHES = 10


def measure(console: Console) -> dict[str, Any]:
    """Medians of up and down with Slurm and without, then one job of ten launches; empty where no Slurm can run."""
    if reason := cluster.missing():
        console.print(f"slurm: not measured: {reason}")
        return {}
    with_slurm = [_up_and_down("--slurm") for _ in range(REPEATS)]
    without = [_up_and_down() for _ in range(REPEATS)]
    figures: dict[str, Any] = {
        "up_s": median(up for up, _ in with_slurm),
        "down_s": median(down for _, down in with_slurm),
        "up_without_s": median(up for up, _ in without),
        "down_without_s": median(down for _, down in without),
        **_job(),
    }
    table = Table("figure", "", title=f"Slurm on {TOPOLOGY}")
    for name, value in figures.items():
        table.add_row(name, f"{value:.2f}")
    console.print(table)
    return figures


def _up_and_down(*options: str) -> tuple[float, float]:
    """Seconds of the two commands, Python's start included."""
    up = _seconds("torus", "up", TOPOLOGY, "--name", NAME, *options)
    return up, _seconds("torus", "down", NAME)


def _seconds(*arguments: str) -> float:
    begun = time.monotonic()
    subprocess.run([str(BIN / "railyard"), *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begun


def _job() -> dict[str, float]:
    """A halo check of ten launches on all nodes; the job's times are Slurm's, in whole seconds."""
    _seconds("torus", "up", TOPOLOGY, "--name", NAME, "--slurm")
    try:
        with tempfile.TemporaryDirectory() as folder:
            begun = time.monotonic()
            _reframe(Path(folder))
            check_s = time.monotonic() - begun
            (record,) = archive.load_all(Path(folder) / "archive")
        job_s = _job_seconds(cluster.folder(lifecycle.RUN / NAME) / "jobs.txt")
    finally:
        _seconds("torus", "down", NAME)
    launches_s = sum(launch.elapsed_s or 0 for launch in record.launches)
    outside = 100 * (job_s - launches_s) / job_s
    return {"check_s": check_s, "job_s": job_s, "launches_s": launches_s, "outside_percent": outside}


def _reframe(folder: Path) -> None:
    checks = ["-C", str(CHECKOUT / "reframe.yml"), "-c", str(CHECKOUT / "checks"), "--prefix", str(folder)]
    chosen = ["--system", "vtorus:slurm", "-r", "-n", "halo_3d", "-S", "placements=custom"]
    settings = ["-S", f"launches={LAUNCHES}", "-S", f"archive={folder}/archive"]
    head = [str(BIN / "railyard"), "torus", "exec", NAME, "head", "--"]
    words = [*head, str(BIN / "reframe"), *checks, *chosen, *settings]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, cwd=CHECKOUT)


def _job_seconds(finished: Path) -> float:
    """Of the last job that Slurm wrote down."""
    last = finished.read_text().splitlines()[-1]
    start, end = (datetime.fromisoformat(re.findall(rf"{k}Time=(\S+)", last)[0]) for k in ("Start", "End"))
    return (end - start).total_seconds()
