"""GPCNeT's own congestion impact factors beside railyard's, of the samples of one run of GPCNeT.

    python -m perf.models.gpcnet_factors FOLDER OUTPUT

FOLDER has the distributions that `network_load_test` writes when it is built with -DVERBOSE (a stage directory of the
check `gpcnet`), OUTPUT what it printed. A distribution has 100,000 buckets: its samples are known to that grain.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from analysis.stats import impact
from analysis.stats.impact import Samples, Statistic
from railyard.applications import gpcnet
from railyard.base.errors import InputError
from railyard.records.units import Better

#: Beginning of a victim's name as it is printed -> the name of its files, and the better direction.
FILES = {
    "RR Two-sided Lat": ("p2p_latency", Better.LOWER),
    "RR Two-sided BW+Sync": ("p2p_neighbors", Better.HIGHER),
    "Multiple Allreduce": ("allreduce_latency", Better.LOWER),
}
STATISTICS = {"average": Statistic.AVERAGE, "p99": Statistic.P99}


def samples(path: Path) -> list[float]:
    """Return the samples of a distribution, each as the lower edge of its bucket."""
    rows = np.loadtxt(path, skiprows=2)
    if rows.ndim != 2 or rows.shape[1] != 3 or not rows[:, 2].sum():
        raise InputError(str(path), "distribution", problem="no samples", valid="bin, value and count a line")
    return [float(value) for value in np.repeat(rows[:, 1], rows[:, 2].astype(np.int64))]


def compared(folder: Path, output: Path) -> Iterator[tuple[str, str, float, float]]:
    """Return each victim's name and statistic, the factor that GPCNeT printed, and ours."""
    printed = gpcnet.parse(output.read_text(), "", output.name).series
    for each in printed:
        if each.fom != "impact_percent":
            continue
        labels = dict(each.labels)
        stem, better = next(found for name, found in FILES.items() if str(labels["test"]).startswith(name))
        measured = Samples(
            alone=[samples(folder / f"{stem}_baseline.dat")],
            loaded=[samples(folder / f"{stem}_with_congestors.dat")],
            better=better,
        )
        ours = next(
            found.value
            for found in impact.factors([measured])[0]
            if found.statistic is STATISTICS[str(labels["statistic"])]
        )
        yield str(labels["test"]), str(labels["statistic"]), each.samples[0] / 100, ours or float("nan")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m perf.models.gpcnet_factors", description="GPCNeT's factors and ours"
    )
    parser.add_argument("folder", type=Path, help="folder of the distributions")
    parser.add_argument("output", type=Path, help="file of what the program printed")
    asked = parser.parse_args()
    table = Table("victim", "statistic", "GPCNeT, one decimal", "railyard", title="congestion impact factors")
    for test, statistic, theirs, ours in compared(asked.folder, asked.output):
        table.add_row(test, statistic, f"{theirs:.1f}", f"{ours:.3f}")
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
