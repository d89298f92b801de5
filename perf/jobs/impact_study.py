"""Victims under load by congestor, division of the nodes and rail: emulated and simulated, on a fat tree and a torus.

The fat tree is `dual-rail-small` (16 nodes with two NICs), the torus `gemini-2x2x2` (8 nodes with one). The victim has
half of the nodes, by one of the rules of `split`. On the fat tree the load uses the victim's rail or the other one. All
programs are `congestor`: an allreduce of 8 B and a random permutation of large messages as victims, alone and beside an
incast, an alltoall or a permutation. Messages of a load have the sizes of `railyard.jobs.roles`. A figure is the median
round of the victim under load over that alone on the same nodes: 1 is no effect.

    python -m perf.jobs.impact_study simulated [--keep FILE]              one run each; the simulation is exact
    python -m perf.jobs.impact_study emulated [--keep FILE] [--launches 3]
    python -m perf.jobs.impact_study table [--keep FILE]

FILE keeps every run: a call that `--minutes M` ended early goes on next time. Void launches of the emulation enter no
figure, and are counted.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from perf.pieces import Pieces, Row, options
from perf.torus import shared_links
from perf.torus.shared_links import LONGEST_S
from placements.orders import division
from placements.orders.allocation import allocate
from placements.topology import catalog
from railyard.base.checkout import BUILD
from railyard.jobs.roles import PATTERNS
from railyard.torus.plan.plan import Shape
from railyard.torus.virtual import lifecycle

NAME = "bench-impact"
#: Networks, and the factor of their rates on this machine.
NETWORKS: Mapping[str, float] = {"dual-rail-small": 0.0005, "gemini-2x2x2": 0.0005}
#: Victims: pattern, then bytes, messages in flight and rounds, simulated and emulated.
VICTIMS: Mapping[str, tuple[str, tuple[int, int, int], tuple[int, int, int]]] = {
    "allreduce of 8 B": ("allreduce", (8, 1, 200), (8, 1, 100)),
    "permutation": ("permutation", (1 << 20, 4, 10), (1 << 15, 4, 10)),
}
LOADS = ("incast", "alltoall", "permutation")
SPLITS = ("contiguous", "interleaved", "random:1")
WINDOW = 4
LAUNCHES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One combination; `load` is empty for the victim alone, `rail` the rail of the load (the victim's is 0)."""

    network: str
    victim: str
    load: str
    split: str
    rail: int


def cases() -> Iterator[Case]:
    """Return every combination, the victim alone before its loads."""
    for network in NETWORKS:
        rails = range(catalog.load(network).rails)
        for victim in VICTIMS:
            for split in SPLITS:
                yield Case(network=network, victim=victim, load="", split=split, rail=0)
                for load in LOADS:
                    for rail in rails:
                        yield Case(network=network, victim=victim, load=load, split=split, rail=rail)


def _nodes(case: Case) -> tuple[list[str], list[str]]:
    """Return the names of the victim's nodes and of the load's."""
    granted = allocate(catalog.load(case.network))
    names = [granted.topology.nodes[index].name for index in granted.indices]
    own, rest = division.split(granted, case.split, 0)
    return [names[k] for k in own], [names[k] for k in rest]


def _victim_options(case: Case, *, emulated: bool) -> list[str]:
    pattern, *sizes = VICTIMS[case.victim]
    size, window, rounds = sizes[1 if emulated else 0]
    return [
        *("--pattern", pattern, "--size", f"{size}B", "--window", str(window)),
        *("--rounds", str(rounds), "--warmups", "1"),
    ]


def _round_us(output: Path) -> float:
    series = json.loads(output.read_text())["series"]
    return float(median(next(each["samples"] for each in series if each["fom"] == "round_us")))


def simulated(case: Case, folder: Path) -> dict[str, Any]:
    """Run both programs as one in the simulation (`congestor --beside`)."""
    own, rest = _nodes(case)
    hosts, output = folder / "hosts", folder / "output.json"
    rail = f".nic{case.rail}" if case.rail else ""
    used = [*own, *(f"{name}{rail}" for name in rest)] if case.load else own
    hosts.write_text("".join(f"{name}\n" for name in used))
    options = _victim_options(case, emulated=False)
    if case.load:
        size = PATTERNS[case.load][0]
        options += ["--beside", case.load, "--beside-size", f"{size}B", "--beside-window", str(WINDOW)]
        options += ["--beside-ranks", str(len(rest))]
    program = [str(BUILD / "benchmarks-simgrid/bin/congestor"), *options, "--json", str(output)]
    words = [str(shared_links.BIN / "railyard"), "sim", "--hostfile", str(hosts), case.network, *program]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"perf: {case}: {done.stderr[-2000:]}")
    return {"round_us": _round_us(output), "verdict": "ok"}


