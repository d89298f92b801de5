"""A victim beside congestors on a virtual ring: measured slowdowns beside those of the link-load model.

The victim sends two messages of 32 KiB at once from node 0 to node 3. Each case is a load: congestors that share a
link with it, or none. The model's slowdown (`placements.linkload.shared`) is computed and printed before anything runs.
A round is one launch alone and one of each case, in random order; a case's factor is taken within its round. Several
loads, loads with fewer bytes in flight than the victim, and those that pause are outside of the model: it bounds them.

    python -m perf.torus.shared_links [--rounds 6] [--keep FILE] [--minutes M]

FILE keeps every launch: a second call goes on where the first one ended, after M minutes. Launches that the guard
voids are counted and enter no figure.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table

from perf.pieces import Pieces, options
from placements.linkload.shared import Flow, slowdown
from placements.topology import catalog
from railyard.base.checkout import BUILD, CHECKOUT
from railyard.torus.plan.plan import Shape
from railyard.torus.virtual import lifecycle

NAME = "bench-ring"
RATE_SCALE = 0.001
ROUNDS = 6
SEED = 24
KIB = 1 << 10
SIZE = 32 * KIB
WINDOW = 2
REPEATS = 8
#: Seconds after which a launch hangs.
LONGEST_S = 400
BIN = Path(sys.executable).parent
PATHS = (CHECKOUT / "railyard/torus/bin", BIN, BUILD / "benchmarks-openmpi/bin")
#: One node on each of ten routers in a ring.
RING = """\
name: ring-10
nodes_per_router: 1
rails: 1
tile_rates_gbyte_s: {cable: 1.0, host: 1.33}
dimensions:
  X: {extent: 10, tiles: 1, pattern: [cable]}
  Y: {extent: 1, tiles: 1, pattern: [cable]}
  Z: {extent: 1, tiles: 1, pattern: [cable]}
host: {tiles: 8}
hop_latency_us: 0.1
"""
VICTIM = (0, 3)
console = Console(width=120)


@dataclass(frozen=True, slots=True, kw_only=True)
class Congestor:
    """One congestor: its pattern, the routers of its ranks, and the messages of 32 KiB that a rank has in flight."""

    pattern: str
    at: tuple[int, ...]
    window: int = 1

    @property
    def flows(self) -> list[Flow]:
        """Return what it keeps in flight; of patterns in both directions all pairs, which is the most."""
        first, *rest = map(node, self.at)
        size = float(SIZE * self.window)
        if self.pattern == "incast":
            return [Flow(source=one, target=first, in_flight_bytes=size) for one in rest]
        if self.pattern == "broadcast":
            return [Flow(source=first, target=one, in_flight_bytes=size) for one in rest]
        every = [first, *rest]
        return [
            Flow(source=one, target=two, in_flight_bytes=size) for one in every for two in every if one != two
        ]

    @property
    def options(self) -> list[str]:
        """Return the words of the program; only incast and permutation have a window, others one larger message."""
        is_windowed = self.pattern in {"incast", "permutation"}
        size, window = (SIZE, self.window) if is_windowed else (SIZE * self.window, 1)
        return ["--pattern", self.pattern, "--size", f"{size}B", "--window", str(window)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A load, by a name."""

    name: str
    load: tuple[Congestor, ...]

    @property
    def is_exact(self) -> bool:
        """Return whether the model says the slowdown and not only a bound."""
        return not self.name.startswith("bound")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where launches run: the torus that is up, and the folder of their files."""

    torus: str
    folder: Path


FAR = (4, 5, 6, 7)
CASES = (
    *(
        Case(
            name=f"shares: incast, {32 * window} KiB",
            load=(Congestor(pattern="incast", at=(4, 2), window=window),),
        )
        for window in (2, 4, 8, 16)
    ),
    Case(name="shares: two senders", load=(Congestor(pattern="incast", at=(4, 1, 2), window=2),)),
    Case(
        name="bound: two congestors",
        load=(
            Congestor(pattern="incast", at=(4, 2), window=2),
            Congestor(pattern="incast", at=(5, 1), window=2),
        ),
    ),
    Case(name="bound: incast, 32 KiB", load=(Congestor(pattern="incast", at=(4, 2)),)),
    Case(name="bound: broadcast, 128 KiB", load=(Congestor(pattern="broadcast", at=(2, 4), window=4),)),
    *(
        Case(name=f"apart: {pattern}", load=(Congestor(pattern=pattern, at=FAR, window=2),))
        for pattern in ("incast", "alltoall", "broadcast", "allreduce", "permutation")
    ),
)
ALONE = Case(name="alone", load=())


def node(router: int) -> str:
    """Return the name of a router's node."""
    return f"n{router}-0-0"


