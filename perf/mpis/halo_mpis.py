"""The halo exchange under every MPI of this machine, on one virtual torus: software against software.

All launches are one job. Every round starts each MPI once, in a new random order, so that drift of the machine affects
all alike. All ranks have the same places. A figure is the median over launches of each launch's median, with the
interval of the median over launches, and the ratio to the first MPI of the same round with its interval. Leaves out
records: the table shows what this machine does, whose cores are shared by all ranks.
"""

from __future__ import annotations

import math
import random
import statistics
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from analysis.stats import medians
from perf.mpis import mpis
from placements import launchers
from placements.orders.allocation import allocate
from placements.orders.placement import place
from placements.topology import catalog
from railyard.jobs.mpis import INSTALLED, Mpi
from railyard.torus.plan.plan import Shape

NAME, TOPOLOGY = "bench-halo-mpis", "gemini-2x2x2"
GRID, CELLS = (2, 2, 2), 64
OPTIONS = (
    "--grid",
    "x".join(map(str, GRID)),
    "--cells",
    "x".join([str(CELLS)] * 3),
    "--repeats",
    "5",
    "--warmups",
    "1",
)
FOM = "exchange_us"
ROUNDS = 6
RATE_SCALE = 3e-4


def measure(console: Console, rounds: int = ROUNDS) -> dict[str, list[float]]:
    """Print the table; return each MPI's medians, one per round. All launches are one job."""
    present = [mpi for mpi in INSTALLED if not mpi.absent()]
    chance = random.Random(1)
    order = [(mpi, number) for number in range(rounds) for mpi in chance.sample(present, len(present))]
    up = mpis.torus(catalog.load(TOPOLOGY), NAME, Shape(rate_scale=RATE_SCALE))
    with up, tempfile.TemporaryDirectory(prefix="railyard-halo-") as folder:
        names = [f"{mpi.launcher}-{mpi.build}-{number}" for mpi, number in order]
        launches = [
            (mpi, _launch(mpi, Path(folder, name))) for (mpi, _), name in zip(order, names, strict=True)
        ]
        mpis.start_as_a_job(launches, NAME)
        times: dict[str, list[float]] = {mpi.name: [] for mpi in present}
        for mpi, launch in launches:
            times[mpi.name].append(_time(mpi, launch))
    console.print(_table(times))
    return times


def _launch(mpi: Mpi, folder: Path) -> mpis.Launch:
    placed = place("cart-create", allocate(catalog.load(TOPOLOGY), "contiguous"), GRID)
    rendered = launchers.render(mpi.launcher, placed, stem="placed")
    return mpis.Launch(
        rendered=rendered, program=[str(mpi.halo), *OPTIONS, "--json", "halo.json"], folder=folder
    )


def _time(mpi: Mpi, launch: mpis.Launch) -> float:
    """Return the median time of an exchange in one launch; exits with the launcher's words where it failed."""
    document = launch.document(mpi, "halo.json")
    if isinstance(document, str):
        raise SystemExit(f"perf: halo under {mpi.name}: {document}")
    (series,) = (each for each in document["series"] if each["fom"] == FOM)
    return float(statistics.median(series["samples"]))


def _table(times: dict[str, list[float]]) -> Table:
    first = next(iter(times))
    table = Table("MPI", f"{FOM}, median", "95 % interval", f"ratio to {first}", "95 % interval")
    for name, values in times.items():
        ratios = [value / base for value, base in zip(values, times[first], strict=True)]
        ratio = medians.median_interval(ratios)
        interval = medians.median_interval(values)
        table.add_row(
            name,
            f"{statistics.median(values):.0f}",
            f"{interval.low:.0f} to {interval.high:.0f}" if interval else "-",
            f"{math.nan if not ratios else statistics.median(ratios):.3f}",
            f"{ratio.low:.3f} to {ratio.high:.3f}" if ratio and name != first else "-",
        )
    return table
