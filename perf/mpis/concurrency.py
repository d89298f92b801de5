"""What concurrent pairs share, a slow direction, and the common clock: figures whose true value is known.

    python -m perf.mpis.concurrency [--rounds 3] [--minutes M]

`apart`     paths on a torus with one node per router: two paths along X are on lines of their own, so 2.00
`shared`    two nodes per router: both paths cross the same cable, so 1.00
`outbound`  one pair along X, before and after its first node's NIC sends at 50 %: bidirectional bandwidth falls to 0.50
`clock`     two ranks on this machine that read one clock and exchange pings all the same: bound and error of the clock

A round is one launch of each, and each is kept in build/concurrency.jsonl: a second call goes on where the first
stopped. Windows are so long that an answer's way is less than half a per cent of them. Launches that the guard voids
are counted and enter no figure.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table

from perf import pieces
from perf.mpis.osu import AS_ASKED
from perf.pieces import Pieces
from perf.torus import vtorus
from perf.torus.topobw import railyard
from placements.launchers import files
from placements.topology import catalog
from railyard.base.checkout import BUILD
from railyard.torus.plan.plan import Shape
from railyard.torus.virtual import lifecycle

PROGRAMS = BUILD / "benchmarks-openmpi/bin"
KEPT = BUILD / "concurrency.jsonl"
NAME = "bench-pairs"
#: 1 MB/s a cable, so that messages of 8 bytes fill it on a slow processor, too.
RATE_SCALE = 0.001
ROUNDS = 3
KIB = 1 << 10
#: Size -> messages of a window: half a second on the wire at least.
WINDOWS = {8: 8192, 8 * KIB: 64, 64 * KIB: 8, 1024 * KIB: 1}
TRUE = {"apart": 2.0, "shared": 1.0, "outbound": 0.5}
#: Two rings of four routers side by side; a node's own link has the rate of a cable.
TORUS = """\
name: pairs-{nodes}
nodes_per_router: {nodes}
rails: 1
tile_rates_gbyte_s: {{cable: 1.0, host: 1.0}}
dimensions:
  X: {{extent: 4, tiles: 1, pattern: [cable]}}
  Y: {{extent: 2, tiles: 1, pattern: [cable]}}
  Z: {{extent: 1, tiles: 1, pattern: [cable]}}
host: {{tiles: 1}}
hop_latency_us: 0.1
"""
TIMED = ("--windows", "1", "--warmups", "1", "--min-time-per-point", "0", *AS_ASKED)
console = Console(width=110)


def measure(rounds: int = ROUNDS, minutes: float | None = None) -> dict[str, Any]:
    """Measure the launches that the file lacks; print what all show."""
    kept = Pieces(KEPT, minutes)
    for number in range(rounds):
        _clock(kept, number)
    for nodes, kinds in ((1, ("apart", "outbound")), (2, ("shared",))):
        todo = [(what, n) for n in range(rounds) for what in kinds if kept.get(what, n) is None]
        if todo and not kept.is_over:
            with _torus(nodes) as machine:
                for what, number in todo:
                    if not kept.is_over:
                        print(json.dumps(kept.add(machine.outcome(what), what, number)), flush=True)
    return _show(kept, rounds)


class Machine:
    """A small torus that is up, and the folder of its files."""

    def __init__(self, nodes: int, folder: Path) -> None:
        topology = catalog.parse(yaml.safe_load(TORUS.format(nodes=nodes)), source="pairs")
        self.ranks, self.folder = len(topology.nodes), folder
        self.first = topology.nodes[0].name
        (folder / "coordinates").write_text(files.coordinates(topology))

    def outcome(self, what: str) -> dict[str, Any]:
        """Return the ratio at each size, and the guard's verdict on all launches together."""
        load = os.getloadavg()[0]
        with vtorus.in_one_turn(NAME) as watch:
            found = self._outbound() if what == "outbound" else self._paths()
        guard = watch.guard
        bound = guard.error_bound_percent
        return {"ratios": found, "verdict": str(guard.verdict), "bound_percent": bound, "load": load}

    def _paths(self) -> dict[int, float]:
        rates = self._rates("--paths", "1,2", "--tests", "bandwidth")
        return {size: rates[2, size] / rates[1, size] for size in WINDOWS}

    def _outbound(self) -> dict[int, float]:
        sound = self._rates("--paths", "1", "--tests", "bibandwidth")
        railyard("fault", NAME, self.first, "--injection", "50")
        slow = self._rates("--paths", "1", "--tests", "bibandwidth")
        railyard("fault", NAME, "--restore")
        return {size: slow[1, size] / sound[1, size] for size in WINDOWS}

    def _rates(self, *options: str) -> dict[tuple[int, int], float]:
        """Return the aggregate rate of each number of paths at each size: a window is one size's, so a launch each."""
        found = {}
        for size, window in WINDOWS.items():
            output = self.folder / "output.json"
            words = ["--coordinates", str(self.folder / "coordinates"), "--dimensions", "X", "--hops", "1"]
            words += ["--sizes", f"{size}B", "--window", str(window), "--repeats", "3", *TIMED]
            program = [str(PROGRAMS / "paths"), *words, *options, "--json", str(output)]
            railyard("mpirun", NAME, "-q", "-np", str(self.ranks), *program)
            for series in json.loads(output.read_text())["series"]:
                if series["fom"] == "aggregate_bandwidth_gbyte_s":
                    found[series["labels"]["paths"], size] = median(series["samples"])
        return found


