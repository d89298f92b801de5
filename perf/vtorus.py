"""Measure the virtual torus: time to bring it up, rates of its links, messages, launches, engine docker."""

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

from perf import faults, links, placements
from railyard.base.checkout import CHECKOUT
from railyard.placements.linkload import model, traffic
from railyard.placements.orders.allocation import allocate
from railyard.placements.orders.placement import place
from railyard.placements.topology import catalog
from railyard.placements.topology.torus import DIMENSIONS
from railyard.torus.engines import docker_engine
from railyard.torus.engines.base import Containers
from railyard.torus.plan import plan
from railyard.torus.plan.plan import Shape
from railyard.torus.virtual import lifecycle, locks
from railyard.torus.virtual.fidelity import Watch
from railyard.torus.virtual.lifecycle import VirtualTorus

PROGRAMS = CHECKOUT / "build/benchmarks-openmpi/bin"
CURVE = CHECKOUT / "build/message-curve.svg"
NAME = "bench"
MTUS = (1500, 2500, 4500, 9000)
SIZES = (0, 16384, 65536, 131072, 262144, 1048576)
console = Console(width=110)


def fidelity() -> dict[str, Any]:
    """Return what one torus of engine netns shows: links, launches, faults."""
    with torus(Shape()) as running:
        return {"links": link_rates(running), "launch": launch(), "faults": faults.rates(running, console)}


def predicted() -> dict[str, Any]:
    """Run `predict` on a torus of its own."""
    with torus(Shape()) as running:
        return predict(running)


def shapes() -> list[dict[str, Any]]:
    """Measure messages for every MTU, and draw the curve of docs/torus.md."""
    rows = [shape(mtu) for mtu in MTUS]
    show_shapes(rows)
    draw(rows, CURVE)
    console.print(f"wrote {CURVE.relative_to(CHECKOUT)}")
    return rows


def predict(running: VirtualTorus) -> dict[str, Any]:
    """Compare the model's order of placements with that of halo times, medians of three launches each."""
    grid, options = (4, 16), ["--grid", "4x16", "--cells", "4096", "--repeats", "3", "--warmups", "1"]
    sent, granted = traffic.stencil(grid, (8 * 4096.0,)), allocate(running.topology)
    predicted, measured = {}, {}
    for name in placements.PREDICTED:
        placed = place(name, granted, grid, seed=1, traffic=sent)
        loads = model.load(running.topology, placed.indices, sent, model.PROTOCOLS["payload"])
        predicted[name] = placements.predicted_s(loads) / (running.shape.rate_scale)
        names = [node.name for node in placed.nodes]
        runs = [_measured("halo", names, options) for _ in range(3)]
        measured[name] = median(
            median(s["samples"]) for series in runs for s in series if s["fom"] == "iteration_us"
        )
    return placements.agreement(console, measured, predicted)


@contextmanager
def torus(shaped: Shape, containers: Containers | None = None) -> Iterator[VirtualTorus]:
    """Bring up gemini-4x4x4 for the length of the block."""
    running, _ = lifecycle.up(
        catalog.load("gemini-4x4x4"),
        name=NAME,
        shape=shaped,
        engine="docker" if containers else "netns",
        containers=containers,
    )
    try:
        yield running
    finally:
        lifecycle.down(NAME)


@contextmanager
def in_one_turn(name: str) -> Iterator[Watch]:
    """Keep launches of others out of the block; yield the watch over all launches within it."""
    with locks.turn():
        running = lifecycle.get(name)
        held = locks.acquire(running.folder / lifecycle.LAUNCHING, what="another launch on this torus to end")
        try:
            with Watch(running) as watch, locks.as_one_launch(name):
                yield watch
        finally:
            os.close(held)


