"""Measure one placement twice (A/A) while something else takes processor time: what differs is noise.

A pair is a job of twelve launches of one halo exchange of 64 ranks at the automatic rate scale, which may slow itself
down: six of each of two placements that are one order, in random order. Beside it runs nothing, a busy process, or a
process per processor that takes 10 or 30 % of it from everybody, as the host of a virtual machine does: the kernel runs
it before all others (SCHED_FIFO) in the first part of each 10 ms. An answer is a record of launches that all count.
The difference of the two medians is the noise floor. A significant test is false; one above that floor is claimed.
Leaves out: real steal, which the guard would also read in /proc/stat.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

from rich.table import Table

from perf import vtorus
from perf.pieces import Pieces, Row
from railyard.analysis.stats import contrast, samples
from railyard.analysis.stats.samples import Values
from railyard.base.checkout import BUILD, CHECKOUT
from railyard.records.noise import SAME_PERCENT
from railyard.records.record import load

PAIRS, SIDES = 10, ("cart-create", "cart-create/none")
#: Both end with their parent, however it ends.
BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
STEAL = """
import os, time
parent = os.getppid()
os.sched_setaffinity(0, [{cpu}])
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
while os.getppid() == parent:
    until = time.monotonic() + {share} * 0.01
    while time.monotonic() < until: pass
    time.sleep((1 - {share}) * 0.01)
"""
CPUS = sorted(os.sched_getaffinity(0))
#: What runs beside the jobs -> its programs.
BESIDE = {
    "nothing": [],
    "one core busy": [BUSY],
    **{f"steal of {share:.0%}": [STEAL.format(cpu=cpu, share=share) for cpu in CPUS] for share in (0.1, 0.3)},
}
CHECK = f"-C reframe.yml -c checks --system vtorus:netns -n ^halo_3d$ -S launches=6 -S placements={','.join(SIDES)} -r"


def measure(options: argparse.Namespace) -> None:
    """Measure the pairs that build/same.jsonl lacks, and print what all of them show."""
    pieces = Pieces(BUILD / "same.jsonl", options.minutes)
    for pair, condition in product(range(PAIRS), BESIDE):
        if not pieces.is_over and pieces.get(condition, pair) is None:
            vtorus.console.print(condition, pieces.add(_pair(BESIDE[condition]), condition, pair), highlight=False)
    rows_of = {name: [row for pair in range(PAIRS) if (row := pieces.get(name, pair))] for name in BESIDE}
    quiet = [row for row in rows_of["nothing"] if len(row) > 1]
    if not quiet:
        raise SystemExit("same: no answer on a quiet machine")
    summaries = [{"beside": condition, **_summary(rows, quiet)} for condition, rows in rows_of.items()]
    table = Table(*summaries[0], title="A/A, halo of 64 ranks")
    for summary in summaries:
        table.add_row(*map(str, summary.values()))
    vtorus.console.print(table, "")


def _pair(programs: list[str]) -> Row:
    """Return how long a job took, and with an answer the times of both sides in us times the rate scale."""
    folder = BUILD / "same"
    shutil.rmtree(folder, ignore_errors=True)
    command = [str(Path(sys.executable).with_name("reframe")), *CHECK.split(), "--prefix", str(folder)]
    torus = {"RAILYARD_TOPOLOGY": vtorus.TOPOLOGY.name}
    burners = [subprocess.Popen([sys.executable, "-c", program]) for program in programs]
    began = time.monotonic()
    try:
        words = [*command, "-S", f"archive={folder}/results"]
        done = subprocess.run(words, cwd=CHECKOUT, env=os.environ | torus, capture_output=True, check=False)
        if any(one.poll() is not None for one in burners):
            raise SystemExit("same: what takes processor time beside a job ended early; steal needs root")
    finally:
        for one in burners:
            one.kill()
            one.wait()
    row: dict[str, Any] = {"took_s": time.monotonic() - began}
    for record in map(load, folder.rglob("2*.json") if not done.returncode else ()):
        torus_of: Any = record.provenance["torus"]
        row |= {side: [] for side in SIDES} | {"is_slowed": "slowed_from" in torus_of}
        for launch in record.launches:
            times = next(one.samples for one in launch.series if one.fom == "iteration_us")
            row[launch.placement].append(torus_of["rate_scale"] * median(times))
    return row


def _summary(rows: list[Row], quiet: list[Row]) -> dict[str, Any]:
    """Return what some pairs show, beside those of a quiet machine."""
    answers = [row for row in rows if len(row) > 1]
    over = [row["took_s"] / median(one["took_s"] for one in quiet) for row in rows]
    usual = median(value for row in quiet for side in SIDES for value in row[side])
    most, off, false, claimed = 0.0, 0.0, 0, 0
    for row in answers:
        medians = [median(row[side]) for side in SIDES]
        difference = 100 * (1 - min(medians) / max(medians))
        values = samples.of_groups({side: Values(values=row[side]) for side in SIDES})
        estimate = samples.difference(values[SIDES[0]], values[SIDES[1]])
        is_false = estimate is not None and estimate.p_value < contrast.ALPHA
        most, off = max(most, difference), max(off, *(100 * abs(value / usual - 1) for value in medians))
        false, claimed = false + is_false, claimed + (is_false and difference > SAME_PERCENT)
    return {
        "answers": f"{len(answers)} of {len(rows)}",
        "slowed": sum(row["is_slowed"] for row in answers),
        "over the quiet time": f"{median(over):.2f} ({min(over):.2f} to {max(over):.2f})" if over else "",
        "off quiet (%)": round(off, 2),
        "most apart (%)": round(most, 2),
        "significant": false,
        "claimed": claimed,
    }
