"""The studies' checks as jobs on a pretended site of origin `measured`: which run there, and what their records hold.

Two Slurm clusters on virtual networks stand for machines (`perf.jobs.site_jobs`): 16 nodes with two NICs each in a
fat tree, for the checks of LLNL's poster, and 27 nodes of a torus with coordinates, for those of the papers. Sizes
are small, and the papers' blocks are smaller than theirs; what is shown is that each check runs, is proved and keeps
a record.

    python -m perf.models.paper_jobs [--only poster|papers] [--osu FOLDER] [--programs FOLDER]

Leaves out the papers' full sizes, which need their machines, and figures: links are at 1/4000 of their rate.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from perf.jobs import site_jobs
from perf.jobs.site_jobs import Site
from railyard.base.checkout import CHECKOUT
from railyard.records.record import Record
from railyard.torus.virtual import lifecycle

NAME = "bench-papers"
#: One launch of each combination: what is shown is that it runs.
COMMON = ("-S", "launches=1", "-S", "launch_limit_s=240")
POSTER_TOPOLOGY = "dual-rail-small"
POSTER_NODES = 16
PAPER_TOPOLOGY = "gemini-3x3x3"
PAPER_NODES = 27
console = Console(width=120)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A check by its name's pattern, and the variables that make it small."""

    pattern: str
    options: tuple[str, ...] = ()


def _only(check: Check, variant: str) -> Check:
    """Return a check with some of its parameters."""
    return Check(pattern=f"{check.pattern}{variant}", options=check.options)


def _small(name: str, **variables: object) -> Check:
    """Return a check of that name at scale small; the variables are its alone."""
    words = [f"{name}.{variable}={value}" for variable, value in variables.items()]
    return Check(
        pattern=name, options=("-S", "scale=small", *(part for word in words for part in ("-S", word)))
    )


POSTER = (
    _small("multirail_halo", cells=8192),
    _small("multirail_contention", sizes=8192, repeats=1),
    _small("contention_pairs", sizes=8192, repeats=1, window=1),
    _small("rowcol_all", sizes=4096, repeats=1),
    _only(_small("halo_paper_2d", cells=1024, face_memory=0), "%side=[34]"),
)
BLOCK = {"block": "3,3,3", "cube": "3,3,3"}
PAPERS = (
    _only(_small("halo_paper_2d", cells=1024, face_memory=0), "%side=5"),
    _only(_small("halo_paper_3d", cells=16, face_memory=0), "%side=3"),
    _small("hops_paper", torus=PAPER_TOPOLOGY, sizes="0,8192", window=2),
    _small("rowcol_paper", **BLOCK, sizes=1024),
    _small("paths_paper", block="3,3,3", sizes=8192, window=2),
    # At the papers' own sizes, which this machine does not have: each is skipped with one line.
    Check(pattern="rowcol_paper$"),
    Check(pattern="paths_paper"),
    Check(pattern="halo_paper_3d %side=4"),
)


def of_programs(osu: str, programs: str) -> tuple[Check, ...]:
    """Return the poster's checks of other programs, for the folders that are named."""
    common = ("-S", "build=none", "-S")
    found = []
    if osu:
        # A barrier sends a few dozen bytes: only many of them are enough to judge the NICs by.
        for program, iterations in (("osu_allreduce", 2), ("osu_bcast", 2), ("osu_barrier", 300)):
            sizes = ("-S", f"iterations={iterations}", "-S", "warmups=1", "-S", "largest=64")
            pattern = f"osu_all_multirail.*{program}"
            found.append(Check(pattern=pattern, options=(*common, f"programs={osu}", *sizes)))
    if programs:
        options = (*common, f"programs={programs}", "-S", "iterations=5")
        found.append(Check(pattern="lulesh_multirail", options=options))
    return tuple(found)


def described(record: Record) -> dict[str, Any]:
    """Return what a record shows: launches, and the verdicts on their placements and NICs."""
    launches = record.launches
    return {
        "check": record.case.check,
        "status": str(record.status),
        "origin": str(record.origin),
        "nodes": len(record.case.allocation["nodes"]),
        "ranks": max((len(launch.ranks) for launch in launches), default=0),
        "launches": len(launches),
        "placements": dict(Counter(str(launch.placement_verdict) for launch in launches)),
        "nics": dict(Counter(f"{launch.nic_policy}: {launch.nic_verdict}" for launch in launches)),
        "reason": record.reason,
    }


def left_out(output: str) -> list[str]:
    """Return ReFrame's lines on what the machine cannot do: checks that are skipped, and parts of checks."""
    return [line for line in output.splitlines() if "[     SKIP ]" in line or "is left out on" in line]


def measure(site: Site, topology: str, checks: Sequence[Check]) -> list[dict[str, Any]]:
    """Run checks one after another on a cluster of its own."""
    figures = []
    site_jobs.up(topology, site.torus)
    try:
        for check in checks:
            done = site_jobs.run(site, "-n", check.pattern, *check.options, *COMMON)
            lines = {"status_of_reframe": done.status, "lines": left_out(done.output)}
            for record in done.records:
                figures.append({**described(record), **lines})
                console.print(figures[-1])
            if not done.records:
                skipped = "[     SKIP ]" in done.output and not done.status
                figures.append(
                    {"check": check.pattern, "status": "skipped" if skipped else "no record", **lines}
                )
                console.print(
                    figures[-1] if skipped else f"{check.pattern}: no record: {done.output[-1500:]}"
                )
    finally:
        lifecycle.down(site.torus)
    return figures


def main() -> None:
    """Run the poster's checks, the papers', or both."""
    parser = argparse.ArgumentParser(
        prog="python -m perf.models.paper_jobs", description="studies as jobs on a site"
    )
    parser.add_argument(
        "--only", choices=["poster", "papers"], help="one of the two clusters (default: both)"
    )
    parser.add_argument("--osu", default="", help="folder of OSU's programs")
    parser.add_argument("--programs", default="", help="folder of the mini-applications")
    asked = parser.parse_args()
    figures = []
    with TemporaryDirectory(dir=CHECKOUT / "build") as temporary:
        folder = Path(temporary)
        if asked.only != "papers":
            site = Site(torus=f"{NAME}-poster", folder=folder, nodes=POSTER_NODES)
            figures += measure(site, POSTER_TOPOLOGY, (*POSTER, *of_programs(asked.osu, asked.programs)))
        if asked.only != "poster":
            known = f", topology: {PAPER_TOPOLOGY}"
            site = Site(torus=f"{NAME}-torus", folder=folder, nodes=PAPER_NODES, extras=known)
            figures += measure(site, PAPER_TOPOLOGY, PAPERS)
    console.print_json(json.dumps(figures))


if __name__ == "__main__":
    main()
