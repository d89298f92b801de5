"""Measure one placement twice (A/A), six launches each in random order: what differs is noise.

A pair is 12 launches of one halo exchange of 64 ranks at the default rate scale, which take turns by chance. Beside
each pair no process, or one, keeps a processor busy. The difference of the two medians is the noise floor. A
significant test of a pair is false; one above the noise floor as well would be claimed.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
from statistics import median
from typing import Any

from rich.table import Table
from support.mpis import mpis

from perf import vtorus
from perf.pieces import Pieces, Row
from railyard.analysis.stats import contrast, samples
from railyard.analysis.stats.samples import Values
from railyard.base.checkout import BUILD
from railyard.records.noise import SAME_PERCENT
from railyard.torus.plan.plan import Shape
from railyard.torus.virtual import packet_budget

PAIRS, LAUNCHES = 40, 6
BUSY = (0, 1)
TIMED = ("--min-time-per-point", "0", "--max-time-per-point", "0")


def measure(options: argparse.Namespace) -> None:
    """Measure the pairs that build/same.jsonl lacks, and print what all of them show."""
    pieces = Pieces(BUILD / "same.jsonl", options.minutes)
    scale = packet_budget.auto_scale(vtorus.TOPOLOGY, Shape(), ranks_per_node=1)
    keys = [(busy, pair) for busy in BUSY for pair in range(PAIRS)]
    if not pieces.is_over and any(pieces.get(*key) is None for key in keys):
        with mpis.torus(vtorus.TOPOLOGY, vtorus.NAME, Shape(rate_scale=scale, network="router")):
            for key in keys:
                if not pieces.is_over and pieces.get(*key) is None:
                    pieces.add(_pair(*key), *key)
    rows = [_summary(pieces, busy) for busy in BUSY]
    table = Table(*rows[0], title=f"A/A, halo of 64 ranks, rate scale {scale:g}")
    for row in rows:
        table.add_row(*map(str, row.values()))
    vtorus.console.print(table, "")


def _pair(busy: int, pair: int) -> Row:
    """Launch both sides in turns by chance; return the times of each in us, and whether no launch was void."""
    order = ["a", "b"] * LAUNCHES
    random.Random(pair).shuffle(order)
    row: dict[str, Any] = {"a": [], "b": [], "sound": True}
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
    try:
        for side in order:
            took_us, verdict = _launch()
            row[side].append(took_us)
            row["sound"] = row["sound"] and verdict == "ok"
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
    return row


def _launch() -> tuple[float, str]:
    """Return the median time of an exchange in us, and the guard's verdict on the launch."""
    document, guard = vtorus.launched(vtorus.NAME, 64, "halo", *vtorus.HALO, *TIMED)
    return median(next(one["samples"] for one in document["series"] if one["fom"] == "iteration_us")), guard["verdict"]


def _summary(pieces: Pieces, busy: int) -> dict[str, Any]:
    """Return what the pairs show; a pair with a void launch has no value, and is counted."""
    whole = [row for pair in range(PAIRS) if (row := pieces.get(busy, pair)) is not None]
    within, most, false, claimed = 0, 0.0, 0, 0
    for row in (row for row in whole if row["sound"]):
        medians = [median(row[side]) for side in "ab"]
        difference = 100 * (1 - min(medians) / max(medians))
        values = samples.of_groups({side: Values(values=row[side]) for side in "ab"})
        estimate = samples.difference(values["a"], values["b"])
        is_false = estimate is not None and estimate.p_value < contrast.ALPHA
        within, most = within + (difference <= SAME_PERCENT), max(most, difference)
        false, claimed = false + is_false, claimed + (is_false and difference > SAME_PERCENT)
    return {
        "busy": busy,
        "pairs": len(whole),
        "with a void launch": sum(not row["sound"] for row in whole),
        f"within {SAME_PERCENT:g} %": within,
        "most apart (%)": round(most, 2),
        "significant": false,
        "claimed": claimed,
    }
