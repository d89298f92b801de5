"""What the guard says of runs that this machine can carry and of runs that it cannot."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from perf import vtorus
from railyard.torus.plan.plan import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A run at a rate scale, and the verdict that it must get."""

    what: str
    rate_scale: float
    wanted: str
    ranks: int
    program: Sequence[str]


HALO = ("halo", "--grid", "4x4x4", "--cells", "64", "--warmups", "0", "--repeats")
HOPS = (
    *("hops", "--tests", "bandwidth", "--sizes", "65536,1048576", "--window", "8"),
    *("--warmup-time", "0", "--min-time-per-point", "0", "--repeats"),
)
CASES = (
    Case(what="halo, 64 ranks", rate_scale=Shape().rate_scale, wanted="ok", ranks=64, program=(*HALO, "20")),
    Case(what="hops, 2 ranks", rate_scale=Shape().rate_scale, wanted="ok", ranks=2, program=(*HOPS, "3")),
    Case(what="halo, 64 ranks", rate_scale=0.001, wanted="void", ranks=64, program=(*HALO, "100")),
    Case(what="halo, 64 ranks", rate_scale=0.01, wanted="void", ranks=64, program=(*HALO, "200")),
    Case(what="hops, 2 ranks", rate_scale=0.02, wanted="void", ranks=2, program=(*HOPS, "200")),
)


def measure(console: Console) -> list[dict[str, Any]]:
    """Every case once; prints the table of docs/torus.md."""
    rows = [_row(case) for case in CASES]
    table = Table("run", "rate scale", "held back", "verdict", "wanted", title="the guard")
    for row in rows:
        share = f"{row['held_back_percent']:.1f} % of {row['traffic_s']:.1f} s"
        table.add_row(row["run"], f"{row['rate_scale']:g}", share, row["verdict"], row["wanted"])
    console.print(table, "")
    return rows


def _row(case: Case) -> dict[str, Any]:
    with vtorus.torus(Shape(rate_scale=case.rate_scale)) as made, tempfile.TemporaryDirectory() as folder:
        evidence = Path(folder, "evidence")
        name, *options = case.program
        vtorus.railyard(
            "torus",
            "mpirun",
            made.name,
            "-np",
            str(case.ranks),
            str(vtorus.PROGRAMS / name),
            *options,
            RAILYARD_EVIDENCE=str(evidence),
        )
        said = json.loads(evidence.read_text())["guard"]
    traffic_s = said["traffic_s"]
    return {
        "run": case.what,
        "rate_scale": case.rate_scale,
        "traffic_s": traffic_s,
        "held_back_percent": 100 * said["host_limited_s"] / traffic_s if traffic_s else 0.0,
        "verdict": said["verdict"],
        "wanted": case.wanted,
    }