def predicted() -> dict[str, float]:
    """Return the link-load model's slowdown of every case."""
    topology = catalog.parse(_document(), source="ring-10")
    source, target = map(node, VICTIM)
    victim = [Flow(source=source, target=target, in_flight_bytes=float(SIZE * WINDOW))]
    return {
        case.name: slowdown(topology, victim, [flow for each in case.load for flow in each.flows])
        for case in CASES
    }


def _document() -> object:
    return yaml.safe_load(RING)


@contextmanager
def ring() -> Iterator[str]:
    """Bring a ring of this process up for the length of the block."""
    name = f"{NAME}-{os.getpid()}"
    lifecycle.up(catalog.parse(_document(), source="ring-10"), name=name, shape=Shape(rate_scale=RATE_SCALE))
    try:
        yield name
    finally:
        lifecycle.down(name)


def mpirun(folder: Path, stem: str, at: Sequence[int], *program: str) -> str:
    """Return the launcher's line for a program, a rank on each node."""
    hosts = folder / f"{stem}.hosts"
    hosts.write_text("".join(f"{node(router)}\n" for router in at))
    placed = ["-np", str(len(at)), "--map-by", "seq", "--hostfile", hosts.name, "--bind-to", "none"]
    return shlex.join(["mpirun", *placed, *program])


def victim_line(folder: Path, stem: str, repeats: int = REPEATS) -> str:
    """Return the victim's line: two messages in flight from its first node to its second."""
    bulk = ["--tests", "bandwidth", "--sizes", f"{SIZE}B", "--window", str(WINDOW), "--windows", "1"]
    timing = ["--repeats", str(repeats), "--warmups", "1", "--warmup-time", "0"]
    timing += ["--min-time-per-point", "0", "--max-time-per-point", "0", "--json", f"{stem}.json"]
    return mpirun(folder, f"{stem}.victim", VICTIM, "pt2pt", "--pattern", "fan-out", *bulk, *timing)


