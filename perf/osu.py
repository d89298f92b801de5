"""Compare the benchmarks with OSU at every size, in pairs of launches whose order alternates.

    python -m perf osu --osu FOLDER [--place NAME] [--rounds 3] [--minutes M]

Places: `shared-memory` and `loopback` (TCP) with 2 ranks, and `torus`: TCP over a virtual gemini-4x4x4 with 2 ranks, 8
for the collectives, and 4 pairs on links of their own for osu_mbw_mr and osu_multi_lat.

Latency is the median of single round trips, because a neighbour that takes the processor for a moment spoils a mean;
OSU prints medians (the lower of two) with `-z50`. Rates are over as many windows in a row: OSU's median is one of
single windows, ours one of samples of many. multi_lat: the mean of single round trips with a barrier before each, as
OSU does it. Collectives: medians of the mean over the ranks of each sample, which starts with a barrier in both.
`rowcol` rotates the root of a broadcast; its samples with OSU's root are taken. Window and buffers are the same.

Every launch is saved in build/osu.jsonl, and the next call continues after the last.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, median_low
from typing import Any

from rich.console import Console
from rich.table import Table

from perf import vtorus
from perf.pieces import Pieces
from railyard.analysis.stats.medians import median_interval
from railyard.base.checkout import BUILD
from railyard.torus.plan.plan import Shape

PROGRAMS = BUILD / "benchmarks-openmpi/bin"
KEPT = BUILD / "osu.jsonl"
MPIRUN = ("mpirun.openmpi", "-q", "--bind-to", "core")
TORUS = vtorus.NAME
#: 11.7 MB/s a cable and 80 us a hop: what the network takes, and not the processor, is most of each time.
RATE_SCALE = 0.00125
ROUNDS = 3
CLOSE = 0.02
SIZES = [1 << power for power in range(21)]
SMALLEST_OF_COLLECTIVES = 8
#: OSU's program -> our test, or collective.
TESTS = {"osu_latency": "tail", "osu_bw": "bandwidth", "osu_bibw": "bibandwidth"}
PAIRS = {"osu_mbw_mr": "rate", "osu_multi_lat": "latency"}
COLLECTIVES = {
    "osu_allreduce": "allreduce",
    "osu_alltoall": "alltoall",
    "osu_bcast": "bcast",
    "osu_barrier": "barrier",
}
PROGRAMS_OF_OSU = (*TESTS, *PAIRS, *COLLECTIVES)
#: Exactly the given number of samples, of one window or round trip each.
FIXED_COUNT = ("--warmup-time", "0", "--max-time-per-point", "0")
#: Half a unit of the last decimal that OSU prints.
ROUNDED = 0.005
#: Of the median of round trips.
SAMPLES = 9
#: Test -> the figure that is compared.
FOMS = {
    "tail": "latency_p50_us",
    "bandwidth": "bandwidth_gbyte_s",
    "bibandwidth": "bandwidth_gbyte_s",
    "rate": "aggregate_rate_message_s",
    "latency": "mean_latency_us",
}
Values = dict[int, float]
console = Console(width=140)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where both run: the launcher, and how many samples of each test."""

    launcher: tuple[str, ...]
    window: int = 64
    trips: int = 200
    least_s: float = 0.1
    samples: int = 200
    pairs: int = 1
    ranks: int = 2
    #: Of a collective, in bytes.
    largest: int = 1 << 20
    #: Largest size -> windows in a row, for the sizes above the one before.
    windows: tuple[tuple[int, int], ...] = ((1 << 13, 400), (1 << 20, 20))

    @property
    def ranges(self) -> Iterator[tuple[int, int, int]]:
        """Yield the first and last size that share a number of windows, and that number."""
        first = SIZES[0]
        for last, windows in self.windows:
            yield first, last, windows
            first = 2 * last


