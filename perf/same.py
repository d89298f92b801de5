"""Measure one placement twice (A/A), six launches each in random order: what differs is noise.

A pair is 12 launches of one halo exchange of 64 ranks at the default rate scale, which take turns by chance. Beside
each pair no process, or one, keeps a processor busy. The difference of the two medians is the noise floor. A
significant test of a pair is false; one above the noise floor as well would be claimed.
"""

from __future__ import annotations

import argparse
import random
from statistics import median
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

from perf import vtorus
from perf.bound import Case, burners, run_once
from perf.pieces import Pieces, Row
from railyard.analysis.stats import contrast, samples
from railyard.analysis.stats.samples import Values
from railyard.base.checkout import BUILD
from railyard.placements.topology import catalog
from railyard.records.noise import SAME_PERCENT
from railyard.torus.plan.plan import Shape
from railyard.torus.virtual import packet_budget

PAIRS, LAUNCHES = 40, 6
BUSY = (0, 1)
HALO = Case(name="halo", ranks=64, program=("halo", "--grid", "4x4x4", "--cells", "32"), fom="iteration_us")
TIMED = ("--repeats", "4", "--warmups", "1", "--min-time-per-point", "0", "--max-time-per-point", "0")
Network = Literal["kernel", "router"]


def options(parser: argparse.ArgumentParser) -> None:
    """Add how many pairs there are."""
    parser.add_argument("--pairs", type=int, default=PAIRS, help="same: A/A pairs  [default: %(default)s]")


def measure(
    console: Console, minutes: float | None, networks: list[Network], pairs: int = PAIRS
) -> list[dict[str, Any]]:
    """Measure the launches that build/same.jsonl lacks, and print what all whole pairs show."""
    pieces = Pieces(BUILD / "same.jsonl", minutes)
    topology = catalog.load("gemini-4x4x4")
    scale = packet_budget.auto_scale(topology, Shape(), ranks_per_node=1)
    rows = []
    for network in networks or ["router"]:
        todo = [
            (busy, pair)
            for busy in BUSY
            for pair in range(pairs)
            if _result(pieces, network, busy, pair) is None
        ]
        if todo and not pieces.is_over:
            with vtorus.torus(Shape(rate_scale=scale, network=network)):
                for busy, pair in todo:
                    _launch_missing(pieces, network, busy, pair)
        rows += [_summary(pieces, network, busy, pairs) for busy in BUSY]
    table = Table(*rows[0], title=f"A/A, halo of 64 ranks, rate scale {scale:g}")
    for row in rows:
        table.add_row(*map(str, row.values()))
    console.print(table, "")
    return rows


def _launch_missing(pieces: Pieces, network: Network, busy: int, pair: int) -> None:
    order = ["a", "b"] * LAUNCHES
    random.Random(pair).shuffle(order)
    for turn, side in enumerate(order):
        key = (network, busy, pair, turn)
        if pieces.is_over:
            return
        if pieces.get(*key) is None:
            with burners(busy):
                took_us, guard = run_once(HALO, TIMED)
            bound = guard["error_bound_percent"]
            pieces.add({"side": side, "us": took_us, "verdict": guard["verdict"], "bound": bound}, *key)


def _result(pieces: Pieces, network: Network, busy: int, pair: int) -> list[Row] | None:
    """Return the launches of a pair; None where some are missing."""
    rows = [pieces.get(network, busy, pair, turn) for turn in range(2 * LAUNCHES)]
    present = [row for row in rows if row is not None]
    return present if len(present) == len(rows) else None


def _summary(pieces: Pieces, network: Network, busy: int, pairs: int) -> dict[str, Any]:
    """Return what the whole pairs show; a pair with a void launch has no value, and is counted."""
    whole = [rows for pair in range(pairs) if (rows := _result(pieces, network, busy, pair)) is not None]
    sound = [rows for rows in whole if all(row["verdict"] == "ok" for row in rows)]
    sides = [[[row["us"] for row in rows if row["side"] == side] for side in "ab"] for rows in sound]
    differences = [
        100 * (1 - min(ours) / max(ours)) for ours in ([median(one) for one in both] for both in sides)
    ]
    taken = [samples.of_groups({"a": Values(values=one), "b": Values(values=other)}) for one, other in sides]
    estimates = [samples.difference(pair["a"], pair["b"]) for pair in taken]
    false = [estimate is not None and estimate.p_value < contrast.ALPHA for estimate in estimates]
    return {
        "network": network,
        "busy": busy,
        "pairs": len(whole),
        "with a void launch": len(whole) - len(sound),
        f"within {SAME_PERCENT:g} %": sum(difference <= SAME_PERCENT for difference in differences),
        "most apart (%)": round(max(differences, default=0.0), 2),
        "significant": sum(false),
        "claimed": sum(
            is_false and difference > SAME_PERCENT
            for is_false, difference in zip(false, differences, strict=True)
        ),
    }