def emulated(case: Case, folder: Path) -> dict[str, Any]:
    """Run one launch on the torus that is up."""
    own, rest = _nodes(case)
    stem = "launch"
    for left in folder.glob("*"):
        left.unlink()
    victim = ["congestor", *_victim_options(case, emulated=True), "--json", f"{stem}.json"]
    words = _mpirun(_hosts(folder, f"{stem}.victim", own), 0, victim)
    if case.load:
        size = PATTERNS[case.load][1]
        files = ["--ready", f"{stem}.load.ready", "--stop", f"{stem}.stop", "--json", f"{stem}.load.json"]
        load = ["congestor", "--pattern", case.load, "--size", f"{size}B", "--window", str(WINDOW), *files]
        line = " ".join(_mpirun(_hosts(folder, f"{stem}.load", rest), case.rail, load))
        beside = [str(shared_links.BIN / "railyard"), "together", stem, f"--congestor=load={line}", "--"]
        words = [*beside, *words]
    done = subprocess.run(
        words,
        cwd=folder,
        env=shared_links.variables(NAME, stem),
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"perf: {case}: exit status {done.returncode}: {done.stderr[-2000:]}")
    guard = json.loads((folder / f"{stem}.evidence").read_text())["guard"]
    return {"round_us": _round_us(folder / f"{stem}.json"), "verdict": guard["verdict"]}


def _hosts(folder: Path, stem: str, nodes: Sequence[str]) -> list[str]:
    """Write a host file, and return the launcher's words that place a rank on each of its nodes."""
    hosts = folder / f"{stem}.hosts"
    hosts.write_text("".join(f"{name}\n" for name in nodes))
    return ["-np", str(len(nodes)), "--map-by", "seq", "--hostfile", hosts.name, "--bind-to", "none"]


def _mpirun(placed: Sequence[str], rail: int, program: Sequence[str]) -> list[str]:
    return ["mpirun", *placed, "--mca", "btl_tcp_if_include", f"nic{rail}", *program]


def run(method: str, pieces: Pieces, launches: int) -> None:
    """Run every case that is not kept yet, until the time is over."""
    for network, rate_scale in NETWORKS.items():
        keys = [
            (method, number, case)
            for number in range(launches)
            for case in cases()
            if case.network == network and pieces.get(*_key(method, number, case).values()) is None
        ]
        if keys and not pieces.is_over:
            with _network(network, method, rate_scale), tempfile.TemporaryDirectory() as temporary:
                _run(keys, pieces, Path(temporary))


def _run(missing: Sequence[tuple[str, int, Case]], pieces: Pieces, folder: Path) -> None:
    for method, number, case in missing:
        if pieces.is_over:
            break
        key = _key(method, number, case)
        found = (simulated if method == "simulated" else emulated)(case, folder)
        pieces.add({**key, **found}, *key.values())


def _key(method: str, number: int, case: Case) -> dict[str, Any]:
    return {"method": method, "launch": number, **asdict(case)}


@contextmanager
def _network(network: str, method: str, rate_scale: float) -> Iterator[None]:
    """Bring the network up for an emulation; a simulation needs none."""
    if method == "simulated":
        yield
        return
    lifecycle.up(catalog.load(network), name=NAME, shape=Shape(rate_scale=rate_scale))
    try:
        yield
    finally:
        lifecycle.down(NAME)


def factor(done: Sequence[Row], method: str, case: Case) -> tuple[float | None, int]:
    """Return a case's median factor over its launches, and how many of its launches are void."""
    alone = {**asdict(case), "load": "", "rail": 0}
    mine = [each for each in done if each["method"] == method and asdict(case).items() <= each.items()]
    base = [
        each["round_us"]
        for each in done
        if each["method"] == method and alone.items() <= each.items() and each["verdict"] == "ok"
    ]
    sound = [each["round_us"] for each in mine if each["verdict"] == "ok"]
    value = median(sound) / median(base) if sound and base else None
    return value, len(mine) - len(sound)


def table(done: Sequence[Row]) -> Table:
    """Return a row for each network, victim, load and rail: factors by rule, simulated and emulated."""
    heads = [f"{method[:3]}. {split}" for method in ("simulated", "emulated") for split in SPLITS]
    made = Table("network", "victim", "load", "rail", *heads, "void")
    rows = dict.fromkeys((each.network, each.victim, each.load, each.rail) for each in cases() if each.load)
    for network, victim, load, rail in rows:
        cells, void = [], 0
        for method in ("simulated", "emulated"):
            for split in SPLITS:
                case = Case(network=network, victim=victim, load=load, split=split, rail=rail)
                value, lost = factor(done, method, case)
                void += lost
                cells.append("-" if value is None else f"{value:.2f}")
        made.add_row(network, victim, load, "other" if rail else "same", *cells, str(void))
    return made


def main() -> None:
    """Run the part that is named, and print the table of all runs."""
    parser = argparse.ArgumentParser(
        prog="python -m perf.jobs.impact_study", description="victims under load"
    )
    parser.add_argument("part", choices=["simulated", "emulated", "table"], help="what to run")
    parser.add_argument(
        "--keep", type=Path, default=BUILD / "impact-study.jsonl", help="file of all runs (default: in build)"
    )
    parser.add_argument(
        "--launches", type=int, default=LAUNCHES, help="of the emulation (default: %(default)s)"
    )
    options(parser)
    asked = parser.parse_args()
    pieces = Pieces(asked.keep, asked.minutes)
    if asked.part != "table":
        run(asked.part, pieces, asked.launches if asked.part == "emulated" else 1)
    Console(width=170).print(table(pieces.rows))


if __name__ == "__main__":
    main()
