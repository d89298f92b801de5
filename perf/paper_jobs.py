"""The studies' checks as jobs on a pretended site of origin `measured`: which run there, and what their records hold.

Two Slurm clusters on virtual networks stand for machines (`perf.site_jobs`): 16 nodes with two NICs each in a fat tree,
for the checks of LLNL's poster, and 27 nodes of a torus with coordinates, for those of the papers. Sizes are small, and
the papers' blocks are smaller than theirs; what is shown is that each check runs, is proved and keeps a record.

    python -m perf.paper_jobs [--only poster|papers] [--osu FOLDER] [--programs FOLDER]

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

from perf import site_jobs
from perf.site_jobs import Site
from railyard.checkout import CHECKOUT
from railyard.records.record import Record
from railyard.torus.virtual import lifecycle

NAME = "bench-papers"
#: One launch of each combination: what is shown is that it runs.
COMMON = ("-S", "launches=1", "-S", "launch_limit_s=240")
SMALL = ("-S", "scale=small")
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


def _set(**variables: object) -> tuple[str, ...]:
    return tuple(word for name, value in variables.items() for word in ("-S", f"{name}={value}"))


POSTER = (
    Check(pattern="^multirail_halo", options=(*SMALL, *_set(cells=1024))),
    Check(pattern="^multirail_contention", options=(*SMALL, *_set(sizes=8192, repeats=1))),
    Check(pattern="^contention_pairs", options=(*SMALL, *_set(sizes=8192, repeats=1, window=1))),
    Check(pattern="^rowcol_all", options=(*SMALL, *_set(sizes=64, repeats=1))),
    Check(pattern="^halo_paper_2d %side=[234]$", options=(*SMALL, *_set(cells=256, face_memory=0))),
)
PAPERS = (
    Check(pattern="^halo_paper_2d %side=5$", options=(*SMALL, *_set(cells=256, face_memory=0))),
    Check(pattern="^halo_paper_3d %side=3$", options=(*SMALL, *_set(cells=16, face_memory=0))),
    Check(
        pattern="^hops_paper",
        options=(*SMALL, *_set(torus=PAPER_TOPOLOGY, sizes="0,8192", window=2)),
    ),
    Check(
        pattern="^rowcol_paper$",
        options=(*SMALL, *_set(block="3,3,3", cube="3,3,3", sizes=256)),
    ),
    Check(pattern="^rowcol_paper_long", options=(*SMALL, *_set(block="3,3,3", cube="3,3,3", sizes=2048))),
    Check(pattern="^paths_paper", options=(*SMALL, *_set(block="3,3,3", sizes=8192, window=2))),
    Check(pattern="^topobw_links", options=(*SMALL, *_set(message_bytes=8192, repeats=1))),
)


def of_programs(osu: str, programs: str) -> tuple[Check, ...]:
    """Return the poster's checks of other programs, for the folders that are named."""
    common = _set(build="none")
    found = []
    if osu:
        sizes = _set(programs=osu, iterations=2, warmups=1, largest=64)
        found.append(Check(pattern="^osu_all_multirail", options=(*common, *sizes)))
    if programs:
        sizes = _set(programs=programs, iterations=5)
        found.append(Check(pattern="^lulesh_multirail", options=(*common, *sizes)))
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


def measure(site: Site, topology: str, checks: Sequence[Check]) -> list[dict[str, Any]]:
    """Run checks one after another on a cluster of its own."""
    figures = []
    site_jobs.up(topology, site.torus)
    try:
        for check in checks:
            done = site_jobs.run(site, "-n", check.pattern, *check.options, *COMMON)
            for record in done.records:
                figures.append(described(record))
                console.print(figures[-1])
            if not done.records:
                figures.append({"check": check.pattern, "status": "no record"})
                console.print(f"{check.pattern}: no record: {done.output[-1500:]}")
    finally:
        lifecycle.down(site.torus)
    return figures


def main() -> None:
    """Run the poster's checks, the papers', or both."""
    parser = argparse.ArgumentParser(
        prog="python -m perf.paper_jobs", description="studies as jobs on a site"
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
