"""Count the drawn faults that topobw names, and its false alarms.

Twelve draws of faults on each of four topologies and two networks, and 20 launches without a fault, take about 70
minutes on an idle machine. A call waits for other tori of the machine, and then measures one launch or more. Each
launch is saved in build/topobw.jsonl, and the next call continues after the last. A launch without a fault that the
guard makes void counts as void, not as clean.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from rich.table import Table

from perf.pieces import Pieces, Row
from perf.vtorus import PROGRAMS, console, railyard
from railyard.base.checkout import BUILD
from railyard.placements.launchers import files
from railyard.placements.topology import catalog
from railyard.placements.topology.base import Coordinate, Link, Topology
from railyard.torus.virtual import lifecycle

NAME = "bench-topobw"
CLEAN_RUNS = 20
SEED = 79
LOAD = ("--size", "64KiB", "--messages", "4")
#: Exit statuses: 5 and 6 are topobw's verdicts.
VERDICTS = (0, 5, 6)
KINDS = ("fault", "clean")
#: Topologies with links in rings of odd and of even length, and with detours that are as long as the usual way; the
#: rate scale of each.
PLACES = {"gemini-3x3x3": 4e-4, "gemini-4x4x4": 2e-4, "dragonfly-72": 4e-5, "fat-tree-54": 1e-4}
#: The share of that scale: a busy machine disturbs the router's process more.
NETWORKS = {"router": 0.5, "kernel": 1.0}
#: The kinds of the faults that a launch has at once.
DRAWS = 4 * (("lanes", "both", "injection"), ("down",), ("lanes+down", "lanes+injection", "down+injection"))
#: A drawn link has lost at least this share of what a test of it can see.
LEAST_LOST = 0.08


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault: the arguments of `railyard torus fault`, one list for each call, and what topobw must name."""

    calls: tuple[tuple[str, ...], ...]
    links: frozenset[str] = frozenset()
    node: str = ""

    def is_named_by(self, finding: Mapping[str, Any]) -> bool:
        """Return whether a finding names this fault and no sound link."""
        if self.node:
            return f"node {self.node} " in f"{finding['text']} " and "sending" in finding["text"]
        return finding["component"] in ("link", "cable") and set(finding["links"]) == self.links


def draw(random: Random, topology: Topology, kinds: str) -> list[Fault]:
    """Return faults of the kinds, joined by `+`; no two have a router in common."""
    faults = list[Fault]()
    used = set[Coordinate]()
    for kind in kinds.split("+"):
        while True:
            link, node = random.choice(topology.first_rail), random.choice(topology.nodes)
            if kind == "injection":
                ends, words = {node.coordinate}, (node.name, "--injection", str(random.randint(20, 70)))
                fault: Fault | None = Fault(calls=(words,), node=node.name)
            else:
                ends = {link.source.coordinate, link.target.coordinate}
                fault = _drawn(random, topology, kind, link)
            if fault is not None and not ends & used:
                break
        used |= ends
        faults.append(fault)
    return faults


def _drawn(random: Random, topology: Topology, kind: str, link: Link) -> Fault | None:
    """Return a fault of a link; None if a test could not see what it has lost."""
    both = frozenset((link.name, topology.reverse(link).name))
    if kind == "down":
        return Fault(calls=((link.name, "--down"),), links=both)
    lanes, tiles = random.randint(1, topology.lanes_per_tile - 1), random.randint(1, link.tiles)
    left = link.rate_gbyte_s * (1 - lanes / topology.lanes_per_tile * tiles / link.tiles)
    if left > (1 - LEAST_LOST) * min(link.rate_gbyte_s, topology.host_rate_gbyte_s):
        return None
    words = ("--lanes-lost", str(lanes), "--of-tiles", f"{tiles}/{link.tiles}")
    names = sorted(both) if kind == "both" else [link.name]
    return Fault(calls=tuple((name, *words) for name in names), links=frozenset(names))