def bring_up() -> dict[str, float]:
    """Time `railyard torus up` and `down` three times, Python's start included, and Mininet once."""
    ups, downs = _ups_and_downs()
    mininet_s, switches, hosts, cables = _mininet()
    table = Table("", "switches", "hosts", "links", "up (s)", "down (s)", title="bring a torus up")
    ours = catalog.load("gemini-4x4x4")
    count = [str(len(ours.routers)), str(len(ours.nodes)), str(len(plan.make(ours, Shape()).cables))]
    table.add_row("railyard gemini-4x4x4, shaped", *count, f"{median(ups):.2f}", f"{median(downs):.2f}")
    table.add_row("Mininet TorusTopo(8, 8), not shaped", switches, hosts, cables, f"{mininet_s:.1f}", "")
    console.print(table, f"railyard is {mininet_s / median(ups):.0f} times as fast up\n")
    return {"up_s": median(ups), "down_s": median(downs), "mininet_up_s": mininet_s}


def with_docker() -> dict[str, Any] | None:
    """Measure up, down, link rates and a launch with engine docker; None, and a line, if it cannot be used."""
    if reason := docker_engine.missing(docker_engine.DEFAULT_IMAGE):
        console.print(f"engine docker not measured: {reason}\n")
        return None
    ups, downs = _ups_and_downs("--engine", "docker")
    console.print(f"64 containers as nodes: up {median(ups):.1f} s, down {median(downs):.1f} s, medians of 3")
    with torus(Shape(), docker_engine.containers(docker_engine.DEFAULT_IMAGE, [str(CHECKOUT)])) as running:
        rates = link_rates(running)
        return {"up_s": median(ups), "down_s": median(downs), "links": rates, "launch": launch("halo")}


def _ups_and_downs(*options: str) -> tuple[list[float], list[float]]:
    """Return the seconds of `torus up` and of `torus down`, three times."""
    ups, downs = [], []
    for _ in range(3):
        ups.append(_seconds("torus", "up", "gemini-4x4x4", "--name", NAME, *options))
        downs.append(_seconds("torus", "down", NAME))
    return ups, downs


def link_rates(running: VirtualTorus) -> list[dict[str, Any]]:
    """Return a row for every dimension and class of link."""
    rates = links.measure(running)
    base = median(r.measured_byte_s for r in rates if r.link.dimension == 0)
    table = Table(
        "links",
        "count",
        "wire (Mbit/s)",
        "payload (MB/s)",
        "worst error",
        "ratio to X",
        "wanted",
        title="links",
    )
    rows = []
    for key in sorted({(r.link.dimension, str(r.link.link_class)) for r in rates}):
        group = [r for r in rates if (r.link.dimension, str(r.link.link_class)) == key]
        worst = max((r.error_percent for r in group), key=abs)
        rate = group[0].link.rate_gbyte_s
        ratio, wanted = median(r.measured_byte_s for r in group) / base, rate / 9.36
        name = f"{DIMENSIONS[key[0]]} {key[1]}"
        wire, payload = running.shape.rate_bit_s(rate) / 1e6, median(r.measured_byte_s for r in group) / 1e6
        numbers = [f"{wire:.3f}", f"{payload:.4f}", f"{worst:+.2f} %", f"{ratio:.3f}", f"{wanted:.3f}"]
        table.add_row(name, str(len(group)), *numbers)
        rows.append(
            {
                "links": name,
                "count": len(group),
                "worst_error_percent": worst,
                "ratio": ratio,
                "wanted": wanted,
            }
        )
    console.print(table, "")
    return rows


def launch(halo: str = str(PROGRAMS / "halo")) -> dict[str, float]:
    """Time mpirun from start to end: 64 ranks, one small halo exchange."""
    program = [halo, "--grid", "4x4x4", "--cells", "8", "--repeats", "1", "--warmups", "0"]
    times = [_seconds("torus", "mpirun", NAME, "-np", "64", *program) for _ in range(3)]
    spread = f"{min(times):.1f} to {max(times):.1f}"
    console.print(f"64 ranks start, exchange and finish: median {median(times):.1f} s of 3 ({spread})\n")
    return {"median_s": median(times), "max_s": max(times)}


