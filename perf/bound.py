"""Test the error estimate of docs/torus.md with launches of known time, over rate scales, ranks and busy processors.

The reference of a case is its time at a rate scale at which this machine does not limit it, times the ratio of the
scales. A launch is off by the share of its time that is beyond the reference. No launch that is off by more than 5 %
may pass. One in 20 of the others may be void.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

from perf import vtorus
from perf.pieces import Pieces
from railyard.base.checkout import BUILD
from railyard.torus.plan.plan import Shape
from railyard.torus.virtual.error_bound import VOID_PERCENT

REFERENCE_SCALES: dict[Literal["kernel", "router"], float] = {"router": 1e-5, "kernel": 3e-5}
REFERENCE_LAUNCHES = 3
SCALES = (3e-5, 1e-4, 3e-4)
BUSY = (0, 1, 2)
TIMED = ("--repeats", "3", "--warmups", "1", "--min-time-per-point", "2", "--max-time-per-point", "12")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A program on `ranks` ranks, and the figure of merit whose median is compared: a time in us."""

    name: str
    ranks: int
    program: Sequence[str]
    fom: str

    def __str__(self) -> str:
        return f"{self.name}, {self.ranks} ranks"


CASES = (
    Case(name="halo", ranks=64, program=("halo", "--grid", "4x4x4", "--cells", "32"), fom="iteration_us"),
    Case(name="halo", ranks=8, program=("halo", "--grid", "2x2x2", "--cells", "48"), fom="iteration_us"),
    Case(
        name="allgather",
        ranks=64,
        program=("rowcol", "--collectives", "allgather", "--sizes", "4KiB", "--start", "barrier"),
        fom="slowest_us",
    ),
    Case(
        name="alltoall",
        ranks=8,
        program=("rowcol", "--collectives", "alltoall", "--sizes", "16KiB", "--start", "barrier"),
        fom="slowest_us",
    ),
    Case(
        name="ping-pong",
        ranks=2,
        program=("hops", "--tests", "latency", "--sizes", "64KiB"),
        fom="latency_us",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A launch: how far it was off, in percent of its time, its bound and verdict."""

    case: str
    network: str
    rate_scale: float
    busy: int
    off_percent: float
    bound_percent: float
    idle_percent: float
    verdict: str
    guard: dict[str, Any]

    @property
    def passed_wrongly(self) -> bool:
        return self.verdict == "ok" and self.off_percent > VOID_PERCENT

    @property
    def voided_wrongly(self) -> bool:
        return self.verdict == "void" and self.off_percent <= VOID_PERCENT


def options(parser: argparse.ArgumentParser) -> None:
    """Add which networks are measured."""
    parser.add_argument(
        "--network",
        action="append",
        choices=list(REFERENCE_SCALES),
        default=[],
        help="bound: one network, repeatable  [default: all]",
    )


def measure(
    console: Console, minutes: float | None = None, networks: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Launch every case on both networks at every rate scale, beside 0, 1 and 2 processes that are always busy.

    What an earlier call measured is read from build/bound.jsonl. After `minutes` the rest is left for the next call.
    """
    pieces = Pieces(BUILD / "bound.jsonl", minutes)
    for network, least in REFERENCE_SCALES.items():
        if networks and network not in networks:
            continue
        _measure_missing(console, pieces, network, least)
    outcomes = [Outcome(**row) for row in pieces.rows if "verdict" in row]
    _summary(console, outcomes)
    return [asdict(outcome) for outcome in outcomes]


def _measure_missing(
    console: Console, pieces: Pieces, network: Literal["kernel", "router"], least: float
) -> None:
    """Measure what is missing of one network, the references first; a torus comes up only where it is needed."""
    missing = [case for case in CASES if pieces.get("reference", network, case) is None]
    if missing and not pieces.is_over:
        with vtorus.torus(Shape(rate_scale=least, network=network)):
            for case in missing:
                if not pieces.is_over:
                    pieces.add({"us": _reference_us(case)}, "reference", network, case)
    for scale in (scale for scale in SCALES if scale > least):
        wanted = [(busy, case) for busy in BUSY for case in CASES]
        todo = [(busy, case) for busy, case in wanted if pieces.get(network, scale, busy, case) is None]
        if not todo or pieces.is_over:
            continue
        with vtorus.torus(Shape(rate_scale=scale, network=network)):
            for busy, case in todo:
                reference = pieces.get("reference", network, case)
                if reference is None or pieces.is_over:
                    break
                outcome = _outcome(case, network, (scale, busy), reference["us"] * least / scale)
                pieces.add(asdict(outcome), network, scale, busy, case)
                console.print(_line(outcome))


def _reference_us(case: Case) -> float:
    return min(run_once(case)[0] for _ in range(REFERENCE_LAUNCHES))


def _outcome(case: Case, network: str, where: tuple[float, int], wanted_us: float) -> Outcome:
    scale, busy = where
    with burners(busy):
        took_us, guard = run_once(case)
    return Outcome(
        case=str(case),
        network=network,
        rate_scale=scale,
        busy=busy,
        off_percent=100 * (1 - wanted_us / took_us),
        bound_percent=guard["error_bound_percent"],
        idle_percent=guard["error_bound"]["idle_percent"],
        verdict=guard["verdict"],
        guard=guard,
    )


def run_once(case: Case, timed: Sequence[str] = TIMED) -> tuple[float, dict[str, Any]]:
    """Return the median time of one launch in us, and what the guard saw of it."""
    with tempfile.TemporaryDirectory() as folder:
        output, evidence = Path(folder, "output.json"), Path(folder, "evidence")
        name, *options = case.program
        program = [str(vtorus.PROGRAMS / name), *options, *timed, "--json", str(output)]
        vtorus.railyard(
            *("torus", "mpirun", vtorus.NAME, "-np", str(case.ranks), *program),
            RAILYARD_EVIDENCE=str(evidence),
        )
        series = json.loads(output.read_text())["series"]
        guard: dict[str, Any] = json.loads(evidence.read_text())["guard"]
    return median(
        sample for entry in series if entry["fom"] == case.fom for sample in entry["samples"]
    ), guard


@contextmanager
def burners(count: int) -> Iterator[None]:
    """Keep so many processors busy for the length of the block."""
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def _line(outcome: Outcome) -> str:
    return (
        f"{outcome.network:6} {outcome.rate_scale:<7g} {outcome.busy} busy  {outcome.case:20} "
        f"off {outcome.off_percent:5.1f} %  bound {outcome.bound_percent:5.1f} %  {outcome.verdict}"
    )


def _summary(console: Console, outcomes: Sequence[Outcome]) -> None:
    table = Table("network", "busy", "launches", "off by more and passed", "sound", "of these void")
    for network in REFERENCE_SCALES:
        for busy in BUSY:
            launches = [outcome for outcome in outcomes if (outcome.network, outcome.busy) == (network, busy)]
            sound = [outcome for outcome in launches if outcome.off_percent <= VOID_PERCENT]
            wrong = sum(outcome.passed_wrongly for outcome in launches)
            void = sum(outcome.voided_wrongly for outcome in sound)
            table.add_row(network, *map(str, (busy, len(launches), wrong, len(sound), void)))
    console.print(table, "")
