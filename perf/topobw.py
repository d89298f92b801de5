"""topobw against faults and against itself: every injected fault named, no alarm without one, time, phases, counters.

`python -m perf.topobw [CLEAN_RUNS]` runs it alone; 100 clean runs take 20 minutes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from placements.launchers import files
from placements.topology import catalog
from railyard.checkout import CHECKOUT
from railyard.torus.plan.plan import Shape
from railyard.torus.virtual import lifecycle

PROGRAM = CHECKOUT / "build/benchmarks-openmpi/bin/topobw"
NAME = "bench-topobw"
CLEAN_RUNS = 100
COUNTED_RUNS = 5
LOAD = ("--size", "64KiB", "--messages", "4", "--routes", "strict")
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
        """The directed links that must be named."""
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

    def run(self, *options: str) -> tuple[dict[str, Any], float]:
        """One launch on all nodes: its document and its seconds."""
        output = self.folder / "output.json"
        files = ["--coordinates", f"{self.folder}/coordinates", "--links", f"{self.folder}/links"]
        ranks = str(len(self.topology.nodes))
        begun = time.monotonic()
        railyard("mpirun", NAME, "-q", "-np", ranks, str(PROGRAM), *files, *options, "--json", str(output))
        seconds = time.monotonic() - begun
        document: dict[str, Any] = json.loads(output.read_text())
        output.unlink()
        return document, seconds


@contextmanager
def machine(name: str, rate_scale: float) -> Iterator[Machine]:
    """The torus of a topology, up for as long as the block lasts."""
    lifecycle.up(catalog.load(name), name=NAME, shape=Shape(rate_scale=rate_scale))
    try:
        with tempfile.TemporaryDirectory() as folder:
            yield Machine(name, Path(folder))
    finally:
        lifecycle.down(NAME)


def measure(clean_runs: int = CLEAN_RUNS) -> dict[str, Any]:
    """All figures, each printed as it is known."""
    figures: dict[str, Any] = {}
    with machine("gemini-4x4x4", Shape().rate_scale) as made:
        figures["faults"] = named(made, FAULTS, LOAD)
        figures["counters"] = counters(made)
        figures["clean"] = clean(made, clean_runs)
    with machine("gemini-4x4x4-two-nodes", 5e-5) as made:
        figures["pair_faults"] = named(made, PAIR_FAULTS, ("--size", "128KiB", "--messages", "2"))
    return figures


def named(made: Machine, faults: Sequence[Fault], load: Sequence[str]) -> list[dict[str, Any]]:
    """Each fault alone: what was named, and what was not there."""
    table = Table(
        "fault", "link", "named", "besides", "missing (%)", "s", title=f"faults, {made.topology.name}"
    )
    rows = []
    for fault in track(faults, description="faults", transient=True):
        railyard("fault", NAME, fault.link, *fault.options)
        document, seconds = made.run(*load, "--tolerance", f"{fault.tolerance_percent:g}")
        railyard("fault", NAME, "--restore")
        row = _named(fault, document) | {"seconds": seconds}
        rows.append(row)
        missing = f"{row['missing_percent']:.1f}"
        table.add_row(
            fault.what, fault.link, str(row["named"]), str(row["besides"]), missing, f"{seconds:.1f}"
        )
    console.print(table, f"{sum(row['named'] for row in rows)} of {len(rows)} faults named\n")
    return rows


def _named(fault: Fault, document: dict[str, Any]) -> dict[str, Any]:
    findings = document["verdict"]["findings"]
    right = [each for each in findings if set(each["links"]) == fault.sought]
    return {
        "fault": fault.what,
        "link": fault.link,
        "named": bool(right),
        "besides": len(findings) - len(right),
        "missing_percent": right[0]["missing_percent"] if right else 0.0,
    }


def clean(made: Machine, runs: int) -> dict[str, Any]:
    """Short runs without a fault: alarms, seconds of a run, phases against a test of all pairs."""
    alarms, times = [], []
    for _ in track(range(runs), description="clean runs", transient=True):
        document, seconds = made.run(*LOAD, "--repeats", "1")
        alarms += [finding["text"] for finding in document["verdict"]["findings"]]
        times.append(seconds)
    phases = len({(link["link"][0], link["phase"]) for link in document["verdict"]["links"]}) if runs else 0
    nodes = len(made.topology.nodes)
    console.print(f"{runs} clean runs: {len(alarms)} false alarms; a run takes {median(times):.1f} s")
    console.print(f"{phases} phases; a test of all pairs of {nodes} nodes (mpiGraph) takes {nodes - 1} steps")
    for alarm in alarms:
        console.print(f"  {alarm}")
    return {"runs": runs, "alarms": alarms, "median_s": median(times), "phases": phases, "steps": nodes - 1}


def counters(made: Machine) -> dict[str, float]:
    """What the counters library takes of a launch, by rank 0's clock: from outside it is less than launches vary."""
    shares, seconds = [], []
    for _ in track(range(COUNTED_RUNS), description="counters", transient=True):
        document, launch_s = made.run(*LOAD, "--counters", str(made.folder / "counted"))
        seconds.append(document["verdict"]["counters_seconds"])
        shares.append(100 * seconds[-1] / launch_s)
    console.print(
        f"counters add {median(shares):.2f} % to a launch's time, {median(seconds):.3f} s "
        f"(median of {COUNTED_RUNS} launches)\n"
    )
    return {"added_percent": median(shares), "seconds": median(seconds), "runs": COUNTED_RUNS}


def railyard(*arguments: str) -> None:
    """`railyard torus ...`; topobw's bad verdict, status 5, is a result."""
    command = [str(Path(sys.executable).with_name("railyard")), "torus", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 5):
        raise SystemExit(f"bench: {' '.join(command)}: {done.stderr or done.stdout}")


if __name__ == "__main__":
    measure(int(sys.argv[1]) if len(sys.argv) > 1 else CLEAN_RUNS)
