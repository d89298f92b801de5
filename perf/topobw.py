"""Count the injected faults that topobw names, and its false alarms; measure time, phases and counters.

100 launches without a fault take 20 minutes. Each launch is saved in build/topobw.jsonl, and the next call continues
after the last. A launch without a fault that the guard makes void counts as void, not as clean.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from perf.pieces import Pieces
from placements.launchers import files
from placements.topology import catalog
from railyard.base.checkout import BUILD
from railyard.torus.plan.plan import Shape
from railyard.torus.virtual import lifecycle

PROGRAM = BUILD / "benchmarks-openmpi/bin/topobw"
NAME = "bench-topobw"
CLEAN_RUNS = 100
COUNTED_RUNS = 5
LOAD = ("--size", "64KiB", "--messages", "4", "--routes", "strict")
KEPT = BUILD / "topobw.jsonl"
KINDS = ("fault", "counters", "clean")
Row = Mapping[str, Any]
console = Console(width=110)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault on a link, what topobw must name, and the tolerance that finds it."""

    link: str
    options: tuple[str, ...]
    what: str
    component: str = "link"
    tolerance_percent: float = 3.0

    @property
    def sought(self) -> set[str]:
        """Return the directed links that must be named."""
        direction, ends = self.link.split()
        source, target = ends.split(">")
        back = f"{direction[0]}{'-' if direction[1] == '+' else '+'} {target}>{source}"
        return {self.link, back} if self.component == "cable" else {self.link}


LANE, TILE = ("--lanes-lost", "1"), ("--lanes-lost", "2", "--of-tiles")
FAULTS = (
    Fault(link="X+ 1,2,3>2,2,3", options=LANE, what="one lane of every tile"),
    Fault(link="X- 0,0,0>3,0,0", options=LANE, what="one lane of every tile"),
    Fault(link="Y+ 0,1,2>0,2,2", options=LANE, what="one lane of every tile"),
    Fault(link="Y- 3,3,3>3,2,3", options=LANE, what="one lane of every tile"),
    Fault(link="Z+ 2,2,1>2,2,2", options=LANE, what="one lane of every tile"),
    Fault(link="Z- 1,0,0>1,0,3", options=LANE, what="one lane of every tile"),
    Fault(link="X+ 3,1,1>0,1,1", options=(*TILE, "1/8"), what="two lanes of one tile of eight"),
    Fault(link="X- 2,3,0>1,3,0", options=(*TILE, "1/8"), what="two lanes of one tile of eight"),
    Fault(link="Y+ 1,0,0>1,1,0", options=(*TILE, "1/4"), what="two lanes of one tile of four"),
    Fault(link="X+ 0,2,2>1,2,2", options=("--down",), what="cable down", component="cable"),
    Fault(link="Y+ 2,0,3>2,1,3", options=("--down",), what="cable down", component="cable"),
    Fault(link="Z+ 3,3,0>3,3,1", options=("--down",), what="cable down", component="cable"),
)
PAIR_FAULTS = (
    Fault(link="Z+ 2,2,1>2,2,2", options=(*TILE, "1/8"), what="two lanes of one tile of eight"),
    Fault(link="Z- 1,0,0>1,0,3", options=(*TILE, "2/8"), what="two lanes of two tiles of eight"),
)


