"""A virtual dragonfly and a virtual fat tree beside their simulations: the ratios of two placements.

Twelve nodes each. The ranks of halo, alltoall and allreduce are placed `plain` and `random:1`; a program's ratio is its
time under `random:1` over that under `plain`. The simulation is calibrated for the virtual network, whose links are so
slow that latencies do not count, and it takes Open MPI's algorithms. A ratio is void where the load of this machine
could have made one of the emulated times too long by more than 5 %, as the launch's evidence reports.

`python -m perf.torus.flies_emulated REPEATS MINUTES` runs it alone. Each time is saved in build/flies-emulated.jsonl.
The next call measures the missing ones, and repeats each launch whose error bound is above 5 %. Of the launches of
one placement, the one with the lowest bound is used.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table

from perf.models.rivals import network
from perf.pieces import Pieces
from placements.launchers import files
from placements.orders.allocation import allocate
from placements.orders.placement import place
from placements.topology.base import Topology
from railyard.base.checkout import BUILD, CHECKOUT
from railyard.torus.plan.plan import Shape
from railyard.torus.virtual import lifecycle

NAME, GRID, RATE_SCALE = "bench-flies", (4, 3), 0.00003
LIMIT_PERCENT = 5.0
PLACEMENTS = ("plain", "random:1")
MACHINES: dict[str, Topology] = {
    "dragonfly": network("dragonfly", {"groups": 4, "routers": 3}, 1),
    "fat tree": network(
        "fat_tree", {"levels": [{"children": 2, "parents": 1}, {"children": 3, "parents": 1}]}, 2
    ),
}
ROWCOL = ("--batch", "1", "--start", "barrier")
PROGRAMS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "halo": ("halo", "exchange_us", ("--grid", "4x3", "--cells", "16384")),
    "alltoall": ("rowcol", "slowest_us", ("--collectives", "alltoall", "--sizes", "64KiB", *ROWCOL)),
    "allreduce": ("rowcol", "slowest_us", ("--collectives", "allreduce", "--sizes", "512KiB", *ROWCOL)),
}
#: What the guard of a simulation would be: no load of this machine makes its times longer.
SIMULATED = {"verdict": "ok", "error_bound_percent": 0.0}
RAILYARD = str(Path(sys.executable).with_name("railyard"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A program on a machine, with the ranks placed in one way."""

    machine: str
    program: str
    placement: str

    @property
    def key(self) -> tuple[str, str, str]:
        """Return the name of its rows."""
        return self.machine, self.program, self.placement


def measure(console: Console, repeats: int = 3, minutes: float | None = None) -> list[dict[str, Any]]:
    """Return for each machine and program both ratios, how far they are apart, and whether they are void."""
    pieces = Pieces(BUILD / "flies-emulated.jsonl", minutes)
    for name, topology in MACHINES.items():
        todo = [
            Case(machine=name, program=program, placement=placement)
            for program in PROGRAMS
            for placement in PLACEMENTS
        ]
        todo = [case for case in todo if _is_open(pieces, case)]
        if todo and not pieces.is_over:
            lifecycle.up(topology, name=NAME, shape=Shape(rate_scale=RATE_SCALE))
            try:
                for case in todo:
                    if not pieces.is_over:
                        _add(pieces, case, repeats)
            finally:
                lifecycle.down(NAME)
    rows = [row for name in MACHINES for program in PROGRAMS if (row := _row(pieces, name, program))]
    table = Table("machine", "program", "emulated", "simulated", "apart (%)", "error bound (%)", "")
    for row in rows:
        numbers = (f"{row[key]:.3f}" for key in ("emulated", "simulated"))
        more = (f"{row['apart_percent']:.1f}", f"{row['bound_percent']:.1f}", "void" if row["void"] else "")
        table.add_row(row["machine"], row["program"], *numbers, *more)
    console.print(table, "")
    return rows


def _is_open(pieces: Pieces, case: Case) -> bool:
    row = pieces.get(*case.key)
    return row is None or row["bound_percent"] > LIMIT_PERCENT


def _add(pieces: Pieces, case: Case, repeats: int) -> None:
    """Measure a case; a launch with a lower error bound replaces the one before it."""
    before = pieces.get(*case.key)
    topology = MACHINES[case.machine]
    nodes = place(case.placement, allocate(topology, "contiguous"), GRID).nodes
    with tempfile.TemporaryDirectory() as name:
        hosts, document = Path(name) / "hosts", Path(name) / "fly.yml"
        hosts.write_text(files.openmpi_hostfile(nodes))
        document.write_text(yaml.safe_dump(topology.to_dict()))
        launch = ("-q", "-np", "12", "--map-by", "seq", "--hostfile", str(hosts), "--bind-to", "none")
        emulated, bound = _run(("torus", "mpirun", NAME, "--", *launch), "openmpi", case.program, repeats)
        words = ("sim", "--calibration", "virtual-torus", "--hostfile", str(hosts), str(document))
        simulated, _ = _run(words, "simgrid", case.program, 1)
    row = {"emulated": emulated, "simulated": simulated, "bound_percent": bound, "load": os.getloadavg()[0]}
    print(case.key, json.dumps(row), flush=True)
    if before is None or bound < before["bound_percent"]:
        pieces.add(row, *case.key)


def _row(pieces: Pieces, machine: str, program: str) -> dict[str, Any] | None:
    """Return a program's ratios; None where a launch is missing."""
    plain, other = (pieces.get(machine, program, placement) for placement in PLACEMENTS)
    if plain is None or other is None:
        return None
    emulated, simulated = (
        statistics.median(other[column]) / statistics.median(plain[column])
        for column in ("emulated", "simulated")
    )
    bound = max(plain["bound_percent"], other["bound_percent"])
    return {
        "machine": machine,
        "program": program,
        "emulated": emulated,
        "simulated": simulated,
        "apart_percent": 100 * abs(emulated / simulated - 1),
        "bound_percent": bound,
        "void": bound > LIMIT_PERCENT,
    }


def _run(before: tuple[str, ...], build: str, program: str, repeats: int) -> tuple[list[float], float]:
    """Return a program's samples, and by how many percent load may have made them too long."""
    binary, fom, options = PROGRAMS[program]
    path = str(CHECKOUT / f"build/benchmarks-{build}/bin" / binary)
    times = ("--repeats", str(repeats), "--warmups", "1", "--min-time-per-point", "0")
    with tempfile.TemporaryDirectory() as name:
        output, evidence = Path(name) / "output.json", Path(name) / "evidence.json"
        command = [RAILYARD, *before, path, *options, *times, "--json", str(output)]
        environment = {**os.environ, "RAILYARD_EVIDENCE": str(evidence)}
        subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        series = json.loads(output.read_text())["series"]
        guard = SIMULATED if build == "simgrid" else json.loads(evidence.read_text())["guard"]
    return next(s["samples"] for s in series if s["fom"] == fom), _bound_percent(guard)


def _bound_percent(guard: Mapping[str, Any]) -> float:
    """Return the error bound that a launch reports: infinite where it is void for another reason, or has none."""
    bound = guard["error_bound_percent"]
    return math.inf if guard["verdict"] == "void" or bound is None else float(bound)


if __name__ == "__main__":
    measure(Console(width=110), *map(int, sys.argv[1:]))
