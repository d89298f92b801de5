"""The link-load model of networks with faults: ways round dead cables, rates that are left, and what is refused."""

from __future__ import annotations

import itertools
import json
from typing import Any

import networkx as nx
import numpy as np
import pytest
from support.commands import Run
from support.topology import flies
from support.topology.topologies import gemini

from railyard.placements.linkload.model import PROTOCOLS, LinkLoads, load
from railyard.placements.linkload.traffic import Traffic, stencil
from railyard.placements.topology import catalog
from railyard.placements.topology.base import Link, Topology
from railyard.placements.topology.faults import Faults

KINDS: dict[str, Any] = {
    "torus": gemini("3x3x2").to_dict(),
    "fat_tree": flies.document("fat_tree", {"levels": [{"children": 4, "parents": 2}]}),
    "dragonfly": flies.document("dragonfly", {"groups": 4, "routers": 3}),
    "dragonfly_plus": flies.document("dragonfly_plus", {"groups": 3, "leaves": 2, "spines": 2}),
}


def used(loads: LinkLoads) -> list[Link]:
    return [link for link, size, _ in loads.slowest(loads.link_s.size) if size > 0]


def one_message(topology: Topology, source: int, target: int, faults: Faults) -> LinkLoads:
    ends = (np.array([0], dtype=np.int32), np.array([1], dtype=np.int32))
    sent = Traffic(ranks=2, source=ends[0], target=ends[1], size_bytes=np.array([100.0]))
    return load(topology, np.array([source, target]), sent, PROTOCOLS["payload"], faults=faults)


@pytest.mark.parametrize("kind", KINDS)
def test_messages_go_round_a_dead_cable_on_a_shortest_live_way(kind: str) -> None:
    """Each message of each pair of nodes, with one cable down; a graph of the live links knows the shortest way."""
    topology = catalog.parse(KINDS[kind], source="test")
    healthy = nx.DiGraph((link.source, link.target) for link in topology.first_rail)
    for dead in topology.first_rail[:: max(1, len(topology.first_rail) // 2)]:
        faults = Faults().take_down(topology, dead)
        live = healthy.copy()
        live.remove_edges_from([(dead.source, dead.target), (dead.target, dead.source)])
        for source, target in itertools.combinations(range(len(topology.nodes)), 2):
            before = used(one_message(topology, source, target, Faults()))
            after = used(one_message(topology, source, target, faults))
            if not {link.name for link in before} & faults.down:
                assert after == before
                continue
            way = nx.DiGraph((link.source, link.target) for link in after)
            ends = before_ends(before)
            assert not {link.name for link in after} & faults.down
            assert nx.has_path(way, *ends) and len(after) == nx.shortest_path_length(way, *ends)
            assert len(after) >= nx.shortest_path_length(live, *ends)


def before_ends(links: list[Link]) -> tuple[Any, Any]:
    """Return where a way of links begins and ends."""
    sources, targets = {link.source for link in links}, {link.target for link in links}
    ((start,), (end,)) = sources - targets, targets - sources
    return start, end


def test_lost_lanes_make_a_link_slower_and_move_no_byte() -> None:
    topology = catalog.load("dragonfly-72")
    sent, nodes = stencil((9, 4, 2), (1000.0,)), np.arange(72)
    link = next(link for link in topology.first_rail if link.link_class == "global")
    healthy = load(topology, nodes, sent, PROTOCOLS["payload"])
    lame = load(topology, nodes, sent, PROTOCOLS["payload"], faults=Faults().lose_lanes(topology, link, 1, 1))
    assert np.array_equal(lame.link_bytes, healthy.link_bytes)
    (place,) = np.flatnonzero(lame.rate_gbyte_s != healthy.rate_gbyte_s)
    assert topology.link_at(int(place)).name == link.name
    assert lame.rate_gbyte_s.flat[place] == pytest.approx(0.75 * link.rate_gbyte_s)


def test_links_takes_the_words_of_torus_fault(railyard: Run) -> None:
    words = ["links", "dragonfly-72", "--grid", "9x4x2", "--placements", "by-switch"]
    done = railyard(*words, "--json", "--faults", "'local r1-3>r1-2' --down; 'global r2-0>r1-0' --lanes-lost 1")
    found = {link["link"]: link for link in json.loads(done.stdout)["by-switch"]["links"]}
    assert found["local r1-3>r1-2"]["bytes"] == found["local r1-2>r1-3"]["bytes"] == 0
    lame = found["global r2-0>r1-0"]
    assert lame["seconds"] == pytest.approx(lame["bytes"] / (0.75 * 25e9))
    refused = railyard(*words, "--faults", "--injection 50")
    assert refused.returncode == 2 and "the model throttles no node" in refused.stderr
