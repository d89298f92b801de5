"""Dragonflies, dragonfly+, fat trees and groups: routes, loads, detours and tables on random machines."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.topology import flies
from support.topology.flies_by_hand import ways

from railyard.base.errors import InputError, RunError
from railyard.placements.linkload.model import PROTOCOLS, LinkLoads, load
from railyard.placements.linkload.traffic import Traffic, stencil
from railyard.placements.topology import catalog
from railyard.placements.topology.base import Router, Topology

MACHINES = st.one_of(flies.groups(), flies.trees())
many = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])

#: Kind -> how its machines are drawn.
AGREEING: dict[str, st.SearchStrategy[flies.Document]] = {
    "dragonfly": flies.groups(("dragonfly",)),
    "dragonfly+": flies.groups(("dragonfly_plus",)),
    "fat tree": flies.trees(),
    "torus": flies.tori(),
    "two levels": flies.two_levels(),
}
Exact = dict[str, Fraction]


def worst_byte(document: flies.Document, seed: int, protocol: str) -> float:
    """Return the largest difference in bytes of any link, and of bytes times the links that they travel."""
    topology, random = catalog.parse(document, source="test"), np.random.default_rng(seed)
    ranks, messages = int(random.integers(2, 16)), int(random.integers(0, 80))
    nodes = random.integers(0, len(topology.nodes), ranks)
    source, target = random.integers(0, ranks, (2, messages))
    sizes = random.integers(1, 10**6, messages).astype(np.float64)
    apart = source != target
    sent = Traffic(
        ranks=ranks,
        source=source[apart].astype(np.int32),
        target=target[apart].astype(np.int32),
        size_bytes=sizes[apart],
    )
    loads = load(topology, nodes, sent, PROTOCOLS[protocol])
    exact, by_hops = _walked(document, loads, (nodes[sent.source], nodes[sent.target]), sent.size_bytes)
    hosts = [loads.host_out_bytes.sum(), loads.host_in_bytes.sum()]
    assert np.allclose(hosts, loads.injected_bytes.sum()) or topology.nodes_per_router > 1
    assert np.isclose(*hosts) and loads.injected_bytes.sum() <= hosts[0] * (1 + 1e-12)
    ours = {link.name: size for link, size, _ in loads.slowest(loads.link_s.size)}
    assert set(exact) <= set(ours) and loads.link_bytes.min(initial=0) >= 0
    apart_bytes = [abs(size - float(exact.get(name, 0))) for name, size in ours.items()]
    assert loads.max_dilation == max((length for length, size in by_hops.items() if size), default=0)
    return max(*apart_bytes, abs(loads.hop_bytes - float(sum(length * size for length, size in by_hops.items()))), 0)


def _walked(
    document: flies.Document,
    loads: LinkLoads,
    ends: tuple[NDArray[np.int64], NDArray[np.int64]],
    sizes: NDArray[np.float64],
) -> tuple[Exact, dict[int, Fraction]]:
    """Return bytes by link, and payload by links travelled; `ends` are the nodes that send and receive."""
    exact, by_hops = Exact(), dict[int, Fraction]()
    router, protocol = loads.topology.router_of_node, loads.protocol
    for one, other, size in zip(*(end.tolist() for end in ends), sizes.tolist(), strict=True):
        for start, end, share in ((one, other, protocol.forward), (other, one, protocol.backward)):
            same = router[start] == router[end]
            routes = [(Fraction(1), list[str]())] if same else ways(document, start, end)
            for part, links in routes:
                if share == protocol.forward and (start, end) == (one, other):
                    by_hops[len(links)] = by_hops.get(len(links), Fraction(0)) + part * Fraction(size)
                for name in links:
                    exact[name] = exact.get(name, Fraction(0)) + part * Fraction(share) * Fraction(size)
    return exact, by_hops


def parsed(document: dict[str, Any]) -> Topology:
    return catalog.parse(document, source="test")


def is_static(document: dict[str, Any]) -> bool:
    part = document.get("dragonfly") or document.get("dragonfly_plus") or {}
    return "routes" not in part or part["routes"]["spread"] == "nodes" or not part["routes"]["valiant_share"]


@many
@given(MACHINES)
def test_a_document_comes_back(document: dict[str, Any]) -> None:
    topology = parsed(document)
    assert parsed(topology.to_dict()) == topology


@many
@given(MACHINES)
def test_every_cable_has_two_directions_and_names_of_its_own(document: dict[str, Any]) -> None:
    topology = parsed(document)
    links = list(topology.links())
    assert len({link.name for link in links}) == len(links)
    assert len({(link.source, link.port) for link in links}) == len(links)
    for link in links:
        back = topology.reverse(link)
        assert (back.source, back.target, back.step) == (link.target, link.source, -link.step)
        assert topology.reverse(back) == link and len(link.port) < 14


@many
@given(flies.groups())
def test_global_cables_are_shared_out_evenly(document: dict[str, Any]) -> None:
    topology = parsed(document)
    part = document.get("dragonfly") or document["dragonfly_plus"]
    crossing = [link for link in topology.links() if link.link_class == "global"]
    pairs = Counter((link.source.coordinate[0], link.target.coordinate[0]) for link in crossing)
    assert set(pairs.values()) <= {part["cables"]}
    assert len(pairs) == part["groups"] * (part["groups"] - 1)
    gates = [r for r in topology.routers if r.level == int("spines" in part)]
    ports = Counter(dict.fromkeys(gates, 0)) + Counter(link.source for link in crossing)
    counts = [ports[gate] for gate in gates]
    assert max(counts) - min(counts) <= 1


@many
@given(MACHINES, st.data())
def test_routes_are_those_of_the_rules_in_words(document: dict[str, Any], data: st.DataObject) -> None:
    """Every pair of nodes of a machine, link by link."""
    assume(is_static(document))
    topology = parsed(document)
    nodes = range(len(topology.nodes))
    for source, target in data.draw(st.lists(st.tuples(st.sampled_from(nodes), st.sampled_from(nodes)), max_size=30)):
        here, there = topology.nodes[source], topology.nodes[target]
        if here.coordinate != there.coordinate:
            links = topology.route(here.coordinate, there.coordinate, slot=there.slot)
            [(_, wanted)] = ways(document, source, target)
            assert [link.name for link in links] == wanted


@pytest.mark.parametrize("kind", AGREEING)
@settings(many, max_examples=50)
@given(st.data(), st.integers(0, 2**32 - 1), st.sampled_from(["payload", "gemini-put"]))
def test_loads_are_those_of_every_message_on_every_way(
    kind: str, data: st.DataObject, seed: int, protocol: str
) -> None:
    """Fifty machines of each kind: to a millionth of a byte, and the links travelled as well."""
    document = data.draw(AGREEING[kind])
    assert worst_byte(document, seed, protocol) < 1e-6


@many
@given(MACHINES, st.data())
def test_dead_cables_are_gone_round_or_named(document: dict[str, Any], data: st.DataObject) -> None:
    """Where the network still joins all nodes every route avoids the dead cables; else a pair is named."""
    assume(is_static(document))
    topology = parsed(document)
    cables = [link for link in topology.links() if link.step > 0]
    assume(cables)
    dead = data.draw(st.lists(st.sampled_from(cables), min_size=1, max_size=3))
    gone = {name for link in dead for name in (link.name, topology.reverse(link).name)}
    graph: nx.Graph = nx.Graph([(k.source, k.target) for k in topology.links() if k.name not in gone])
    ends = [Router(coordinate=node.coordinate) for node in topology.nodes]
    graph.add_nodes_from(topology.routers)
    both = [topology.links_by_name[name] for name in gone]
    try:
        around = topology.detours(both, 0)
    except RunError as error:
        assert "no route from" in str(error)
        assert not all(nx.has_path(graph, ends[0], router) for router in ends)
        return
    for start, node in ((s, n) for s in dict.fromkeys(ends) for n in topology.nodes):
        links = []
        for link in topology.walk(start, topology.destination(node.coordinate, node.slot), around):
            links.append(link.name)
            assert len(links) < 50, "a circle"
        assert not gone & set(links)


@given(st.integers(3, 6), st.sampled_from([0.25, 0.5, 0.75]))
@settings(deadline=None, max_examples=10)
def test_a_share_of_the_nodes_has_a_third_group(count: int, share: float) -> None:
    """Within a node in a hundred, and the third groups are dealt in turn."""
    part = {"groups": count, "routers": 8, "routes": {"valiant_share": share, "spread": "nodes"}}
    topology = flies.made("dragonfly", part, nodes=8)
    coordinate = topology.coordinates[0]
    lengths = Counter(
        sum(link.link_class == "global" for link in topology.route(coordinate, node.coordinate, slot=node.slot))
        for node in topology.nodes
        if node.coordinate[0] != 0
    )
    # One node in (groups - 1) has the source's own group as its third, so its way from there is minimal.
    expected = share * (1 - 1 / (count - 1))
    assert lengths[2] / sum(lengths.values()) == pytest.approx(expected, abs=0.08)


def test_a_layout_is_in_words() -> None:
    fly = flies.made("dragonfly", {"groups": 9, "routers": 4})
    assert len(fly.nodes) == 72 and fly.layout == "9 groups of 4 routers, 1 cable(s) per pair of groups"
    part = {"levels": [{"children": 4, "oversubscription": 2}, {"children": 2, "parents": 4}]}
    tree = flies.made("fat_tree", part, nodes=8)
    assert tree.layout == "8 + 8 + 16 switches on 3 levels, oversubscription 2:1, 1:1"


@pytest.mark.parametrize(
    ("key", "part", "message"),
    [
        ("fat_tree", {"levels": [{"children": 2}]}, "either parents or oversubscription"),
        ("fat_tree", {"levels": [{"children": 2, "oversubscription": 3}]}, "a divisor of the 2 links down"),
        ("fat_tree", {"levels": [{"children": 2, "parents": 1, "class": "optical"}]}, "rate for the class optical"),
        ("fat_tree", {"levels": [{"children": 2, "parents": 1}], "leaf_nodes": [2]}, "2, as levels give"),
        ("fat_tree", {"levels": [{"children": 2, "parents": 1}], "leaf_nodes": [1, 1]}, "nodes_per_router: 2"),
        ("fat_tree", {"levels": [{"children": 9999, "parents": 99}] * 8}, "at most 100000"),
        ("dragonfly", {"groups": 2, "routers": 2, "routes": {"valiant_share": 0.5}}, "fewer than three groups"),
        ("dragonfly", {"groups": 2}, "routers"),
        ("groups", {"groups": 2}, "groups and switches"),
        ("groups", {"groups": 2, "switches": 1, "nodes": [[1]]}, "either nodes, or groups and switches"),
        ("groups", {"nodes": [[3], [1, 1]]}, "3, as groups.nodes has"),
    ],
)
def test_a_wrong_document_is_one_line(key: str, part: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        flies.made(key, part)
    assert "\n" not in str(error.value)


def test_groups_without_wiring() -> None:
    machine = flies.made("groups", {"nodes": [[2, 1], [2, 2, 2]]})
    assert [node.name for node in machine.nodes][:4] == ["n0-0-0", "n0-0-1", "n0-1-0", "n1-0-0"]
    assert len(machine.nodes) == 9 and machine.layout == "2 groups with 5 switches, wiring not known"
    at = np.array([(0, 0, 0), (0, 1, 0), (1, 2, 0)])
    assert machine.hops(at[:1], at).tolist() == [0, 1, 2]
    tree = {switch.name: switch for switch in machine.switch_tree()}
    assert tree["group1"].switches == ("r1-0", "r1-1", "r1-2") and tree["network"].switches == ("group0", "group1")


def test_no_byte_is_lost_on_9472_nodes() -> None:
    """Faces, edges and corners of 32,768 ranks on a machine like Frontier, half by Valiant's routes."""
    topology = catalog.load("frontier-like")
    sent = stencil((32, 32, 32), (8.0, 4.0, 1.0))
    nodes = np.arange(sent.ranks, dtype=np.int64) * len(topology.nodes) // sent.ranks
    loads = load(topology, nodes, sent, PROTOCOLS["payload"])
    group = topology.groups[topology.router_of_node[nodes]]
    between = sent.size_bytes[group[sent.source] != group[sent.target]].sum()
    of_class = [link.link_class == "global" for link in topology.first_rail]
    assert loads.link_bytes[of_class].sum() == pytest.approx(1.5 * between, rel=1e-12)
    apart = nodes[sent.source] != nodes[sent.target]
    assert loads.host_in_bytes.sum() == loads.host_out_bytes.sum() == sent.size_bytes[apart].sum()
