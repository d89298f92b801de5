"""The benchmark suite against its peers, in one run: `hops` beside OSU, halo's packing beside a plain strided copy.

    osu       shared memory and TCP, at every power of two from 1 B to 1 MiB, in pairs of launches whose order
              alternates: latency as the median of single round trips, bandwidth and bidirectional bandwidth over as
              many windows in a row; and `rowcol` beside OSU's allreduce, alltoall, bcast and barrier from 8 B to
              64 KiB: medians of the mean over the ranks of each sample, which starts with a barrier in both
    packing   pack and unpack time of `halo` (one rank, the presets of Pena et al.) against the variant `copy`

Medians of times, because a neighbour that takes the processor for a moment spoils a mean; many short launches, because
the machine drifts from one to the next. OSU prints medians (the lower of two) with `-z50`. Not for bandwidths: its
median there is one of single windows, ours one of samples of many windows, and a few slow windows separate the two.
Window, repeats and buffers are the same. Leaves out OSU where it is not on the PATH and no folder was given: its
programs are osu_latency, osu_bw and osu_bibw of version 7.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median, median_low
from typing import Any

from rich.console import Console
from rich.table import Table

from railyard.checkout import BUILD

PROGRAMS = BUILD / "benchmarks-openmpi/bin"
MPIRUN = ("mpirun.openmpi", "-q", "--bind-to", "core")
TRANSPORTS = {
    "shared memory": ("--mca", "btl", "self,vader"),
    "TCP": ("--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo"),
}
#: Our test -> OSU's program.
TESTS = {"latency": "osu_latency", "bandwidth": "osu_bw", "bibandwidth": "osu_bibw"}
#: Round trips a size, each timed alone.
TRIPS = 200
#: Largest size -> windows in a row, for the sizes above the one before; a tenth of them more as a warm-up.
WINDOWS = {1 << 13: 400, 1 << 20: 20}
SIZES = [1 << power for power in range(21)]
#: Our collective -> OSU's program.
COLLECTIVES = {
    "allreduce": "osu_allreduce",
    "alltoall": "osu_alltoall",
    "bcast": "osu_bcast",
    "barrier": "osu_barrier",
}
COLLECTIVE_SIZES = [1 << power for power in range(3, 17)]
COLLECTIVE_SAMPLES = 200
PRESETS = {"pena2013-2d": 4 * 2 * 65536 * 8, "pena2013-3d": 4 * 3 * 1536 * 1536 * 8}
WINDOW = 64
ROUNDS = 21
#: As many samples as are asked for, of one window or round trip each.
AS_ASKED = ("--warmup-time", "0", "--min-time-per-point", "0", "--max-time-per-point", "0")
console = Console(width=110)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratios:
    """Ours over OSU's, at each size one ratio a round."""

    transport: str
    test: str
    of_size: dict[int, list[float]]

    @property
    def median(self) -> float:
        """Of all pairs."""
        return median(ratio for ratios in self.of_size.values() for ratio in ratios)

    @property
    def sizes(self) -> list[float]:
        """The median of each size, sorted."""
        return sorted(median(ratios) for ratios in self.of_size.values())


def measure(osu: Path | None, rounds: int = ROUNDS) -> dict[str, Any]:
    """Everything; prints tables, returns the figures."""
    figures: dict[str, Any] = {"packing": [packing(preset) for preset in PRESETS]}
    show_packing(figures["packing"])
    folder = find_osu(osu)
    if folder is None:
        console.print("osu: left out, osu_bw is not on the PATH and --osu names no folder\n")
        return figures
    tests = [*TESTS, *COLLECTIVES]
    found = [compare(folder, transport, test, rounds) for transport in TRANSPORTS for test in tests]
    show_osu(found, rounds)
    figures["osu"] = {f"{each.transport}, {each.test}": each.median for each in found}
    return figures