PLACES = {
    "shared-memory": Place(launcher=(*MPIRUN, "--mca", "btl", "self,vader")),
    "loopback": Place(launcher=(*MPIRUN, "--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo")),
    "torus": Place(
        launcher=(str(Path(sys.executable).with_name("railyard")), "torus", "mpirun", TORUS, "-q"),
        window=16,
        trips=20,
        least_s=1.0,
        samples=20,
        pairs=4,
        ranks=8,
        largest=1 << 16,
        windows=((1 << 13, 20), (1 << 20, 2)),
    ),
}


def find(folder: Path | None) -> Path | None:
    """Return the folder of OSU's point-to-point programs: the one given (or below it), else that of the PATH."""
    if folder is not None:
        below = [path.parent for path in sorted(folder.rglob("osu_bw")) if os.access(path, os.X_OK)]
        if not below:
            raise SystemExit(f"bench: --osu {folder}: no program osu_bw there or below")
        return below[0]
    program = shutil.which("osu_bw")
    return Path(program).parent if program else None


def measure(
    folder: Path | None,
    rounds: int = ROUNDS,
    minutes: float | None = None,
    names: list[str] | None = None,
    *,
    only: list[str] | None = None,
) -> dict[str, Any] | None:
    """Measure the launches that the file lacks, and print the ratios of all."""
    programs = find(folder)
    if programs is None:
        console.print("osu: left out, osu_bw is not on the PATH and --osu names no folder\n")
        return None
    pieces = Pieces(KEPT, minutes)
    figures = {}
    for name in names or list(PLACES):
        keys = [key for key in _keys(name, rounds) if not only or key[1] in only]
        if not pieces.is_over and any(pieces.get(*key) is None for key in keys):
            with _up(name):
                for program in PROGRAMS_OF_OSU:
                    _measure_program(programs, pieces, [key for key in keys if key[1] == program])
        by_program = ratios(pieces, name, rounds)
        figures[name] = {
            program: {size: asdict(figure) for size, figure in of_size.items()}
            for program, of_size in by_program.items()
        }
        _show(name, by_program, rounds)
    return figures


def _measure_program(programs: Path, pieces: Pieces, keys: list[tuple[str, str, int, str]]) -> None:
    """Measure what is missing of a program; on a torus in one turn, so that its launches are side by side."""
    missing = [key for key in keys if pieces.get(*key) is None]
    if pieces.is_over or not missing:
        return
    with vtorus.in_one_turn(TORUS) if missing[0][0] == "torus" else nullcontext():
        for key in missing:
            pieces.add(_launch(programs, key), *key)


def _keys(name: str, rounds: int) -> Iterator[tuple[str, str, int, str]]:
    """Yield place, OSU's program, round and whose program it is, in the order of the launches."""
    for program in PROGRAMS_OF_OSU:
        for number in range(rounds):
            for whose in ("ours", "osu")[:: -1 if number % 2 else 1]:
                yield name, program, number, whose


def _up(name: str) -> AbstractContextManager[object]:
    if name != "torus":
        return nullcontext()
    return vtorus.torus(Shape(rate_scale=RATE_SCALE))


def _launch(folder: Path, key: tuple[str, str, int, str]) -> dict[str, Any]:
    name, program, number, whose = key
    place = PLACES[name]
    load = os.getloadavg()[0]
    if whose == "osu":
        values = osu_values(place, folder, program)
    else:
        values = _ours_collective(place, program) if program in COLLECTIVES else _ours(place, program)
    print(name, program, number, whose, f"load {load:.0f}", flush=True)
    return {"load": load, "values": {str(size): value for size, value in values.items()}}


# ---- OSU ----


def osu_values(place: Place, folder: Path, program: str) -> Values:
    """Return what OSU prints for each size: us, MB/s, or messages/s; a barrier has the size 0."""
    if program in COLLECTIVES:
        sizes = [] if program == "osu_barrier" else ["-m", f"{SMALLEST_OF_COLLECTIVES}:{place.largest}"]
        path_beside, below = folder / program, folder.parent.parent / "collective/blocking" / program
        path = path_beside if path_beside.exists() else below
        return _osu_rows(place, place.ranks, path, "-z50", *sizes, *_counts(place.samples))
    if program in ("osu_latency", "osu_multi_lat"):
        sizes = ["-m", f"{SIZES[0]}:{SIZES[-1]}"]
        if program == "osu_latency":
            trips = ["-z50", *_counts(SAMPLES * place.trips)]
            return _osu_rows(place, 2, folder / program, *sizes, *trips)
        return _osu_rows(place, 2 * place.pairs, folder / program, *sizes, *_counts(place.trips))
    values: Values = {}
    for first, last, windows in place.ranges:
        options = ["-m", f"{first}:{last}", "-W", str(place.window), *_counts(windows)]
        ranks = 2 * place.pairs if program in PAIRS else 2
        values |= _osu_rows(place, ranks, folder / program, *options)
    return values


