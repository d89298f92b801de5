"""Measure the virtual torus gemini-4x4x4: time to bring it up, rates of its links, messages, launches, faults."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib.pyplot as plt
from rich.console import Console
from rich.table import Table

from perf import links
from railyard.base.checkout import CHECKOUT
from railyard.placements.topology import catalog
from railyard.placements.topology.torus import DIMENSIONS
from railyard.torus.plan.plan import Shape
from railyard.torus.virtual import lifecycle
from railyard.torus.virtual.lifecycle import VirtualTorus

PROGRAMS = CHECKOUT / "build/benchmarks-openmpi/bin"
CURVE = CHECKOUT / "build/message-curve.svg"
NAME = "bench"
MTUS = (1500, 2500, 4500, 9000)
SIZES = (0, 16384, 65536, 131072, 262144, 1048576)
#: A fault of each kind, by its link: the options of `railyard torus fault`.
FAULTS = {
    "X+ 0,0,0>1,0,0": ["--lanes-lost", "1"],
    "X- 2,2,2>1,2,2": ["--lanes-lost", "1", "--of-tiles", "1/8"],
    "Y+ 1,0,3>1,1,3": ["--lanes-lost", "2"],
    "Y- 3,3,1>3,2,1": ["--lanes-lost", "1", "--of-tiles", "2/4"],
    "Z+ 0,1,0>0,1,1": ["--lanes-lost", "2", "--of-tiles", "4/8"],
}
console = Console(width=110)


@contextmanager
def torus(shaped: Shape) -> Iterator[VirtualTorus]:
    """Bring up gemini-4x4x4 for the length of the block."""
    running, _ = lifecycle.up(catalog.load("gemini-4x4x4"), name=NAME, shape=shaped)
    try:
        yield running
    finally:
        lifecycle.down(NAME)


def railyard(*arguments: str, **environment: str) -> float:
    """Run `railyard` without what it prints; return its seconds, Python's start included."""
    command = [str(Path(sys.executable).with_name("railyard")), *arguments]
    start_s = time.monotonic()
    subprocess.run(command, env={**os.environ, **environment}, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - start_s


def bring_up() -> dict[str, float]:
    """Return the seconds of `torus up` and `torus down`, medians of three."""
    ups_s, downs_s = [], []
    for _ in range(3):
        ups_s.append(railyard("torus", "up", "gemini-4x4x4", "--name", NAME))
        downs_s.append(railyard("torus", "down", NAME))
    console.print(f"gemini-4x4x4: up {median(ups_s):.2f} s, down {median(downs_s):.2f} s")
    return {"up_s": median(ups_s), "down_s": median(downs_s)}


# ---- links and launches ----


def fidelity() -> dict[str, Any]:
    """Return what one torus of engine netns shows: links, launches, faults."""
    with torus(Shape()) as running:
        return {"links": link_rates(running), "launch": launch(), "faults": faults(running)}


def link_rates(running: VirtualTorus) -> list[dict[str, Any]]:
    """Return a row for every dimension and class of link."""
    rates = links.measure(running)
    base = median(r.measured_byte_s for r in rates if r.link.dimension == 0)
    heads = ("links", "count", "wire (Mbit/s)", "payload (MB/s)", "worst error", "ratio to X", "wanted")
    table = Table(*heads, title="links")
    rows = []
    for dimension, link_class in sorted({(r.link.dimension, str(r.link.link_class)) for r in rates}):
        group = [r for r in rates if (r.link.dimension, str(r.link.link_class)) == (dimension, link_class)]
        rate_gbyte_s, payload_byte_s = group[0].link.rate_gbyte_s, median(r.measured_byte_s for r in group)
        row: dict[str, Any] = {
            "links": f"{DIMENSIONS[dimension]} {link_class}",
            "count": len(group),
            "worst_error_percent": max((r.error_percent for r in group), key=abs),
            "ratio": payload_byte_s / base,
            "wanted": rate_gbyte_s / 9.36,
        }
        rows.append(row)
        numbers = [f"{running.shape.rate_bit_s(rate_gbyte_s) / 1e6:.3f}", f"{payload_byte_s / 1e6:.4f}"]
        numbers += [f"{row['worst_error_percent']:+.2f} %", f"{row['ratio']:.3f}", f"{row['wanted']:.3f}"]
        table.add_row(row["links"], str(row["count"]), *numbers)
    console.print(table, "")
    return rows


def faults(running: VirtualTorus) -> list[dict[str, Any]]:
    """Measure every link with five faults: the faulty ones, with the delay, and the worst of the others."""
    took_s = {name: railyard("torus", "fault", NAME, name, *words) for name, words in FAULTS.items()}
    hurt = lifecycle.get(running.name)
    measured = links.measure(hurt)
    table = Table("link", "fault", "rate left", "measured", "error", "took effect in (s)", title="faults")
    rows: list[dict[str, Any]] = []
    for rate in measured:
        name = rate.link.name
        if name not in FAULTS:
            continue
        fault, error = " ".join(FAULTS[name]), rate.error_percent
        left = hurt.faults.rate_gbyte_s(hurt.topology, rate.link) / rate.link.rate_gbyte_s
        seen = left * rate.measured_byte_s / rate.expected_byte_s
        rows.append({"link": name, "fault": fault, "error_percent": error, "seconds": took_s[name]})
        table.add_row(name, fault, f"{left:.3f}", f"{seen:.3f}", f"{error:+.2f} %", f"{took_s[name]:.2f}")
    others = max((r.error_percent for r in measured if r.link.name not in FAULTS), key=abs)
    count = len(measured) - len(FAULTS)
    table.add_row(f"{count} other links", "none", "1.000", "", f"{others:+.2f} % at worst", "")
    console.print(table, "")
    return [*rows, {"link": "others", "error_percent": others}]


def launch() -> dict[str, float]:
    """Time mpirun from start to end: 64 ranks, one small halo exchange."""
    program = [str(PROGRAMS / "halo"), "--grid", "4x4x4", "--cells", "8", "--repeats", "1", "--warmups", "0"]
    times = [railyard("torus", "mpirun", NAME, "-np", "64", *program) for _ in range(3)]
    spread = f"{min(times):.1f} to {max(times):.1f}"
    console.print(f"64 ranks start, exchange and finish: median {median(times):.1f} s of 3 ({spread})\n")
    return {"median_s": median(times), "max_s": max(times)}


# ---- messages by MTU ----


def shapes() -> list[dict[str, Any]]:
    """Measure messages for every MTU, and draw the curve of docs/torus.md."""
    rows = [_shape(mtu) for mtu in MTUS]
    headings = [f"{size // 1024} KiB" for size in SIZES if size]
    title = "one message: time over (latency + size / wire rate); 64 nodes at once: share of the link"
    table = Table("MTU", "latency (us)", *headings, "64 at once", title=title)
    for row in rows:
        ratios = [f"{ratio:.3f}" for ratio in row["message_ratio"].values()]
        latency, share = f"{row['latency_us']:.0f}", f"{row['exchange_share']:.1%}"
        table.add_row(str(row["mtu_bytes"]), latency, *ratios, share)
    console.print(table, "")
    _draw(rows, CURVE)
    console.print(f"wrote {CURVE.relative_to(CHECKOUT)}")
    return rows


def _shape(mtu: int) -> dict[str, Any]:
    """Return what one message sees, and what 64 nodes at once get, at one MTU."""
    shaped = Shape(mtu_bytes=mtu)
    wire_byte_s = links.payload_share(shaped) * shaped.rate_bit_s(9.36) / 8
    with torus(shaped) as running:
        seen = _messages(running)
        iteration_us = _exchange()
    return {
        "mtu_bytes": mtu,
        "latency_us": seen[0],
        "message_ratio": {size: seen[size] / (seen[0] + size / wire_byte_s * 1e6) for size in SIZES if size},
        "exchange_share": (1 << 20) / wire_byte_s / (iteration_us / 1e6),
    }


def _draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw the curve of docs/torus.md: one line per MTU, where 1 is a wire without idle credit."""
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "railyard", "font.family": "sans-serif"})
    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    axes.axhspan(0.95, 1.05, color="0.92")
    for row, marker in zip(rows, "osD^", strict=True):
        sizes = [int(size) / 1024 for size in row["message_ratio"]]
        ratios = list(row["message_ratio"].values())
        axes.plot(sizes, ratios, marker=marker, label=f"MTU {row['mtu_bytes']} bytes")
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [f"{size:.0f}" for size in sizes])
    axes.set_xlabel("message size (KiB)")
    axes.set_ylabel("time / (latency + size / wire rate)")
    title = "One message between neighbours of an idle torus; grey: within 5 %"
    axes.set_title(title, loc="left", fontsize=10)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _messages(running: VirtualTorus) -> dict[int, float]:
    """Return by size the median one-way time in us between n0-0-0 and n1-0-0."""
    sizes = ",".join(map(str, SIZES))
    options = ["--tests", "latency", "--dimensions", "X", "--hops", "1", "--sizes", sizes, "--repeats", "7"]
    options += ["--warmup-time", "0", "--min-time-per-point", "0", "--max-time-per-point", "0"]
    where = ["--coordinates", str(running.folder / "coordinates")]
    series = _measured("hops", ["n0-0-0", "n1-0-0"], [*options, *where])
    return {one["labels"]["size_bytes"]: median(one["samples"]) for one in series}


def _exchange() -> float:
    """Return the median us of the slowest of 64 ranks that exchange 2 x 512 KiB with one X neighbour."""
    nodes = [f"n{2 * (j // 16) + i}-{j % 16 // 4}-{j % 4}" for i in range(2) for j in range(32)]
    return _iteration_us(nodes, ["--grid", "2x32x1", "--cells", "1x256x256", "--repeats", "5"])


def _iteration_us(nodes: list[str], options: list[str]) -> float:
    series = _measured("halo", nodes, options)
    return float(median(next(one["samples"] for one in series if one["fom"] == "iteration_us")))


def _measured(program: str, nodes: list[str], options: list[str]) -> list[dict[str, Any]]:
    """Run a program with rank k on nodes[k], and return its series."""
    with tempfile.TemporaryDirectory() as folder:
        hosts, output = Path(folder, "hosts"), Path(folder, "output.json")
        hosts.write_text("\n".join(nodes) + "\n")
        where = ["-np", str(len(nodes)), "--map-by", "seq", "--hostfile", str(hosts)]
        railyard("torus", "mpirun", NAME, *where, str(PROGRAMS / program), *options, "--json", str(output))
        series: list[dict[str, Any]] = json.loads(output.read_text())["series"]
    return series