def find_osu(folder: Path | None) -> Path | None:
    """The folder of OSU's point-to-point programs: the one given (or below it), else that of the PATH."""
    if folder is not None:
        below = [path.parent for path in sorted(folder.rglob("osu_bw")) if os.access(path, os.X_OK)]
        if not below:
            raise SystemExit(f"bench: --osu {folder}: no program osu_bw there or below")
        return below[0]
    found = shutil.which("osu_bw")
    return Path(found).parent if found else None


def compare(folder: Path, transport: str, test: str, rounds: int) -> Ratios:
    """Pairs of launches, ours and OSU's, each first in turn."""
    if test in COLLECTIVES:
        both = [partial(_rowcol, transport, test), partial(_osu_collective, folder, transport, test)]
    else:
        both = [partial(_hops, transport, test), partial(_osu, folder, transport, test)]
    of_size: dict[int, list[float]] = {}
    for place in range(rounds):
        order = (1, 0) if place % 2 else (0, 1)
        found = {which: both[which]() for which in order}
        for size, ours in found[0].items():
            of_size.setdefault(size, []).append(ours / found[1][size])
    return Ratios(transport=transport, test=test, of_size=of_size)


def _osu(folder: Path, transport: str, test: str) -> dict[int, float]:
    """Return each size's median round trip / 2 (us), or its rate over all windows (MB/s)."""
    program = str(folder / TESTS[test])
    if test == "latency":
        return _osu_rows(transport, 2, program, "-m", f"1:{SIZES[-1]}", "-z50", *_osu_counts(TRIPS))
    found: dict[int, float] = {}
    for first, last, windows in _ranges():
        options = ["-m", f"{first}:{last}", "-W", str(WINDOW), *_osu_counts(windows)]
        found |= _osu_rows(transport, 1, program, *options)
    return found


def _ranges() -> list[tuple[int, int, int]]:
    """Return the first and the last size that are measured over as many windows, and these."""
    firsts = [SIZES[0], *(2 * last for last in WINDOWS)]
    return [(first, last, windows) for first, (last, windows) in zip(firsts, WINDOWS.items(), strict=False)]