def _counts(count: int) -> list[str]:
    return ["-i", str(count), "-x", str(max(1, count // 10))]


def _osu_rows(place: Place, ranks: int, program: Path, *options: str) -> Values:
    return osu_rows(_run(place, ranks, str(program), *options), has_size=program.name != "osu_barrier")


def osu_rows(printed: str, *, has_size: bool = True) -> Values:
    """Return the last column of each row: the rate, the median with -z50, of osu_mbw_mr the messages."""
    rows = [line.split() for line in printed.splitlines() if line.strip()[:1].isdigit()]
    return {int(row[0]) if has_size else 0: float(row[-1]) for row in rows}


# ---- ours ----


def _ours(place: Place, program: str) -> Values:
    test = (TESTS | PAIRS)[program]
    if test in ("bandwidth", "bibandwidth", "rate"):
        values: Values = {}
        for first, last, windows in place.ranges:
            counts = ["--window", str(place.window), "--windows", str(windows), "--repeats", "1"]
            counts += ["--min-time-per-point", "0"]
            values |= _ours_rows(place, program, f"{first}-{last}", *counts, "--warmups", "1")
        return values
    counts = ["--batch", str(place.trips), "--repeats", str(SAMPLES), "--warmups", "1"]
    counts += ["--min-time-per-point", f"{place.least_s:g}"]  # `--batch` is for sizes up to 8 KiB
    if test == "latency":  # each round trip has its own barrier
        counts = ["--batch", "1", "--repeats", str(place.trips), "--warmups", str(max(1, place.trips // 10))]
        counts += ["--min-time-per-point", "0"]
    return _ours_rows(place, program, f"{SIZES[0]}-{SIZES[-1]}", *counts)


def _ours_rows(place: Place, program: str, sizes: str, *counts: str) -> Values:
    test = (TESTS | PAIRS)[program]
    words = ["hops"] if program in TESTS else ["pt2pt", "--pattern", "bisection", "--units", "ranks"]
    ranks = 2 if program in TESTS else 2 * place.pairs
    options = ["--tests", test, "--sizes", sizes, "--buffers", "single", *counts]
    scale = 1e3 if test.endswith("bandwidth") else 1.0
    series = _document(place, ranks, [*words, *options])
    middle = _mean if test == "latency" else median_low
    return {
        entry["labels"]["size_bytes"]: scale * middle(entry["samples"])
        for entry in series
        if entry["fom"] == FOMS[test]
    }


def _mean(samples: list[float]) -> float:
    return sum(samples) / len(samples)


def _ours_collective(place: Place, program: str) -> Values:
    """Return by size the median over samples of the mean over ranks; of a broadcast, samples with root 0."""
    every = place.ranks if program == "osu_bcast" else 1
    options = ["--collectives", COLLECTIVES[program], "--start", "barrier"]
    options += ["--sizes", f"{SMALLEST_OF_COLLECTIVES}-{place.largest}"]
    options += [
        "--min-time-per-point",
        "0",
        "--repeats",
        str(every * place.samples),
        "--warmups",
        str(max(1, place.samples // 10)),
    ]
    return {
        entry["labels"]["size_bytes"]: median_low(entry["samples"][::every])
        for entry in _document(place, place.ranks, ["rowcol", *options])
        if entry["fom"] == "mean_us"
    }


def _document(place: Place, ranks: int, words: list[str]) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "output.json")
        program, *options = words
        _run(place, ranks, str(PROGRAMS / program), *options, *FIXED_COUNT, "--json", str(output))
        series: list[dict[str, Any]] = json.loads(output.read_text())["series"]
    return series


def _run(place: Place, ranks: int, *command: str) -> str:
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    words = [*place.launcher, "-np", str(ranks), *command]
    done = subprocess.run(words, capture_output=True, text=True, env=os.environ | as_root, check=False)
    if done.returncode:
        raise SystemExit(f"bench: {' '.join(words)}: {done.stderr or done.stdout}")
    return done.stdout


# ---- the table ----


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """The median over the rounds of ours over OSU's at one size, and its 95 % interval; none of fewer than 6 rounds.

    The interval is widened by what OSU rounds: it prints two decimals.
    """

    value: float
    low: float | None
    high: float | None

    @property
    def is_close(self) -> bool:
        """Return whether both are the same within 2 %."""
        return abs(self.value - 1) <= CLOSE

    @property
    def is_like(self) -> bool:
        """Return whether the interval contains 1, so that no difference is shown."""
        return self.low is not None and self.high is not None and self.low <= 1 <= self.high

    def __str__(self) -> str:
        if self.is_close or self.low is None or self.high is None:
            return f"{self.value:.3f}"
        return f"{self.value:.3f} ({self.low:.2f}-{self.high:.2f})"


def ratios(pieces: Pieces, name: str, rounds: int) -> dict[str, dict[int, Ratio]]:
    """Return the ratios of every program and size that have all their rounds."""
    by_program: dict[str, dict[int, Ratio]] = {}
    for program in PROGRAMS_OF_OSU:
        rows = [
            [pieces.get(name, program, number, whose) for number in range(rounds)]
            for whose in ("ours", "osu")
        ]
        ours, osu = ([row["values"] for row in side if row] for side in rows)
        if len(ours) == len(osu) == rounds:
            by_program[program] = {int(size): ratio(ours, osu, size) for size in ours[0]}
    return by_program


def ratio(ours: list[dict[str, float]], osu: list[dict[str, float]], size: str) -> Ratio:
    """Return the ratio of the rounds at a size."""
    pairs = [(one[size], other[size]) for one, other in zip(ours, osu, strict=True)]
    least = median_interval([one / (other + ROUNDED) for one, other in pairs])
    most = median_interval([one / max(other - ROUNDED, ROUNDED) for one, other in pairs])
    return Ratio(
        value=median(one / other for one, other in pairs),
        low=least.low if least else None,
        high=most.high if most else None,
    )


def _show(name: str, by_program: dict[str, dict[int, Ratio]], rounds: int) -> None:
    title = f"{name}: ours over OSU, medians of {rounds} pairs of launches (95 % interval where > 2 % off)"
    table = Table("bytes", *(program.removeprefix("osu_") for program in by_program), title=title)
    for size in sorted({size for of_size in by_program.values() for size in of_size}):
        cells = (str(of_size[size]) if size in of_size else "" for of_size in by_program.values())
        table.add_row(str(size), *cells)
    every = [figure for of_size in by_program.values() for figure in of_size.values()]
    close = [figure for figure in every if figure.is_close]
    like = [figure for figure in every if not figure.is_close and figure.is_like]
    console.print(table)
    console.print(
        f"{name}: {len(close)} of {len(every)} within 2 %; {len(like)} more have 1 in their interval; "
        f"{len(every) - len(close) - len(like)} differ\n"
    )


def options(parser: argparse.ArgumentParser) -> None:
    """Add where OSU is, where both run, and how often."""
    parser.add_argument(
        "--osu",
        type=Path,
        metavar="FOLDER",
        help="osu: built OSU micro-benchmarks 7  [default: those on the PATH]",
    )
    parser.add_argument(
        "--place", action="append", choices=PLACES, help="osu: where both run  [default: all]"
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=PROGRAMS_OF_OSU,
        metavar="PROGRAM",
        help="osu: compare it  [default: all]",
    )
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, help="osu: pairs of launches  [default: %(default)s]"
    )
