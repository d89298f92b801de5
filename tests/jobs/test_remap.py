"""Remapping: a placement that avoids what another job loads, in the router's network alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.packets import remap
from support.packets.simulated import simulated

from railyard.placements.linkload import background
from railyard.placements.topology import catalog
from railyard.torus.native.messages import Message

pytestmark = pytest.mark.mpi


def test_the_counters_of_a_simulated_load_show_the_links_on_its_way(tmp_path: Path) -> None:
    topology = catalog.load(remap.TORUS)
    number = {node.name: index for index, node in enumerate(topology.nodes)}
    message = Message(source=number["n0-0-0"], target=number["n1-0-1"], size_bytes=1 << 20)
    path = tmp_path / "counters.json"
    path.write_text(json.dumps(remap.counters_of(topology, simulated(topology, [message]))))
    left = background.read(path, topology).left.ravel()
    used = {"X+ 0,0,0>1,0,0", "Z+ 1,0,0>1,0,1"}
    places = topology.link_places
    assert {name for name in places if left[places[name]] < 1} == used
    # The cable is the slowest link of the way, and nearly never idle.
    assert left[places["X+ 0,0,0>1,0,0"]] < 0.1
    assert left[places["Z+ 1,0,0>1,0,1"]] == pytest.approx(1 - 9.36 / 15.04, abs=0.05)


def test_with_the_counters_the_halo_loses_less_to_the_load() -> None:
    """In the second of these divisions the blind placement is not in the load's way, and the counters cannot help."""
    rows = list(remap.modelled([f"random:{seed}" for seed in (3, 4)]))
    assert all(row["seeing_ms"] < 1.01 * row["blind_ms"] for row in rows)
    alone, blind, seeing = (sum(row[name] for row in rows) for name in ("alone_ms", "blind_ms", "seeing_ms"))
    assert blind > 1.05 * alone, "the load costs time"
    assert seeing - alone < 0.5 * (blind - alone)