def shape(mtu: int) -> dict[str, Any]:
    """Return what one message sees, and what 64 nodes at once get, at one MTU."""
    shaped = Shape(mtu_bytes=mtu)
    with torus(shaped) as running:
        wire_byte_s = links.payload_share(shaped) * shaped.rate_bit_s(9.36) / 8
        seen = _messages(running)
        ratios = {size: seen[size] / (seen[0] + size / wire_byte_s * 1e6) for size in SIZES if size}
        iteration_us = _exchange(running)
    return {
        "mtu_bytes": mtu,
        "latency_us": seen[0],
        "message_ratio": ratios,
        "exchange_share": (1 << 20) / wire_byte_s / (iteration_us / 1e6),
    }


def show_shapes(rows: list[dict[str, Any]]) -> None:
    """Print the times of one message and of all nodes together."""
    headings = [f"{size // 1024} KiB" for size in SIZES if size]
    title = "one message: time over (latency + size / wire rate); 64 nodes at once: share of the link"
    table = Table("MTU", "latency (us)", *headings, "64 at once", title=title)
    for row in rows:
        ratios = [f"{ratio:.3f}" for ratio in row["message_ratio"].values()]
        table.add_row(
            str(row["mtu_bytes"]), f"{row['latency_us']:.0f}", *ratios, f"{row['exchange_share']:.1%}"
        )
    console.print(table, "")


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw the curve of docs/torus.md: one line per MTU, where 1 is a wire without idle credit."""
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "railyard", "font.family": "sans-serif"})
    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    axes.axhspan(0.95, 1.05, color="0.92")
    for row, marker in zip(rows, "osD^", strict=True):
        sizes = [int(size) / 1024 for size in row["message_ratio"]]
        axes.plot(
            sizes, list(row["message_ratio"].values()), marker=marker, label=f"MTU {row['mtu_bytes']} bytes"
        )
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [f"{size:.0f}" for size in sizes])
    axes.set_xlabel("message size (KiB)")
    axes.set_ylabel("time / (latency + size / wire rate)")
    axes.set_title(
        "One message between neighbours of an idle torus; grey: within 5 %", loc="left", fontsize=10
    )
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
    return {s["labels"]["size_bytes"]: median(s["samples"]) for s in series}


def _exchange(running: VirtualTorus) -> float:
    """Return the median us of the slowest of 64 ranks that exchange 2 x 512 KiB with one X neighbour."""
    nodes = [f"n{2 * (j // 16) + i}-{j % 16 // 4}-{j % 4}" for i in range(2) for j in range(32)]
    options = ["--grid", "2x32x1", "--cells", "1x256x256", "--repeats", "5"]
    series = _measured("halo", nodes, options)
    samples: list[float] = next(s["samples"] for s in series if s["fom"] == "iteration_us")
    return median(samples)


def _measured(program: str, nodes: list[str], options: list[str]) -> list[dict[str, Any]]:
    """Run a program with rank k on nodes[k], and return its series."""
    with tempfile.TemporaryDirectory() as folder:
        hosts, output = Path(folder, "hosts"), Path(folder, "output.json")
        hosts.write_text("\n".join(nodes) + "\n")
        where = ["-np", str(len(nodes)), "--map-by", "seq", "--hostfile", str(hosts)]
        _seconds("torus", "mpirun", NAME, *where, str(PROGRAMS / program), *options, "--json", str(output))
        series: list[dict[str, Any]] = json.loads(output.read_text())["series"]
    return series


def railyard(*arguments: str, **environment: str) -> None:
    """Run the command without what it prints."""
    command = [str(Path(sys.executable).with_name("railyard")), *arguments]
    subprocess.run(command, env={**os.environ, **environment}, check=True, stdout=subprocess.DEVNULL)


def _seconds(*arguments: str) -> float:
    start_s = time.monotonic()
    railyard(*arguments)
    return time.monotonic() - start_s


def _mininet() -> tuple[float, str, str, str]:
    """Return the seconds, switches, hosts and links of Mininet, which runs in namespaces that end with it."""
    unshared = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    command = [*unshared, "/usr/bin/python3", str(Path(__file__).with_name("mininet_torus.py"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        words = process.stdout.readline().split()
        process.kill()
    if len(words) != 4:
        raise SystemExit("bench: Mininet did not come up; see above")
    return float(words[0]), words[1], words[2], words[3]
