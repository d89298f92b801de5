"""Faults that a virtual torus has in one launch each: the record names the launch, the link and the kind."""

from __future__ import annotations

import dataclasses
import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support import synthetic
from support.benchmark_runs import BIN
from support.commands import Run

from railyard.placements.topology import catalog
from railyard.records.assemble import LaunchRun, assemble
from railyard.records.folded import health, slow

#: Two nodes on either side of a link, so that a launch starts within a second.
TOPOLOGY, NODES = "gemini-2x2x2", ("n0-0-0", "n1-0-0")
LINK = "X+ 0,0,0>1,0,0"
#: What the torus has in a faulty launch: words of `railyard torus fault`, and the counters that show it.
FAULTS = {
    "flap": ([LINK, "--flap", "--for", "60ms", "--every", "120ms"], {"OUTAGES", "OUTAGE_NS"}),
    "errors": ([LINK, "--errors", "60"], {"REPLAYS"}),
    "jitter": ([LINK, "--jitter", "1us"], {"DELAYED_NS"}),
    "slow node": ([NODES[0], "--injection", "30"], {"RATE"}),
}
#: Fewer launches of a combination say nothing about one of them.
HEALTHY = slow.ENOUGH
#: A launch takes two seconds, and waits for those of others; one that does not end is a fault of its own.
LIMIT_S = 120.0


def launch(railyard: Run, torus: str, folder: Path, index: int) -> LaunchRun:
    """Launch a halo exchange of two ranks."""
    stem = folder / f"launch-{index}"
    words = ["-q", "-np", str(len(NODES)), "--host", ",".join(NODES), str(BIN / "halo"), "--cells", "8x8x8"]
    words += ["--repeats", "16", "--json", f"{stem}.json"]
    begun = time.time()
    environment = {"RAILYARD_EVIDENCE": f"{stem}.evidence", "RAILYARD_ATTEMPTS": "5"}
    done = railyard("torus", "mpirun", torus, *words, timeout_s=LIMIT_S, **environment)
    assert done.returncode == 0, done.stderr
    evidence = json.loads(Path(f"{stem}.evidence").read_text())
    read = evidence["health"]
    return LaunchRun(
        index=index,
        placement="plain",
        nic_policy="library-default",
        repeat=index,
        command="mpirun halo",
        exit_status=0,
        started=datetime.fromtimestamp(begun, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        elapsed_s=time.time() - begun,
        output=Path(f"{stem}.json"),
        guard=evidence["guard"],
        health={**health.document(read["read"], read["not_read"], read["events"]), "spells": read["spells"]},
    )


@pytest.mark.torus
@pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces as root; run as root")
def test_launches_with_a_fault_are_named_with_link_and_kind(railyard: Run, torus_name: str, tmp_path: Path) -> None:
    # The rates are given, because jitter is of the real machine: at a low scale each packet would wait for a minute.
    up = railyard("torus", "up", TOPOLOGY, "--name", torus_name, "--rate-scale", "0.00003")
    assert up.returncode == 0, up.stderr
    runs = [launch(railyard, torus_name, tmp_path, index) for index in range(HEALTHY)]
    for number, (words, _) in enumerate(FAULTS.values()):
        assert railyard("torus", "fault", torus_name, *words).returncode == 0
        runs.append(launch(railyard, torus_name, tmp_path, HEALTHY + number))
        assert railyard("torus", "fault", torus_name, "--restore").returncode == 0
    topology = catalog.load(TOPOLOGY)
    nodes = [{"name": node.name, "coordinate": list(node.coordinate)} for node in topology.nodes]
    for number, (kind, (words, counters)) in enumerate(FAULTS.items()):
        faulty = dataclasses.replace(runs[HEALTHY + number], index=HEALTHY, repeat=HEALTHY)
        chosen = [*runs[:HEALTHY], faulty]
        case = synthetic.case(
            extents=list(topology.extents), placements=["plain"], launches_per_combination=len(chosen)
        )
        record = assemble(
            case={**case, "parameters": {}, "allocation": {**case["allocation"], "nodes": nodes}},
            system={"name": "vtorus", "partition": "netns", "environment": "openmpi"},
            origin="emulated",
            provenance=synthetic.provenance(),
            launches=chosen,
        )
        named = [one for one in slow.launches(record) if one.causes]
        text = kind, [one.text() for one in slow.launches(record)]
        assert [one.launch.index for one in named] == [HEALTHY], text
        assert {event.event for event in named[0].causes} <= counters, text
        assert any(words[0] in event.where for event in named[0].causes), text
        spells = [{spell.link for spell in one.health.spells} for one in record.launches if one.health]
        assert not any(spells[:-1]) and (words[0] in spells[-1]) is (kind != "slow node")
