"""A fault that a virtual torus has in one launch of twelve: the launch, the link and the kind are named."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support import synthetic
from support.benchmark_runs import BIN
from support.commands import Run

from railyard.placements.topology import catalog
from railyard.records.assemble import LaunchRun, assemble
from railyard.records.folded import health, slow
from railyard.records.record import Record

TOPOLOGY = "gemini-2x2x2"
LINK = "X+ 0,0,0>1,0,0"
NODE = "n0-0-0"
#: What the torus has in the faulty launch: words of `railyard torus fault`, and the counters that show it.
FAULTS = {
    "flap": ([LINK, "--flap", "--for", "200ms", "--every", "500ms"], {"OUTAGES", "OUTAGE_NS"}, LINK),
    "errors": ([LINK, "--errors", "60"], {"REPLAYS"}, LINK),
    "jitter": ([LINK, "--jitter", "2ms"], {"DELAYED_NS"}, LINK),
    "slow node": ([NODE, "--injection", "30"], {"RATE"}, NODE),
}
LAUNCHES = 12


def job(railyard: Run, torus: str, folder: Path, *, fault: list[str], faulty: int | None) -> Record:
    """Run twelve launches of a halo exchange, with a fault in one of them; return their record."""
    topology = catalog.load(TOPOLOGY)
    names = [node.name for node in topology.nodes]
    case = synthetic.case(extents=list(topology.extents), placements=["plain"], launches_per_combination=LAUNCHES)
    case |= {
        "parameters": {},
        "allocation": {
            **case["allocation"],
            "nodes": [{"name": node.name, "coordinate": list(node.coordinate)} for node in topology.nodes],
        },
    }
    runs = []
    for index in range(LAUNCHES):
        stem = folder / f"launch-{index}"
        if index == faulty:
            assert railyard("torus", "fault", torus, *fault).returncode == 0
        words = ["-q", "-np", str(len(names)), "--host", ",".join(names)]
        program = [str(BIN / "halo"), "--cells", "8x8x8", "--repeats", "8", "--json", f"{stem}.json"]
        begun = time.time()
        done = railyard("torus", "mpirun", torus, *words, *program, RAILYARD_EVIDENCE=f"{stem}.evidence")
        assert done.returncode == 0, done.stderr
        elapsed_s = time.time() - begun
        if index == faulty:
            assert railyard("torus", "fault", torus, "--restore").returncode == 0
        evidence = json.loads(Path(f"{stem}.evidence").read_text())
        runs.append(
            LaunchRun(
                index=index,
                placement="plain",
                nic_policy="library-default",
                repeat=index,
                command="mpirun halo",
                exit_status=0,
                started=datetime.fromtimestamp(begun, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                elapsed_s=elapsed_s,
                output=Path(f"{stem}.json"),
                guard=evidence["guard"],
                health=read(evidence["health"]),
            )
        )
    return assemble(
        case=case,
        system={"name": "vtorus", "partition": "netns", "environment": "openmpi"},
        origin="emulated",
        provenance=synthetic.provenance(),
        launches=runs,
    )


def read(item: dict[str, Any]) -> dict[str, Any]:
    return {**health.document(item["read"], item["not_read"], item["events"]), "spells": item["spells"]}


def spells_of(record: Record, index: int) -> Sequence[health.Spell]:
    item = record.launches[index].health
    return item.spells if item else ()


@pytest.mark.torus
@pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces as root; run as root")
@pytest.mark.parametrize("kind", FAULTS)
def test_the_launch_with_a_fault_is_named_with_link_and_kind(railyard: Run, tmp_path: Path, kind: str) -> None:
    fault, counters, link = FAULTS[kind]
    torus = f"t{os.getpid()}-slow"
    assert railyard("torus", "up", TOPOLOGY, "--name", torus).returncode == 0
    try:
        read = job(railyard, torus, tmp_path, fault=fault, faulty=6)
    finally:
        railyard("torus", "down", torus)
    named = [one for one in slow.launches(read) if one.causes]
    assert [one.launch.index for one in named] == [6], [one.text() for one in slow.launches(read)]
    assert {event.event for event in named[0].causes} <= counters, named[0].text()
    assert any(link in event.where for event in named[0].causes)
    spells = {spell.link for spell in spells_of(read, 6)}
    assert (link in spells) is (kind != "slow node") and not spells_of(read, 5)