def _osu_counts(count: int) -> list[str]:
    return ["-i", str(count), "-x", str(count // 10)]


def _osu_rows(transport: str, column: int, *command: str) -> dict[int, float]:
    rows = [line.split() for line in _run(transport, *command).splitlines() if line[:1].isdigit()]
    return {int(row[0]): float(row[column]) for row in rows}


def _hops(transport: str, test: str) -> dict[int, float]:
    """Return the same of our own program."""
    if test == "latency":  # one sample has enough round trips up to 8 KiB
        counts = ["--batch", str(TRIPS), "--repeats", "9", "--warmups", "1"]
        return _hops_rows(
            transport, "latency_p50_us", "--sizes", f"1-{SIZES[-1]}", "--tests", "tail", *counts
        )
    found: dict[int, float] = {}
    for first, last, windows in _ranges():
        counts = ["--window", str(WINDOW), "--windows", str(windows), "--repeats", "1", "--warmups", "1"]
        rates = _hops_rows(
            transport, "bandwidth_gbyte_s", "--sizes", f"{first}-{last}", "--tests", test, *counts
        )
        found |= {size: 1e3 * rate for size, rate in rates.items()}
    return found


def _hops_rows(transport: str, fom: str, *options: str) -> dict[int, float]:
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "hops.json")
        fixed = ["--buffers", "single", *AS_ASKED, "--json", str(output)]
        _run(transport, str(PROGRAMS / "hops"), *options, *fixed)
        series = json.loads(output.read_text())["series"]
    chosen = [each for each in series if each["fom"] == fom]
    return {each["labels"]["size_bytes"]: median_low(each["samples"]) for each in chosen}


def _osu_collective(folder: Path, transport: str, test: str) -> dict[int, float]:
    """Size -> median over samples of the mean over ranks, us; 0 for the barrier."""
    options = ["-i", str(COLLECTIVE_SAMPLES), "-x", str(COLLECTIVE_SAMPLES // 10), "-z50"]
    if test != "barrier":
        options += ["-m", f"{COLLECTIVE_SIZES[0]}:{COLLECTIVE_SIZES[-1]}"]
    beside = folder / COLLECTIVES[test]
    below = folder.parent.parent / "collective/blocking" / COLLECTIVES[test]
    printed = _run(transport, str(beside if beside.exists() else below), *options)
    rows = [line.split() for line in printed.splitlines() if line.strip()[:1].isdigit()]
    return {int(row[0]) if len(row) == 3 else 0: float(row[-1]) for row in rows}


def _rowcol(transport: str, test: str) -> dict[int, float]:
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "rowcol.json")
        options = ["--collectives", test, "--sizes", f"{COLLECTIVE_SIZES[0]}-{COLLECTIVE_SIZES[-1]}"]
        counts = ["--repeats", str(COLLECTIVE_SAMPLES), "--warmups", str(COLLECTIVE_SAMPLES // 10)]
        options += ["--start", "barrier", *counts, *AS_ASKED]
        _run(transport, str(PROGRAMS / "rowcol"), *options, "--json", str(output))
        series = json.loads(output.read_text())["series"]
    return {s["labels"]["size_bytes"]: median_low(s["samples"]) for s in series if s["fom"] == "mean_us"}


def _run(transport: str, *command: str, ranks: int = 2) -> str:
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    full = [*MPIRUN, "-n", str(ranks), *TRANSPORTS[transport], *command]
    done = subprocess.run(full, capture_output=True, text=True, env=os.environ | as_root, check=True)
    return done.stdout


def packing(preset: str) -> dict[str, Any]:
    """Rates of packing and unpacking over those of the plain copy, and whether the volume is exact."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "halo.json")
        options = ["--preset", preset, "--variants", "manual,copy", "--repeats", "30", "--json", str(output)]
        _run("shared memory", str(PROGRAMS / "halo"), *options, ranks=1)
        document = json.loads(output.read_text())
    of = {(s["labels"]["variant"], s["fom"]): median(s["samples"]) for s in document["series"]}
    return {
        "preset": preset,
        "pack": of["copy", "pack_us"] / of["manual", "pack_us"],
        "unpack": of["copy", "unpack_us"] / of["manual", "unpack_us"],
        "exchanged_bytes": document["parameters"]["exchanged_bytes"],
        "exact": document["parameters"]["exchanged_bytes"] == PRESETS[preset],
    }


def show_packing(rows: list[dict[str, Any]]) -> None:
    """One row for each preset."""
    table = Table(
        "preset", "pack", "unpack", "exchanged", title="halo: rate of packing over that of a plain copy"
    )
    for row in rows:
        volume = f"{row['exchanged_bytes']} B, {'exact' if row['exact'] else 'WRONG'}"
        table.add_row(row["preset"], f"{row['pack']:.1%}", f"{row['unpack']:.1%}", volume)
    console.print(table, "")


def show_osu(found: list[Ratios], rounds: int) -> None:
    """One row for each transport and test."""
    title = f"hops and rowcol over OSU, {rounds} pairs of launches"
    table = Table("transport", "test", "median of all pairs", "medians of sizes", "within 2 %", title=title)
    for each in found:
        low, high = each.sizes[0], each.sizes[-1]
        good = "yes" if abs(each.median - 1) <= 0.02 else "no"
        table.add_row(each.transport, each.test, f"{each.median:.4f}", f"{low:.3f} to {high:.3f}", good)
    console.print(table, "")


def osu_option(parser: argparse.ArgumentParser) -> None:
    """The option that says where OSU is."""
    parser.add_argument(
        "--osu", type=Path, metavar="FOLDER", help="OSU micro-benchmarks 7, built; default: those on the PATH"
    )


def main() -> None:
    """This part of the bench alone: `python -m perf.suite`."""
    parser = argparse.ArgumentParser(
        prog="python -m perf.suite", description="hops and halo against their peers"
    )
    osu_option(parser)
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, metavar="COUNT", help="pairs of launches; default 21"
    )
    arguments = parser.parse_args()
    measure(arguments.osu, arguments.rounds)


if __name__ == "__main__":
    main()
