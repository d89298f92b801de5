"""The simulated torus: what every figure of the papers takes of this machine.

Each row is one launch of `railyard sim` as the checks of study pena2013 make it: seconds of this machine, its memory at
most, and the simulated result that the row is about. As many launches run at a time as there are processors, as long as
their memory together stays below the limit; the last line is the time of all of them, from the first to the last.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from placements.launchers import files as launcher_files
from placements.launchers import render as render_launch
from placements.orders.allocation import allocate, within
from placements.orders.placement import Placement, place
from placements.topology import catalog
from railyard.base.checkout import CHECKOUT
from railyard.torus.simulated import smpi

PROGRAMS = CHECKOUT / "build/benchmarks-simgrid/bin"
RAILYARD = Path(sys.executable).parent / "railyard"
COORDINATES = ("--coordinates", "coordinates")
#: Every launch checks its data in an exchange before the timed one.
ONCE = ("--repeats", "1", "--warmups", "0")
AT_ONCE = (*ONCE, "--warmup-time", "0", "--min-time-per-point", "0")
MEMORY_GIB = 4.0
PLACEMENTS = ("plain", "cart-create", "custom")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One launch: a placement of a grid on a block of a topology, and the program's options.

    `memory_gib` is what it takes of this machine's memory, as measured, rounded up.
    """

    name: str
    topology: str = "blue-waters"
    grid: tuple[int, ...] = ()
    program: tuple[str, ...]
    memory_gib: float = 0.5
    block: tuple[int, ...] = ()
    cube: tuple[int, ...] = ()
    order: str = "snake"
    placement: str = "cart-create"

    def placed(self) -> Placement:
        """Who runs where."""
        granted = allocate(catalog.load(self.topology), self.order, block=self.block or None)
        if self.cube:
            granted = within(granted, self.cube)
        return place(self.placement, granted, self.grid or (len(granted.indices),))


def _halo(side: int, dimensions: int, placement: str) -> Row:
    """Figure 6: faces of 512 KiB as the paper has them, in 3D of 72 KiB."""
    grid, block = (side,) * dimensions, (side, side // 2, side if dimensions == 3 else 1)
    cells, memory = ("65536", "4MiB") if dimensions == 2 else ("96", "576KiB")
    words = ("halo", "--grid", "x".join(map(str, grid)), "--cells", cells, "--face-memory", memory, *ONCE)
    letter, rank_mib = ("a", 23) if dimensions == 2 else ("b", 6)
    name = f"Fig. 6{letter}, {'x'.join(map(str, grid))}, {placement}"
    gib = rank_mib * side**dimensions / 1024
    return Row(name=name, grid=grid, block=block, placement=placement, program=words, memory_gib=gib)


def _collectives(collective: str, splits: str) -> Row:
    return Row(
        name=f"Fig. 5, {collective}, {splits}",
        grid=(7, 7, 7),
        block=(7, 4, 7),
        cube=(7, 7, 7),
        order="contiguous",
        program=(
            *("rowcol", *COORDINATES, "--collectives", collective, "--splits", splits),
            *("--sizes", "16KiB", *AT_ONCE, "--max-time-per-point", "0"),
        ),
        memory_gib=0.9,
    )


#: The longest first, so that no processor waits at the end.
ROWS = (
    *(_halo(8, 3, placement) for placement in PLACEMENTS),
    *(
        _collectives(name, splits)
        for name in ("alltoall", "allgather")
        for splits in ("XZ", "XY,YZ", "X,Y,Z")
    ),
    *(_halo(side, 2, placement) for side in (12, 10, 8) for placement in PLACEMENTS),
    *(_halo(6, 3, placement) for placement in PLACEMENTS),
    Row(
        name="Fig. 3, hops to 12",
        topology="gemini-24x1x24",
        order="axes",
        program=("hops", *COORDINATES, "--sizes", "0,1MiB", "--window", "16", *AT_ONCE),
    ),
    Row(
        name="Fig. 4, parallel paths",
        block=(7, 4, 7),
        order="contiguous",
        program=(
            *("paths", *COORDINATES, "--sizes", "1MiB", "--tests", "bandwidth", "--window", "16", *AT_ONCE),
        ),
    ),
    *(_halo(side, 2, placement) for side in (6, 4, 2) for placement in PLACEMENTS),
    *(_halo(4, 3, placement) for placement in PLACEMENTS),
)


class _Queue:
    """Rows that wait, and the GiB of this machine that those under way leave: the first that fits is next."""

    def __init__(self, rows: Sequence[Row], gib: float) -> None:
        self._rows, self._free_gib, self._changed = [*rows], gib, threading.Condition()

    def work_off(self) -> Iterator[Row]:
        """Rows, one after the other, until none is left; several threads may do so."""
        while (row := self._next()) is not None:
            try:
                yield row
            finally:
                with self._changed:
                    self._free_gib += row.memory_gib
                    self._changed.notify_all()

    def _next(self) -> Row | None:
        with self._changed:
            while self._rows:
                row = next((each for each in self._rows if each.memory_gib <= self._free_gib), None)
                if row is not None:
                    self._rows.remove(row)
                    self._free_gib -= row.memory_gib
                    return row
                self._changed.wait()
        return None


def measure(console: Console) -> Mapping[str, Any]:
    """Run every row, print the table; nothing where SimGrid is absent."""
    if reason := smpi.missing():
        console.print(f"simulated: {reason}")
        return {}
    queue, start_s = _Queue(ROWS, MEMORY_GIB), time.perf_counter()
    workers, names = os.cpu_count() or 1, [row.name for row in ROWS]
    with ThreadPoolExecutor(max_workers=workers) as pool:
        done = pool.map(lambda _: [_run(row) for row in queue.work_off()], range(workers))
        found = sorted(itertools.chain(*done), key=lambda each: names.index(each["figure"]))
    wall_s = time.perf_counter() - start_s
    table = Table("figure", "ranks", "s here", "MiB here", title="simulated torus, one launch each")
    for row in found:
        table.add_row(row["figure"], str(row["ranks"]), f"{row['time_s']:.1f}", f"{row['memory_mib']:.0f}")
    console.print(table)
    console.print(f"all of them: {wall_s:.0f} s on {workers} processors, {MEMORY_GIB:g} GiB at most")
    return {"wall_s": wall_s, "rows": found}


def _run(row: Row) -> Mapping[str, Any]:
    placed = row.placed()
    topology = placed.allocation.topology
    with tempfile.TemporaryDirectory(prefix="railyard-bench-") as name:
        folder = Path(name)
        rendered = render_launch("smpi", placed, stem="ranks")
        (folder / "coordinates").write_text(launcher_files.coordinates(topology, placed.allocation.nodes))
        for file, text in rendered.files.items():
            (folder / file).write_text(text)
        start_s = time.perf_counter()
        subprocess.run(
            [*rendered.command, *row.program, "--json", "out.json"],
            cwd=folder,
            env={
                **os.environ,
                "PATH": f"{PROGRAMS}:{RAILYARD.parent}:{os.environ['PATH']}",
                "RAILYARD_EVIDENCE": str(folder / "evidence"),
            },
            stdout=subprocess.DEVNULL,
            check=True,
        )
        taken_s = time.perf_counter() - start_s
        series = json.loads((folder / "out.json").read_text())["series"]
        evidence = json.loads((folder / "evidence").read_text())
    return {
        "figure": row.name,
        "ranks": len(placed.nodes),
        "time_s": taken_s,
        "memory_mib": evidence["simulation"]["memory_mib"],
        "series": [each for each in series if each["fom"] not in {"split_us", "pack_us", "unpack_us"}],
    }