class Bench:
    """A virtual torus and the files that topobw reads."""

    def __init__(self, name: str, folder: Path) -> None:
        topology = catalog.load(name)
        self.ranks, self.options = len(topology.nodes), list[object]()
        for option, text in (("coordinates", files.coordinates(topology)), ("links", files.links(topology))):
            (folder / option).write_text(text)
            self.options += [f"--{option}", folder / option]

    def run(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Launch topobw on all nodes; return its document, then its seconds, the load and the guard's verdict."""
        load, start_s = os.getloadavg()[0], time.monotonic()
        words = ("torus", "mpirun", NAME, "-q", "-np", self.ranks, PROGRAMS / "topobw", *self.options, *LOAD)
        with tempfile.TemporaryDirectory() as folder:
            output, evidence = Path(folder, "output.json"), Path(folder, "evidence.json")
            railyard(*words, "--json", output, statuses=VERDICTS, RAILYARD_EVIDENCE=str(evidence))
            document, guard = json.loads(output.read_text()), json.loads(evidence.read_text())["guard"]
        bound, seconds = guard.get("error_bound_percent"), time.monotonic() - start_s
        return document, {"s": seconds, "load": load, "bound_percent": bound, "guard": guard["verdict"]}


@contextmanager
def machine(name: str, network: str) -> Iterator[Bench]:
    """Bring up the torus of a topology for the length of the block."""
    scale = f"{PLACES[name] * NETWORKS[network]:g}"
    railyard("torus", "up", name, "--name", NAME, "--network", network, "--rate-scale", scale)
    try:
        with tempfile.TemporaryDirectory() as folder:
            yield Bench(name, Path(folder))
    finally:
        lifecycle.down(NAME)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return all figures; measure those that the file lacks."""
    pieces = Pieces(BUILD / "topobw.jsonl", options.minutes)
    places = list(itertools.product(PLACES, NETWORKS))
    for number, (name, network) in enumerate(places):
        random = Random(f"{SEED} {name} {network}")
        drawn = [draw(random, catalog.load(name), random.choice(kinds)) for kinds in DRAWS]
        faults = {(str(SEED), name, network, str(i)): faults for i, faults in enumerate(drawn)}
        clean = [("clean", name, network, str(run)) for run in range(number, CLEAN_RUNS, len(places))]
        if pieces.is_over or all(pieces.get(*key) is not None for key in (*faults, *clean)):
            continue
        with machine(name, network) as bench:
            for key in [key for key in (*faults, *clean) if pieces.get(*key) is None]:
                row = named(bench, faults[key]) if key in faults else sound(bench)
                print(json.dumps(pieces.add({"place": f"{name} {network}", **row}, *key)), flush=True)
                if pieces.is_over:  # only now: a call that waited for the machine measures something, too
                    break
    show(figures := {kind: [row for row in pieces.row_of.values() if row["kind"] == kind] for kind in KINDS})
    return figures


def named(bench: Bench, faults: Sequence[Fault]) -> Row:
    """Inject faults; return which of them topobw named, and what it named besides."""
    for words in (words for fault in faults for words in fault.calls):
        railyard("torus", "fault", NAME, *words)
    document, launch = bench.run()
    railyard("torus", "fault", NAME, "--restore")
    findings = document["verdict"]["findings"]
    right = [[finding for finding in findings if fault.is_named_by(finding)] for fault in faults]
    row = {
        "kind": "fault",
        "faults": [" ".join(words) for fault in faults for words in fault.calls],
        "named": sum(map(bool, right)),
        "hidden": len(faults),
        "besides": len(findings) - sum(map(len, right)),
        "texts": [finding["text"] for finding in findings],
    }
    return row | launch


def sound(bench: Bench) -> Row:
    """Launch without a fault; return alarms and seconds."""
    document, launch = bench.run()
    verdict = document["verdict"]
    alarms = [verdict["status"], *(finding["text"] for finding in verdict["findings"])]
    return {"kind": "clean", "alarms": alarms if alarms != ["sound"] else [], **launch}


def show(figures: dict[str, list[Row]]) -> None:
    """Print a table of the faults, and a line for the rest."""
    faults, runs = (figures[kind] for kind in KINDS)
    table = Table("where", "faults", "named", "besides", "s", title="faults")
    for row in faults:
        numbers = map(str, (f"{row['named']} of {row['hidden']}", row["besides"], round(row["s"])))
        table.add_row(row["place"], "\n".join(row["faults"]), *numbers)
    exact = sum(row["named"] == row["hidden"] and not row["besides"] for row in faults)
    console.print(table, f"{exact} of {len(faults)} launches with faults exact\n")
    usable = [row for row in runs if row["guard"] == "ok"]
    if usable:
        alarmed = [row for row in usable if row["alarms"]]
        console.print(
            f"{len(usable)} runs without a fault: {len(alarmed)} with an alarm; a run takes "
            f"{median(row['s'] for row in usable):.0f} s; {len(runs) - len(usable)} more were void"
        )
        for row in alarmed:
            console.print(f"  {row['place']}: {row['alarms']}")
