"""Measure the virtual torus gemini-4x4x4: rates of its links, also with faults."""

from __future__ import annotations

import multiprocessing
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from railyard.base.checkout import CHECKOUT
from railyard.placements.topology import catalog
from railyard.placements.topology.base import Link
from railyard.placements.topology.torus import DIMENSIONS
from railyard.torus.engines import netns
from railyard.torus.plan import addresses, plan
from railyard.torus.plan.plan import Shape
from railyard.torus.virtual import lifecycle
from railyard.torus.virtual.lifecycle import VirtualTorus

PROGRAMS = CHECKOUT / "build/benchmarks-openmpi/bin"
NAME = "bench"
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


def fidelity() -> dict[str, Any]:
    """Return what one torus of engine netns shows: links, faults."""
    with torus(Shape()) as running:
        return {"links": link_rates(running), "faults": faults(running)}


def link_rates(running: VirtualTorus) -> list[dict[str, Any]]:
    """Return a row for every dimension and class of link."""
    rates = measure(running)
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
    measured = measure(hurt)
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


PORT = 5001
CHUNK = bytes(65536)
SECONDS = 1.5
#: A slow link is slow in each pass, unlike a receiver that got the processor late.
PASSES = 3
#: Links under load at a time: 64 of the fastest need more packets per second than some two-core machines forward.
AT_ONCE = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A link's measured and expected payload rate, bytes per second."""

    link: Link
    measured_byte_s: float
    expected_byte_s: float

    @property
    def error_percent(self) -> float:
        return 100 * (self.measured_byte_s / self.expected_byte_s - 1)


def payload_share(shape: Shape) -> float:
    """Return the payload's share of the bytes on the wire: TCP with timestamps over IPv4 over Ethernet."""
    return (shape.mtu_bytes - 52) / (shape.mtu_bytes + plan.ETHERNET_BYTES)


def measure(torus: VirtualTorus) -> list[Rate]:
    """Return the rate of every directed link by direction (X+ X- Y+ Y- Z+ Z-), medians of `PASSES` passes."""
    passes = [_once(torus) for _ in range(PASSES)]
    return [
        replace(rates[0], measured_byte_s=median(rate.measured_byte_s for rate in rates))
        for rates in zip(*passes, strict=True)
    ]


def _once(torus: VirtualTorus) -> list[Rate]:
    rates = []
    for dimension in range(3):
        for step in (1, -1):
            links = [k for k in torus.topology.links() if (k.dimension, k.step) == (dimension, step)]
            for first in range(0, len(links), AT_ONCE):
                rates += _phase(torus, links[first : first + AT_ONCE])
    return rates


def _phase(torus: VirtualTorus, links: list[Link]) -> list[Rate]:
    """Return the rates of links under load together, each from a sender to a receiver, forks of this process."""
    context = multiprocessing.get_context("fork")
    rates_byte_s: SimpleQueue[tuple[int, float]] = context.SimpleQueue()
    ready, listening = context.Barrier(2 * len(links)), context.Barrier(2 * len(links))
    lines = [torus.shape.rate_bit_s(torus.faults.rate_gbyte_s(torus.topology, link)) / 8 for link in links]

    def receive(index: int, link: Link, port: int) -> None:
        """Measure the rate after the first tenth of a second, without slow start and the first bucket of tokens."""
        netns.enter(netns.full_name(torus.name, torus.topology.router_name(link.target)))
        with socket.create_server(("", port)) as server:
            listening.wait()
            connection, _ = server.accept()
            # Woken for each packet, 32 receivers take the processors that the routers need.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, len(CHUNK) // 4)
            ready.wait()
            times, totals = [time.monotonic()], [0]
            while data := connection.recv(len(CHUNK)):
                times.append(time.monotonic())
                totals.append(totals[-1] + len(data))
        rates_byte_s.put((index, _slope(np.array(times), np.array(totals))))

    def send(index: int, link: Link, port: int) -> None:
        netns.enter(netns.full_name(torus.name, torus.topology.router_name(link.source)))
        listening.wait()
        target, size = addresses.router_address(torus.topology, link.target), int(SECONDS * lines[index])
        with socket.create_connection((target, port)) as connection:
            # In a queue of seconds TCP takes waiting for loss, sends twice, and the link looks slow.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, len(CHUNK))
            ready.wait()
            while size > 0:
                size -= connection.send(CHUNK[:size])

    ends = [
        context.Process(target=end, args=(index, link, PORT + link.dimension * 2 + (link.step < 0)))
        for index, link in enumerate(links)
        for end in (receive, send)
    ]
    for process in ends:
        process.start()
    measured = dict(rates_byte_s.get() for _ in links)
    for process in ends:
        process.join()
    share = payload_share(torus.shape)
    return [
        Rate(link=link, measured_byte_s=measured[index], expected_byte_s=share * line)
        for index, (link, line) in enumerate(zip(links, lines, strict=True))
    ]


def _slope(times_s: NDArray[np.float64], totals_bytes: NDArray[np.int64]) -> float:
    """Return a fit in bytes per second: a receiver that gets the processor late moves one point, not the rate."""
    steady = times_s > times_s[0] + 0.1
    return float(np.polyfit(times_s[steady], totals_bytes[steady], 1)[0])
