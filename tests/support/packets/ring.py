"""A ring of routers for the user-space router's network alone, messages through it, and what became of them."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from support.commands import CHECKOUT, HUNG_S

PROGRAM = CHECKOUT / "build/bin/railyard-router"
CELL = 2514
HEADERS = 54
PAYLOAD = CELL - HEADERS
RATE = 1_000_000  # bytes per second: one cell takes 2.514 ms
LATENCY_NS = 800_000
Message = tuple[int, int, int, int]  # at_ns, from, to, bytes


def ring(
    count: int,
    *,
    dateline: bool = True,
    buffer_cells: int = 8,
    slow: dict[int, int] | None = None,
    nic_rate: int = RATE,
    fair: bool = False,
) -> str:
    """Return a ring of routers with one node each, all routes in the plus direction; `fair`: sources take turns.

    Link 2 i is the NIC of node i, link 2 i + 1 the way back, link 2 count + i the cable from router i to the next.
    """
    lines = ["railyard-router 1 1", f"cell {CELL}", f"buffer {buffer_cells * CELL} {buffer_cells * CELL}"]
    lines += ["fair"] * fair
    lines += ["nic 1000000", *(f"node n{i} /nowhere/n{i}" for i in range(count))]
    lines += [f"router r{i} 10.1.0.{i}" for i in range(count)] + [f"address {i} 10.0.0.{i}" for i in range(count)]
    rates = dict.fromkeys(range(count), RATE) | (slow or {})
    for i in range(count):
        lines.append(f"link {i} nic0 {count + i} h0 {nic_rate} 0 -1 0 0")
        lines.append(f"link {count + i} h0 {i} nic0 {RATE} {LATENCY_NS} -1 0 0")
    for i in range(count):
        closes = dateline and i == count - 1
        lines.append(f"link {count + i} x+ {count + (i + 1) % count} x- {rates[i]} {LATENCY_NS} 0 {closes:d} 0")
    for i in range(count):
        lines += [f"route {count + i} 10.0.0.0/8 {2 * count + i}", f"route {count + i} 10.0.0.{i}/32 {2 * i + 1}"]
    return "\n".join(lines) + "\n"


def simulate(tmp_path: Path, description: str, messages: Sequence[Message]) -> subprocess.CompletedProcess[str]:
    lines = (f"{at} {2 * source} 10.0.0.{to} {size}\n" for at, source, to, size in messages)
    return routed(tmp_path, description, "".join(lines))


def routed(tmp_path: Path, description: str, lines: str) -> subprocess.CompletedProcess[str]:
    """Run the router on a description, with messages as it reads them."""
    path = tmp_path / "description"
    path.write_text(description)
    command = [str(PROGRAM), "--simulate", str(path)]
    return subprocess.run(command, input=lines, capture_output=True, text=True, timeout=HUNG_S, check=False)


def arrivals(done: subprocess.CompletedProcess[str]) -> dict[int, int]:
    """Return message -> the time of its last byte."""
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("message ")]
    return {int(number): int(due) for _, number, _, due, _ in lines}


def links(done: subprocess.CompletedProcess[str]) -> dict[int, list[int]]:
    """Return link -> sent bytes, cells, received bytes, cells that waited, input and output stall, losses, replays."""
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("link ")]
    return {int(number): [int(word) for word in words] for _, number, *words in lines}