def started(place: Place, stem: str, case: Case, victim: str) -> subprocess.Popen[str]:
    """Start a launch: the victim alone, or `railyard together` with its load."""
    folder = place.folder
    words = shlex.split(victim)
    if case.load:
        beside = [
            f"--congestor=load-{number}={_congestor_line(folder, f'{stem}.load-{number}', stem, each)}"
            for number, each in enumerate(case.load)
        ]
        words = [str(BIN / "railyard"), "together", stem, *beside, "--", *words]
    return subprocess.Popen(
        words,
        cwd=place.folder,
        env=variables(place.torus, stem),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def variables(torus: str, stem: str) -> dict[str, str]:
    """Return the environment of a launch on a torus."""
    path = ":".join([*map(str, PATHS), os.environ["PATH"]])
    return {**os.environ, "RAILYARD_TORUS": torus, "RAILYARD_EVIDENCE": f"{stem}.evidence", "PATH": path}


def _congestor_line(folder: Path, own: str, stem: str, each: Congestor) -> str:
    files = ["--ready", f"{own}.ready", "--stop", f"{stem}.stop", "--json", f"{own}.json"]
    return mpirun(folder, own, each.at, "congestor", *each.options, *files)


def launch(place: Place, stem: str, case: Case) -> dict[str, Any]:
    """Run one launch; return the victim's median rate, the guard's verdict and what the congestors' nodes sent."""
    folder = place.folder
    process = started(place, stem, case, victim_line(folder, stem))
    _, err = process.communicate(timeout=LONGEST_S)
    if process.returncode:
        raise SystemExit(f"perf: {case.name}: exit status {process.returncode}: {err[-2000:]}")
    series = json.loads((folder / f"{stem}.json").read_text())["series"]
    (samples,) = (each["samples"] for each in series if each["fom"] == "aggregate_bandwidth_gbyte_s")
    guard = json.loads((folder / f"{stem}.evidence").read_text())["guard"]
    return {
        "case": case.name,
        "byte_s": 1e9 * median(samples),
        "verdict": guard["verdict"],
        "bound_percent": guard.get("error_bound_percent"),
        "sent_bytes": _sent(folder, stem, case),
    }


def _sent(folder: Path, stem: str, case: Case) -> int | None:
    if not case.load:
        return None
    nics = json.loads((folder / f"{stem}.roles").read_text())["nics"]
    nodes = {node(router) for each in case.load for router in each.at}
    return int(sum(each["tx_bytes"] for each in nics if each["node"] in nodes))


def measure(rounds: int, pieces: Pieces) -> dict[str, Any]:
    """Run the rounds that `keep` does not have yet, and print the table of all."""
    model = predicted()
    for name, value in model.items():
        console.print(f"model: {name}: {value:.3f}")
    with ring() as torus, tempfile.TemporaryDirectory() as temporary:
        for number in range(rounds):
            chance = random.Random(SEED + number)
            for case in chance.sample([ALONE, *CASES], k=1 + len(CASES)):
                if pieces.is_over or pieces.get(number, case.name) is not None:
                    continue
                stem = f"{number}-{case.name.replace(': ', '-').replace(', ', '-').replace(' ', '-')}"
                found = launch(Place(torus=torus, folder=Path(temporary)), stem, case)
                pieces.add({"round": number, **found}, number, case.name)
                console.print(f"round {number}: {case.name}: {found['byte_s']:.0f} B/s, {found['verdict']}")
    return _table(model, pieces.rows)


def factors(done: Sequence[Mapping[str, Any]], case: str) -> list[float]:
    """Return a case's factors: the victim's rate alone over that under load, a round each, void launches left out."""
    sound = {(each["round"], each["case"]): each["byte_s"] for each in done if each["verdict"] == "ok"}
    rounds = [number for number, name in sound if name == case and (number, ALONE.name) in sound]
    return [sound[number, ALONE.name] / sound[number, case] for number in rounds]


def _table(model: Mapping[str, float], done: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    table = Table("load", "launches", "void", "model", "median", "least", "most", "off by", "proved")
    figures: dict[str, Any] = {}
    for name, value in model.items():
        found = factors(done, name)
        mine = [each for each in done if each["case"] == name]
        void = sum(each["verdict"] != "ok" for each in mine)
        proved = sum((each["sent_bytes"] or 0) > 0 for each in mine)
        figures[name] = {"model": value, "factors": found, "void": void, "launches": len(mine)}
        shown = [f"{f:.3f}" for f in (median(found), min(found), max(found))] if found else ["-"] * 3
        is_exact = next(case.is_exact for case in CASES if case.name == name)
        off = f"{100 * (median(found) / value - 1):+.1f} %" if found and is_exact else "-"
        table.add_row(
            name, str(len(mine)), str(void), f"{value:.3f}", *shown, off, f"{proved} of {len(mine)}"
        )
    console.print(table)
    return figures


def main() -> None:
    """Measure so many rounds."""
    parser = argparse.ArgumentParser(
        prog="python -m perf.torus.shared_links", description="what a shared link costs"
    )
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, help="launches of each case (default: %(default)s)"
    )
    parser.add_argument(
        "--keep",
        type=Path,
        default=BUILD / "shared-links.jsonl",
        help="file of all launches (default: in build)",
    )
    options(parser)
    asked = parser.parse_args()
    measure(asked.rounds, Pieces(asked.keep, asked.minutes))


if __name__ == "__main__":
    main()
