"""Dead cables without a detour: how many of them topobw names, and in what time.

A cable loses every packet in both directions while routes still lead over it. `python -m perf.torus.dead_links [CABLES]
[--minutes M]` kills seeded cables of a torus of 64 nodes, one after another. Each is kept in build/dead-links.jsonl,
and a second call goes on where the first one stopped.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from perf import pieces
from perf.pieces import Pieces
from placements.launchers import files
from placements.topology import catalog
from placements.topology.base import Topology
from railyard.base.checkout import BUILD
from railyard.torus.plan.plan import Shape
from railyard.torus.virtual import lifecycle, locks

PROGRAM = BUILD / "benchmarks-openmpi/bin/topobw"
NAME = "bench-dead"
CABLES = 20
SEED = 17
LIMIT_S = 90
OPTIONS = ("--size", "64KiB", "--messages", "4", "--repeats", "1", "--deadline", "20", "--tolerance", "20")
console = Console(width=110)

NOBODY = "02:00:00:00:00:99"
OPPOSITE = {"+": "-", "-": "+"}


@contextmanager
def dead_cable(torus: str, direction: str, one: str, other: str) -> Iterator[None]:
    """Send packets for the next router to a hardware address that nobody has; `X+`, `1,0,0`, `2,0,0`."""
    back = direction[0] + OPPOSITE[direction[1]]
    ports = [(f"railyard.{torus}.r{one.replace(',', '-')}", direction.lower())]
    ports += [(f"railyard.{torus}.r{other.replace(',', '-')}", back.lower())]
    known = {port: _neighbour(*port) for port in ports}
    for port, (address, _) in known.items():
        _send_to(*port, address, NOBODY)
    try:
        yield
    finally:
        for port, (address, hardware) in known.items():
            _send_to(*port, address, hardware)


def _neighbour(namespace: str, port: str) -> tuple[str, str]:
    """The address of the router at the port's other end, and its hardware address."""
    words = _ip(namespace, "neigh", "show", "dev", port).split()
    return words[0], words[2]


def _send_to(namespace: str, port: str, address: str, hardware: str) -> None:
    _ip(namespace, "neigh", "replace", address, "lladdr", hardware, "nud", "permanent", "dev", port)


def _ip(namespace: str, *words: str) -> str:
    command = ["ip", "-netns", namespace, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def measure(cables: int = CABLES, minutes: float | None = None) -> dict[str, Any]:
    """Kill each cable alone and run topobw once; a row each."""
    topology = catalog.load("gemini-4x4x4")
    links = random.Random(SEED).sample([link.name for link in topology.links()], cables)
    kept = Pieces(BUILD / "dead-links.jsonl", minutes)
    lifecycle.up(topology, name=NAME, shape=Shape())
    try:
        with tempfile.TemporaryDirectory() as folder:
            for link in links:
                if not kept.is_over and kept.get(link) is None:
                    console.print(kept.add(_row(topology, link, Path(folder)), link))
    finally:
        lifecycle.down(NAME)
    rows = [row for link in links if (row := kept.get(link))]
    named = sum(row["named"] and row["seconds"] < LIMIT_S for row in rows)
    times = (
        f"; {min(row['seconds'] for row in rows)} to {max(row['seconds'] for row in rows)} s" if rows else ""
    )
    console.print(f"{named} of {len(rows)} dead cables named within {LIMIT_S} s{times}")
    return {"rows": rows, "named": named}


def _row(topology: Topology, link: str, folder: Path) -> dict[str, Any]:
    direction, ends = link.split()
    output = folder / "output.json"
    (folder / "coordinates").write_text(files.coordinates(topology))
    (folder / "links").write_text(files.links(topology))
    inputs = ["--coordinates", f"{folder}/coordinates", "--links", f"{folder}/links", "--json", str(output)]
    ranks = str(len(topology.nodes))
    words = ["torus", "mpirun", NAME, "-q", "-np", ranks, str(PROGRAM), *inputs, *OPTIONS]
    railyard = str(Path(sys.executable).with_name("railyard"))
    with dead_cable(NAME, direction, *ends.split(">")), locks.turn(), locks.as_one_launch(NAME):
        begun = time.monotonic()  # other launches on this machine have ended
        done = subprocess.run([railyard, *words], capture_output=True, text=True, check=False)
        seconds = time.monotonic() - begun
    found = json.loads(output.read_text())["verdict"]["findings"] if output.exists() else []
    output.unlink(missing_ok=True)
    named = [each["links"] for each in found if each["state"] == "no answer"]
    both = {frozenset(ends.split(">"))}
    right = {frozenset(name.split()[1].split(">")) for names in named for name in names} == both
    return {
        "link": link,
        "status": done.returncode,
        "named": right,
        "findings": len(found),
        "seconds": round(seconds, 1),
    }


def main() -> None:
    """Measure so many cables."""
    parser = argparse.ArgumentParser(
        prog="python -m perf.torus.dead_links", description="dead cables that topobw names"
    )
    parser.add_argument("cables", type=int, nargs="?", default=CABLES, help="default: %(default)s")
    pieces.options(parser)
    asked = parser.parse_args()
    measure(asked.cables, asked.minutes)


if __name__ == "__main__":
    main()