class Machine:
    """A virtual torus and the files that topobw reads."""

    def __init__(self, name: str, folder: Path) -> None:
        self.topology, self.folder = catalog.load(name), folder
        (folder / "coordinates").write_text(files.coordinates(self.topology))
        (folder / "links").write_text(files.links(self.topology))

    def run(self, *options: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Launch topobw on all nodes; return its document, then its seconds, the load and the guard's verdict."""
        output, evidence = self.folder / "output.json", self.folder / "evidence.json"
        files = ["--coordinates", f"{self.folder}/coordinates", "--links", f"{self.folder}/links"]
        ranks = str(len(self.topology.nodes))
        os.environ["RAILYARD_EVIDENCE"] = str(evidence)
        load, start_s = os.getloadavg()[0], time.monotonic()
        railyard("mpirun", NAME, "-q", "-np", ranks, str(PROGRAM), *files, *options, "--json", str(output))
        seconds = time.monotonic() - start_s
        document: dict[str, Any] = json.loads(output.read_text())
        guard = json.loads(evidence.read_text())["guard"]
        output.unlink()
        bound = guard.get("error_bound_percent")
        return document, {"s": seconds, "load": load, "bound_percent": bound, "guard": guard["verdict"]}


@contextmanager
def machine(name: str, rate_scale: float) -> Iterator[Machine]:
    """Bring up the torus of a topology for the length of the block."""
    lifecycle.up(catalog.load(name), name=NAME, shape=Shape(rate_scale=rate_scale))
    try:
        with tempfile.TemporaryDirectory() as folder:
            yield Machine(name, Path(folder))
    finally:
        lifecycle.down(NAME)


def measure(clean_runs: int = CLEAN_RUNS, minutes: float | None = None) -> dict[str, Any]:
    """Return all figures; measure those that the file lacks."""
    pieces = Pieces(KEPT, minutes)
    with machine("gemini-4x4x4", Shape().rate_scale) as bench:
        named(bench, FAULTS, LOAD, pieces)
        counters(bench, pieces)
        clean(bench, clean_runs, pieces)
    if not pieces.is_over:
        with machine("gemini-4x4x4-two-nodes", 5e-5) as bench:
            named(bench, PAIR_FAULTS, ("--size", "128KiB", "--messages", "2"), pieces)
    figures = {kind: [row for row in pieces.rows if row["kind"] == kind] for kind in KINDS}
    show(figures)
    return figures


def named(bench: Machine, faults: Sequence[Fault], load: Sequence[str], pieces: Pieces) -> None:
    """Inject each fault alone; save what topobw named, right and wrong."""
    for fault in faults:
        key = (bench.topology.name, fault.link, *fault.options)
        if pieces.is_over or pieces.get(*key) is not None:
            continue
        railyard("fault", NAME, fault.link, *fault.options)
        document, launch = bench.run(*load, "--tolerance", f"{fault.tolerance_percent:g}")
        railyard("fault", NAME, "--restore")
        _show(pieces.add({"kind": "fault", **_named(fault, document), **launch}, *key))


def _named(fault: Fault, document: dict[str, Any]) -> dict[str, Any]:
    findings = document["verdict"]["findings"]
    right = [finding for finding in findings if set(finding["links"]) == fault.sought]
    return {
        "fault": fault.what,
        "link": fault.link,
        "named": bool(right),
        "besides": len(findings) - len(right),
        "missing_percent": right[0]["missing_percent"] if right else 0.0,
    }


def clean(bench: Machine, runs: int, pieces: Pieces) -> None:
    """Launch without a fault; save alarms, seconds and phases."""
    for number in range(runs):
        if pieces.is_over or pieces.get("clean", number) is not None:
            continue
        document, launch = bench.run(*LOAD, "--repeats", "1")
        verdict = document["verdict"]
        phases = len({(link["link"][0], link["phase"]) for link in verdict["links"]})
        alarms = [finding["text"] for finding in verdict["findings"]]
        row = {"kind": "clean", "alarms": alarms, "phases": phases, "nodes": len(bench.topology.nodes)}
        _show(pieces.add(row | launch, "clean", number))


def counters(bench: Machine, pieces: Pieces) -> None:
    """Save the time that the counters library takes, by rank 0's clock. From outside it is lost in the noise."""
    for number in range(COUNTED_RUNS):
        if pieces.is_over or pieces.get("counters", number) is not None:
            continue
        document, launch = bench.run(*LOAD, "--counters", str(bench.folder / "counted"))
        row = {"kind": "counters", "counters_s": document["verdict"]["counters_seconds"]}
        _show(pieces.add(row | launch, "counters", number))


def _show(row: Row) -> None:
    print(json.dumps(row), flush=True)


def show(figures: dict[str, list[Row]]) -> None:
    """Print a table of the faults, and a line for the rest."""
    faults, counted, runs = (figures[kind] for kind in KINDS)
    table = Table("fault", "link", "named", "besides", "missing (%)", "s", "load", title="faults")
    for row in faults:
        numbers = (f"{row['missing_percent']:.1f}", f"{row['s']:.1f}", f"{row['load']:.0f}")
        table.add_row(row["fault"], row["link"], str(row["named"]), str(row["besides"]), *numbers)
    console.print(table, f"{sum(row['named'] for row in faults)} of {len(faults)} faults named\n")
    if counted:
        seconds = [row["counters_s"] for row in counted]
        shares = [100 * row["counters_s"] / row["s"] for row in counted]
        console.print(
            f"counters add {median(shares):.2f} % to a launch's time, {median(seconds):.3f} s "
            f"(median of {len(counted)} launches)"
        )
    sound = [row for row in runs if row["guard"] == "ok"]
    if sound:
        alarmed = [row for row in sound if row["alarms"]]
        loads = f"load {min(row['load'] for row in sound):.0f} to {max(row['load'] for row in sound):.0f}"
        console.print(
            f"{len(sound)} clean runs: {len(alarmed)} with a false alarm; a run takes "
            f"{median(row['s'] for row in sound):.1f} s; {loads}; {len(runs) - len(sound)} more were void"
        )
        nodes = sound[0]["nodes"]
        console.print(
            f"{sound[0]['phases']} phases; all pairs of {nodes} nodes (mpiGraph) take {nodes - 1} steps"
        )
        for row in alarmed:
            console.print(f"  {row['alarms']}")


def railyard(*arguments: str) -> None:
    """Run `railyard torus ...`. Exit status 5, topobw's bad verdict, is a result."""
    command = [str(Path(sys.executable).with_name("railyard")), "torus", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 5):
        raise SystemExit(f"bench: {' '.join(command)}: {done.stderr or done.stdout}")


def options(parser: argparse.ArgumentParser) -> None:
    """Add how many launches have no fault."""
    parser.add_argument(
        "--clean",
        type=int,
        default=CLEAN_RUNS,
        help="topobw: launches without a fault  [default: %(default)s]",
    )
