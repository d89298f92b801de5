"""topobw on a virtual dragonfly of 72 nodes: seeded faults that are named, and alarms in runs without a fault.

`python -m perf.topobw_flies FAULTS CLEAN_RUNS` runs it alone. A seed draws the links: global and local ones that lose
one of four lanes, nodes whose NIC sends at 70 %, and cables that are down, in turn. A fault is named when one finding
is the link in that direction, or the node; a cable that is down is named when both its directions are.

Leaves out a node whose only link is down: MPI does not start there.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from perf import topobw
from placements.topology.base import Topology

FAULTS, CLEAN_RUNS, SEED = 20, 50, 22
RATE_SCALE = 0.0000125
LOAD = ("--size", "32KiB", "--messages", "4", "--routes", "strict")
console = Console(width=120)


def faults(topology: Topology, count: int) -> Iterator[tuple[str, tuple[str, ...], set[str]]]:
    """Yield what is wrong, the words of `torus fault`, and the parts that must be named."""
    chance = random.Random(SEED)
    links = {kind: [k for k in topology.first_rail if k.link_class == kind] for kind in ("global", "local")}
    for number in range(count):
        kind = ("global", "local", "host", "global", "local")[number % 5]
        if kind == "host":
            node = chance.choice(topology.nodes).name
            yield "host sends at 70 %", (node, "--injection", "70"), {f"node {node} sending"}
            continue
        link = chance.choice(links[kind])
        if number % 5 < 3:
            yield f"{kind}: one of four lanes lost", (link.name, "--lanes-lost", "1"), {link.name}
        else:
            both = {link.name, topology.reverse(link).name}
            yield f"{kind}: cable down", (link.name, "--down"), both


def measure(count: int = FAULTS, clean_runs: int = CLEAN_RUNS) -> dict[str, Any]:
    """Return a row for each fault, and the alarms of the clean runs."""
    with topobw.machine("dragonfly-72", RATE_SCALE) as made:
        rows = list(_named(made, count))
        alarms = list(_alarms(made, clean_runs))
    named = sum(row["named"] for row in rows)
    console.print(f"{named} of {len(rows)} faults named; {len(alarms)} of {clean_runs} clean runs alarmed\n")
    return {"faults": rows, "clean_runs": clean_runs, "alarms": alarms}


def _named(made: topobw.Machine, count: int) -> Iterator[dict[str, Any]]:
    table = Table("fault", "where", "named", "besides", "s", title="faults on dragonfly-72")
    for what, words, sought in track(list(faults(made.topology, count)), transient=True):
        topobw.railyard("fault", topobw.NAME, *words)
        document, seconds = made.run(*LOAD)
        topobw.railyard("fault", topobw.NAME, "--restore")
        parts = {finding.get("part") for finding in document["verdict"]["findings"]}
        besides = sorted(map(str, parts - sought))
        row = {"fault": what, "where": words[0], "named": sought <= parts, "besides": besides, "s": seconds}
        table.add_row(what, words[0], str(row["named"]), ", ".join(besides), f"{seconds:.0f}")
        print(row, flush=True)
        yield row
    console.print(table)


def _alarms(made: topobw.Machine, runs: int) -> Iterator[list[str]]:
    for number in range(runs):
        document, seconds = made.run(*LOAD, "--repeats", "1")
        texts = [finding["text"] for finding in document["verdict"]["findings"]]
        print(f"clean run {number + 1}: {seconds:.0f} s, {texts or 'sound'}", flush=True)
        if texts:
            yield texts


if __name__ == "__main__":
    measure(*map(int, sys.argv[1:]))