@contextmanager
def _torus(nodes: int) -> Iterator[Machine]:
    topology = catalog.parse(yaml.safe_load(TORUS.format(nodes=nodes)), source="pairs")
    lifecycle.up(topology, name=NAME, shape=Shape(rate_scale=RATE_SCALE))
    try:
        with tempfile.TemporaryDirectory() as folder:
            yield Machine(nodes, Path(folder))
    finally:
        lifecycle.down(NAME)


def _clock(kept: Pieces, number: int) -> None:
    if kept.is_over or kept.get("clock", number) is not None:
        return
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "output.json")
        command = ["mpirun.openmpi", "-q", "--bind-to", "core", "-n", "2", "--mca", "btl", "self,vader"]
        command += [
            str(PROGRAMS / "rowcol"),
            "--clock",
            "pings",
            "--start",
            "clock",
            "--collectives",
            "barrier",
        ]
        as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        subprocess.run(
            [*command, "--json", str(output)], check=True, capture_output=True, env=os.environ | as_root
        )
        parameters = json.loads(output.read_text())["parameters"]
    row = {key: parameters[key] for key in ("clock_bound_us", "clock_error_us")}
    kept.add(row | {"load": os.getloadavg()[0]}, "clock", number)


def _show(kept: Pieces, rounds: int) -> dict[str, Any]:
    table = Table(
        "what", "true", *(f"{size} B" for size in WINDOWS), "launches", "void", title="known ratios"
    )
    figures: dict[str, Any] = {}
    for what, true in TRUE.items():
        rows = [row for number in range(rounds) if (row := kept.get(what, number))]
        sound = [row["ratios"] for row in rows if row["verdict"] == "ok"]
        figures[what] = sound
        cells = [_cell([_of(ratios, size) for ratios in sound]) for size in WINDOWS]
        table.add_row(what, f"{true:.2f}", *cells, str(len(rows)), str(len(rows) - len(sound)))
    console.print(table)
    figures["clock"] = clocks = [row for number in range(rounds) if (row := kept.get("clock", number))]
    for row in clocks:
        bound, error, load = (row[key] for key in ("clock_bound_us", "clock_error_us", "load"))
        console.print(f"clock: bound {bound:.3f} us, error {error:.3f} us, load {load:.0f}")
    return figures


def _of(ratios: Mapping[Any, float], size: int) -> float:
    """Return the ratio at a size, whose key is a word once it comes from the file."""
    return ratios[str(size)] if str(size) in ratios else ratios[size]


def _cell(values: list[float]) -> str:
    return " ".join(f"{value:.3f}" for value in values) or "-"


def main() -> None:
    """Measure so many rounds."""
    parser = argparse.ArgumentParser(
        prog="python -m perf.mpis.concurrency", description="figures with a known truth"
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="launches of each; default: %(default)s")
    pieces.options(parser)
    asked = parser.parse_args()
    measure(asked.rounds, asked.minutes)


if __name__ == "__main__":
    main()
