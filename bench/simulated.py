"""The simulated torus: what every figure of the papers takes of this machine.

Each row is one launch of `railyard sim` as the checks of study pena2013 make it: seconds of this machine, its memory at
most, and the simulated result that the row is about.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from placements import render
from placements import topology as topologies
from placements.allocation import allocate, within
from placements.placement import place
from torus import calibration, smpi
from torus.smpi import Launch, Nic

CHECKOUT = Path(__file__).resolve().parent.parent
PROGRAMS = CHECKOUT / "build/benchmarks-simgrid/bin"
COORDINATES = ("--coordinates", "coordinates")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One launch: a placement of a grid on a block of a topology, and the program's options."""

    name: str
    topology: str
    grid: tuple[int, ...]
    program: tuple[str, ...]
    block: tuple[int, ...] = ()
    cube: tuple[int, ...] = ()
    order: str = "snake"
    placement: str = "cart-create"


ROWS = (
    Row(
        name="Fig. 3, hops to 12",
        topology="gemini-24x1x24",
        grid=(),
        order="axes",
        program=(
            "hops",
            *COORDINATES,
            "--sizes",
            "0,1MiB",
            "--window",
            "16",
            "--repeats",
            "1",
            "--warmups",
            "0",
        ),
    ),
    Row(
        name="Fig. 4, parallel paths",
        topology="blue-waters",
        grid=(),
        block=(7, 4, 7),
        order="contiguous",
        program=(
            "paths",
            *COORDINATES,
            "--sizes",
            "1MiB",
            "--tests",
            "bandwidth",
            "--window",
            "16",
            "--repeats",
            "1",
        ),
    ),
    *(
        Row(
            name=f"Fig. 5, {collective}",
            topology="blue-waters",
            grid=(7, 7, 7),
            block=(7, 4, 7),
            cube=(7, 7, 7),
            order="contiguous",
            program=(
                "rowcol",
                *COORDINATES,
                "--collectives",
                collective,
                "--sizes",
                "4KiB,16KiB",
                "--repeats",
                "1",
            ),
        )
        for collective in ("alltoall", "allgather")
    ),
    *(
        Row(
            name=f"Fig. 6a, 12x12, {placement}",
            topology="blue-waters",
            grid=(12, 12),
            block=(12, 6, 1),
            placement=placement,
            program=(
                "halo",
                "--grid",
                "12x12",
                "--cells",
                "65536",
                "--face-memory",
                "4MiB",
                "--repeats",
                "1",
            ),
        )
        for placement in ("plain", "cart-create", "custom")
    ),
    *(
        Row(
            name=f"Fig. 6b, 8x8x8, {placement}",
            topology="blue-waters",
            grid=(8, 8, 8),
            block=(8, 4, 8),
            placement=placement,
            program=("halo", "--grid", "8x8x8", "--cells", "96", "--face-memory", "576KiB", "--repeats", "3"),
        )
        for placement in ("plain", "cart-create", "custom")
    ),
)


def measure(console: Console) -> list[Mapping[str, Any]]:
    """Run every row, print the table; nothing where SimGrid is absent."""
    if reason := smpi.missing():
        console.print(f"simulated: {reason}")
        return []
    os.environ["PATH"] = f"{PROGRAMS}:{os.environ['PATH']}"
    table = Table("figure", "ranks", "s here", "MiB here", title="simulated torus, one launch each")
    found = []
    for row in ROWS:
        taken = _run(row)
        found.append(taken)
        table.add_row(row.name, str(taken["ranks"]), f"{taken['time_s']:.1f}", f"{taken['memory_mib']:.0f}")
    console.print(table)
    return found


def _run(row: Row) -> Mapping[str, Any]:
    topology = topologies.load(row.topology)
    granted = allocate(topology, row.order, block=row.block or None)
    if row.cube:
        granted = within(granted, row.cube)
    placed = place(row.placement, granted, row.grid or (len(granted.indices),))
    with tempfile.TemporaryDirectory() as name:
        folder, before = Path(name), Path.cwd()
        (folder / "coordinates").write_text(render.coordinates(topology, granted.nodes))
        launch = Launch(
            topology=topology,
            ranks=[Nic(node=node) for node in placed.nodes],
            program=[*row.program, "--json", "out.json"],
            calibration=calibration.load(calibration.usual(topology)),
        )
        os.chdir(folder)
        start = time.perf_counter()
        try:
            ended = smpi.run(launch)
        finally:
            os.chdir(before)
        taken_s = time.perf_counter() - start
        series = json.loads((folder / "out.json").read_text())["series"]
    return {
        "figure": row.name,
        "ranks": len(launch.ranks),
        "time_s": taken_s,
        "memory_mib": ended.memory_mib,
        "series": [each for each in series if each["fom"] not in {"split_us", "pack_us", "unpack_us"}],
    }
