"""A virtual dragonfly and a virtual fat tree beside their simulations: the ratios of two placements.

Twelve nodes each. The ranks of halo, alltoall and allreduce are placed `plain` and `random:1`; a program's ratio is its
time under `random:1` over that under `plain`. The simulation is calibrated for the virtual network, whose links are so
slow that latencies do not count, and it takes Open MPI's algorithms. A ratio is void where the load of this machine
could have made one of the emulated times too long by more than 5 %, as the launch reports. `python -m
perf.flies_emulated REPEATS` runs it alone.
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table

from perf.rivals import network
from placements.launchers import files
from placements.orders.allocation import allocate
from placements.orders.placement import place
from placements.topology.base import Topology
from railyard.checkout import CHECKOUT
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
RAILYARD = str(Path(sys.executable).with_name("railyard"))


def measure(console: Console, repeats: int = 3) -> list[dict[str, Any]]:
    """Return for each machine and program both ratios, how far they are apart, and whether they are void."""
    rows = []
    table = Table("machine", "program", "emulated", "simulated", "apart (%)", "error bound (%)", "")
    for name, topology in MACHINES.items():
        with tempfile.TemporaryDirectory() as folder:
            lifecycle.up(topology, name=NAME, shape=Shape(rate_scale=RATE_SCALE))
            try:
                rows += [_row(name, topology, program, (Path(folder), repeats)) for program in PROGRAMS]
            finally:
                lifecycle.down(NAME)
    for row in rows:
        numbers = (f"{row[key]:.3f}" for key in ("emulated", "simulated"))
        more = (f"{row['apart_percent']:.1f}", f"{row['bound_percent']:.1f}", "void" if row["void"] else "")
        table.add_row(row["machine"], row["program"], *numbers, *more)
    console.print(table, "")
    return rows


def _row(machine: str, topology: Topology, program: str, run: tuple[Path, int]) -> dict[str, Any]:
    folder, repeats = run
    emulated, simulated, bounds = [], [], [0.0]
    for placement in PLACEMENTS:
        nodes = place(placement, allocate(topology, "contiguous"), GRID).nodes
        hosts, document = folder / "hosts", folder / "fly.yml"
        hosts.write_text(files.openmpi_hostfile(nodes))
        document.write_text(yaml.safe_dump(topology.to_dict()))
        launch = ("-q", "-np", "12", "--map-by", "seq", "--hostfile", str(hosts), "--bind-to", "none")
        samples, bound = _run(("torus", "mpirun", NAME, "--", *launch), "openmpi", program, (folder, repeats))
        emulated.append(statistics.median(samples))
        bounds.append(bound)
        samples, _ = _run(
            ("sim", "--calibration", "virtual-torus", "--hostfile", str(hosts), str(document)),
            "simgrid",
            program,
            (folder, 1),
        )
        simulated.append(statistics.median(samples))
    ratios = emulated[1] / emulated[0], simulated[1] / simulated[0]
    row = {
        "machine": machine,
        "program": program,
        "emulated": ratios[0],
        "simulated": ratios[1],
        "apart_percent": 100 * abs(ratios[0] / ratios[1] - 1),
        "bound_percent": max(bounds),
        "void": max(bounds) > LIMIT_PERCENT,
    }
    print(json.dumps(row), flush=True)
    return row


def _run(
    before: tuple[str, ...], build: str, program: str, run: tuple[Path, int]
) -> tuple[list[float], float]:
    """Return a program's samples, and by how many percent load may have made them too long."""
    binary, fom, options = PROGRAMS[program]
    folder, repeats = run
    output = folder / "output.json"
    path = str(CHECKOUT / f"build/benchmarks-{build}/bin" / binary)
    times = ("--repeats", str(repeats), "--warmups", "1", "--min-time-per-point", "0")
    command = [RAILYARD, *before, path, *options, *times, "--json", str(output)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = re.search(r"may be up to ([\d.]+) % too long", done.stderr + done.stdout)
    series = json.loads(output.read_text())["series"]
    return next(s["samples"] for s in series if s["fom"] == fom), float(found[1]) if found else 0.0


if __name__ == "__main__":
    measure(Console(width=110), *map(int, sys.argv[1:]))
