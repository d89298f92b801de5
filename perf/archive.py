"""Time `railyard results list` and `railyard compare` over a large archive.

Models: synthetic records (two systems, four message sizes, two placements with three launches each), written as the
archive writes them but without fsync. Every time is that of a whole process; `cold` drops the kernel's page cache
before it, where the machine lets root do that. Leaves out: what the numbers mean.
"""

from __future__ import annotations

import hashlib
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from railyard.records import json_io, record

RAILYARD = str(Path(sys.executable).with_name("railyard"))
SYSTEMS = {"torus-a": 1.0, "torus-b": 1.03}
PLACEMENTS = {"plain": 1.0, "custom": 0.93}
COUNT = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """One command: seconds from its start to its end, and the memory of the largest of its processes."""

    name: str
    seconds: float
    memory_mib: float


def generate(root: Path, count: int, sizes: int = 4) -> None:
    """Write `count` records of two systems and `sizes` message sizes below `root`, the same each time."""
    chance = random.Random(1)
    for number in range(count):
        document = _document(chance, number, sizes)
        path = root / document["system"]["name"] / f"{document['created'][:10]}-{document['id']}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json_io.text(document))


def _document(chance: random.Random, number: int, sizes: int) -> dict[str, Any]:
    system = list(SYSTEMS)[number % 2]
    size = 8 * (1 + number // 2 % sizes)
    document: dict[str, Any] = {
        "schema": record.FORMAT,
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_700_000_000 + 600 * number)),
        "origin": "emulated",
        "system": {"name": system, "partition": "netns", "environment": "openmpi"},
        "case": {
            "check": "halo_bench",
            "benchmark": "halo",
            "studies": [],
            "parameters": {"grid": [2, 1, 1], "cells": [size] * 3},
            "topology": None,
            "allocation": {
                "order": "snake",
                "seed": None,
                "nodes": [{"name": n, "coordinate": None} for n in "ab"],
            },
            "placements": list(PLACEMENTS),
            "nic_policies": ["library-default"],
            "seed": number,
            "launches_per_combination": 3,
        },
        "status": "ok",
        "reason": "",
        "launches": list(_launches(chance, SYSTEMS[system] * size)),
        "provenance": _provenance(),
    }
    canonical = json_io.canonical(document).encode()
    return {**document, "id": hashlib.sha256(canonical).hexdigest()[:12]}


def _launches(chance: random.Random, scale: float) -> Iterator[dict[str, Any]]:
    for index in range(6):
        placement = list(PLACEMENTS)[index % 2]
        time_us = 100 * scale * PLACEMENTS[placement] * chance.lognormvariate(0, 0.025)
        samples = [round(time_us * chance.lognormvariate(0, 0.01), 3) for _ in range(3)]
        yield {
            "index": index,
            "placement": placement,
            "nic_policy": "library-default",
            "repeat": index // 2,
            "command": f"mpirun -np 2 --hostfile {placement}.hostfile halo --json launch-{index}.json",
            "status": "ok",
            "reason": "",
            "exit_status": 0,
            "started": "2026-11-21T03:00:00Z",
            "elapsed_s": 1.5,
            "placement_verdict": "obeyed",
            "ranks": [{"rank": rank, "host": "ab"[rank], "cpu": rank} for rank in range(2)],
            "verified": True,
            "series": [
                {"fom": "iteration_us", "labels": {}, "samples": samples},
                {
                    "fom": "bandwidth_gbyte_s",
                    "labels": {},
                    "samples": [round(1e3 / timed, 6) for timed in samples],
                },
            ],
            "not_measured": [],
            "guard": None,
            "nics": None,
            "nic_verdict": "cannot-tell",
        }


def _provenance() -> dict[str, Any]:
    torus = {"name": "t", "engine": "netns", "rate_scale": 1e-4, "latency_scaled": False}
    machine = {"kernel": "Linux", "os": "Debian", "cpu": "CPU", "cpus": 2, "memory_bytes": 1, "hostname": "h"}
    return {
        "railyard": {"version": "0.1.0", "git_commit": "1f" * 20, "git_dirty": False},
        "reframe": None,
        "machine": machine,
        "mpi": {"library": "Open MPI", "standard": "3.1"},
        "torus": torus,
    }


def run(name: str, *command: str, cold: bool = False, cache: Path) -> Timed:
    """Run one process; return its time and memory. Raises CalledProcessError if it fails."""
    if cold:
        drop_page_cache()
    before = time.monotonic()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, env={**os.environ, "XDG_CACHE_HOME": str(cache)}
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise subprocess.CalledProcessError(status, command)
    return Timed(name=name, seconds=time.monotonic() - before, memory_mib=_memory_mib(usage))


def _memory_mib(usage: resource.struct_rusage) -> float:
    return usage.ru_maxrss / 1024


def drop_page_cache() -> bool:
    """Return whether the kernel let us: the next reader then finds nothing in memory."""
    os.sync()
    try:
        Path("/proc/sys/vm/drop_caches").write_text("3\n")
    except OSError:
        return False
    return True


def _commands(count: int) -> list[Timed]:
    """Return the time of each command over an archive of `count` records that is written and removed."""
    with _archive(count, 4) as (root, cache):
        listing = [RAILYARD, "results", "list", "--archive", str(root), "--json"]
        comparing = [
            RAILYARD,
            "compare",
            "--archive",
            str(root),
            *(f"system={name}" for name in SYSTEMS),
            "--json",
        ]
        return [
            run("list, no index yet", *listing, cache=cache),
            run("list, cold", *listing, cold=True, cache=cache),
            run("list, warm", *listing, cache=cache),
            run("compare, cold", *comparing, cold=True, cache=cache),
            run("compare, warm", *comparing, cache=cache),
        ]


def _page(count: int, sizes: int) -> tuple[Timed, float]:
    """Return the time of a page of `count` records, two cases per message size, and its size in MiB."""
    with _archive(count, sizes) as (root, cache):
        page = root.parent / "report.html"
        name = f"report of {count:,} records, {2 * sizes} cases"
        timed = run(name, RAILYARD, "report", str(root), "-q", "-o", str(page), cold=True, cache=cache)
        return timed, page.stat().st_size / (1 << 20)


@contextmanager
def _archive(count: int, sizes: int) -> Iterator[tuple[Path, Path]]:
    """Yield an archive and a cache folder; remove both afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="railyard-bench-"))
    try:
        generate(folder / "archive", count, sizes)
        yield folder / "archive", folder / "cache"
    finally:
        shutil.rmtree(folder)


def measure(count: int = COUNT) -> dict[str, Any]:
    """Print the table and return the figures."""
    console = Console(width=110)
    timings = _commands(count)
    page, size_mib = _page(1000, 20)
    table = Table(
        "", "seconds", "memory (MiB)", title=f"{count:,} records; whole processes, Python's start included"
    )
    for timed in [*timings, page]:
        table.add_row(timed.name, f"{timed.seconds:.1f}", f"{timed.memory_mib:.0f}")
    console.print(table)
    console.print(f"the page has {size_mib:.1f} MiB\n")
    return {
        "records": count,
        "processes": [
            {"name": e.name, "seconds": e.seconds, "memory_mib": e.memory_mib} for e in [*timings, page]
        ],
        "page_mib": size_mib,
    }
