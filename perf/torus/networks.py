"""The two networks of a virtual torus side by side: the same halo on `router` and on `kernel`, in turn, in one run.

Models: a launch of few and a launch of many iterations for each figure. What the machine was busy for beyond the short
launch, over the further iterations, is the processor time of an iteration, with packets that the kernel forwards.
Leaves out: what else runs on the machine, which counts as well, so it has to be quiet.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from statistics import median
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

from perf.torus import vtorus
from railyard.torus.plan.plan import Shape

ROUNDS = 3
FEW, MANY = 2, 32
HALO = ("halo", "--grid", "4x4x4", "--cells", "64", "--warmups", "1", "--warmup-time", "0")
UNTIMED = ("--min-time-per-point", "0", "--max-time-per-point", "0")
NETWORKS: tuple[Literal["router", "kernel"], ...] = ("router", "kernel")
RANKS = 64
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def measure(console: Console) -> list[dict[str, Any]]:
    """Return the figures of both networks, and print them; the launches of one round follow each other."""
    found: dict[str, list[dict[str, float]]] = {network: [] for network in NETWORKS}
    for _ in range(ROUNDS):
        for network in NETWORKS:
            with vtorus.torus(Shape(network=network)):
                found[network].append(_round())
    rows = [{"network": network, **_figures(rounds)} for network, rounds in found.items()]
    table = Table(*rows[0], title=f"halo, {RANKS} ranks, rate scale {Shape().rate_scale:g}, {ROUNDS} rounds")
    for row in rows:
        table.add_row(*(f"{each:.3g}" if isinstance(each, float) else str(each) for each in row.values()))
    console.print(table, "")
    return rows


def _round() -> dict[str, float]:
    short, long = _launch(FEW), _launch(MANY)
    times = long["iterations_ms"]
    return {
        "busy_s": (long["busy_s"] - short["busy_s"]) / (MANY - FEW),
        "median_ms": median(times),
        "spread_percent": 100 * (max(times) - min(times)) / median(times),
        "bound_percent": long["bound_percent"],
    }


def _figures(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {
        "iteration (ms)": median(each["median_ms"] for each in rounds),
        "fastest to slowest, over the median (%)": median(each["spread_percent"] for each in rounds),
        "processor seconds per iteration": median(each["busy_s"] for each in rounds),
        "largest error bound (%)": max(each["bound_percent"] for each in rounds),
    }


def _launch(iterations: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        output, evidence = Path(folder, "output.json"), Path(folder, "evidence")
        name, *options = HALO
        program = [str(vtorus.PROGRAMS / name), *options, *UNTIMED, "--repeats", str(iterations)]
        before = _busy_s()
        vtorus.railyard(
            *("torus", "mpirun", vtorus.NAME, "-np", str(RANKS), *program, "--json", str(output)),
            RAILYARD_EVIDENCE=str(evidence),
        )
        busy = _busy_s() - before
        series = json.loads(output.read_text())["series"]
        guard = json.loads(evidence.read_text())["guard"]
    samples = [sample / 1e3 for each in series if each["fom"] == "iteration_us" for sample in each["samples"]]
    return {"busy_s": busy, "iterations_ms": samples, "bound_percent": float(guard["error_bound_percent"])}


def _busy_s() -> float:
    """Return the seconds for which all processors together were busy since the machine started, steal left out."""
    user, nice, system, _idle, _iowait, irq, softirq, *_ = map(
        int, Path("/proc/stat").read_text(encoding="utf-8").split("\n", 1)[0].split()[1:]
    )
    return (user + nice + system + irq + softirq) * TICK_S
