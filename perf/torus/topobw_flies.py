"""topobw on a virtual dragonfly of 72 nodes: seeded faults that are named, and alarms in runs without a fault.

`python -m perf.torus.topobw_flies FAULTS CLEAN_RUNS SECONDS` runs it alone, for about so many seconds: each run is
kept in build/topobw-flies.json, and the next call goes on after the last, as long as topobw's program is the same. A
seed draws the links: global and local ones that lose one of four lanes, nodes whose NIC sends at 70 %, and cables
that are down, in turn. A fault is named when one finding is the link in that direction, or the node; a cable that is
down is named when both its directions are.

A clean run is void, and made again, when each finding misses less than the launch's error bound: so much this machine
may have taken. The number of void runs is printed.

Leaves out a node whose only link is down: MPI does not start there.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import time
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.table import Table

from perf.torus import topobw
from placements.topology import catalog
from placements.topology.base import Topology
from railyard.base.checkout import BUILD

FAULTS, CLEAN_RUNS, SEED = 20, 50, 22
#: A void run is made again so often.
TRIES = 3
RATE_SCALE = 0.0000125
LOAD = ("--size", "32KiB", "--messages", "4", "--routes", "strict")
KEPT = BUILD / "topobw-flies.json"
console = Console(width=120)
Row = dict[str, Any]


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


def measure(count: int = FAULTS, clean_runs: int = CLEAN_RUNS, seconds: float = 3600.0) -> dict[str, Any]:
    """Return a row for each fault and each clean run, those of earlier calls included."""
    until = time.monotonic() + seconds
    rows = _kept()
    given = list(faults(catalog.load("dragonfly-72"), count))
    with topobw.machine("dragonfly-72", RATE_SCALE) as made:
        for number in range(max(count, clean_runs)):
            if number < count and f"fault {number}" not in rows and time.monotonic() < until:
                _keep(rows, f"fault {number}", _faulty(made, given[number]))
            while number < clean_runs and _is_open(rows, number) and time.monotonic() < until:
                _keep(rows, f"clean {number}", _clean(made, rows.get(f"clean {number}")))
    found = {
        kind: [row for name, row in rows.items() if name.startswith(kind)] for kind in ("fault", "clean")
    }
    _print(found)
    return found


def _is_open(rows: dict[str, Row], number: int) -> bool:
    row = rows.get(f"clean {number}")
    return row is None or (row["void"] and row["tries"] < TRIES)


def _faulty(made: topobw.Machine, fault: tuple[str, tuple[str, ...], set[str]]) -> Row:
    what, words, sought = fault
    topobw.railyard("fault", topobw.NAME, *words)
    document, row = _run(made)
    topobw.railyard("fault", topobw.NAME, "--restore")
    parts = {finding.get("part") for finding in document["verdict"]["findings"]}
    besides = sorted(map(str, parts - sought))
    return {"fault": what, "where": words[0], "named": sought <= parts, "besides": besides, **row}


def _clean(made: topobw.Machine, before: Row | None) -> Row:
    document, row = _run(made, "--repeats", "1")
    findings = document["verdict"]["findings"]
    bound = row["bound_percent"] or 0.0
    return row | {
        "alarms": [finding["text"] for finding in findings],
        "void": bool(findings) and all(finding["missing_percent"] < bound for finding in findings),
        "tries": 1 + (before["tries"] if before else 0),
    }


def _run(made: topobw.Machine, *options: str) -> tuple[dict[str, Any], Row]:
    """Return a launch's document, and its seconds, load, error bound and the rates of links that looked slow."""
    document, launch = made.run(*LOAD, *options)
    states = {link["link"]: link["state"] for link in document["verdict"]["links"]}
    readings = {
        f"{states[link]}: {link}": series["samples"]
        for series in document["series"]
        if (link := series["labels"].get("link")) and series["fom"] == "bandwidth_gbyte_s"
        if states[link] in ("slow", "disturbed")
    }
    return document, {**launch, "readings": readings}


def _print(found: dict[str, list[Row]]) -> None:
    table = Table("fault", "where", "named", "besides", "s", "load", title="faults on dragonfly-72")
    for row in found["fault"]:
        numbers = (f"{row['s']:.0f}", f"{row['load']:.0f}")
        table.add_row(row["fault"], row["where"], str(row["named"]), ", ".join(row["besides"]), *numbers)
    console.print(table)
    clean = found["clean"]
    alarmed = [row for row in clean if row["alarms"] and not row["void"]]
    again = sum(row["tries"] for row in clean) - len(clean)
    disturbed = sum("disturbed" in str(row["readings"]) for row in clean)
    console.print(
        f"{sum(row['named'] for row in found['fault'])} of {len(found['fault'])} faults named; "
        f"{len(alarmed)} of {len(clean)} clean runs alarmed; {sum(row['void'] for row in clean)} void, "
        f"{again} made again; {disturbed} with a disturbed link\n"
    )
    for row in alarmed:
        console.print(f"  {row['alarms']}")


def _program() -> str:
    return hashlib.sha256(topobw.PROGRAM.read_bytes()).hexdigest()


def _kept() -> dict[str, Row]:
    try:
        document = json.loads(KEPT.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return dict(document["rows"]) if document.get("program") == _program() else {}


def _keep(rows: dict[str, Row], name: str, row: Row) -> None:
    rows[name] = row
    print(name, json.dumps(row), flush=True)
    temporary = KEPT.with_suffix(".tmp")
    temporary.write_text(json.dumps({"program": _program(), "rows": rows}), encoding="utf-8")
    temporary.replace(KEPT)


if __name__ == "__main__":
    measure(*map(int, sys.argv[1:]))
