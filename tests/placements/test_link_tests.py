"""Which nodes load which link, and in which phase: what `topobw` does on networks that are no torus."""

from __future__ import annotations

from collections import Counter

import pytest
from support.topology import flies
from support.topology.mesh import mesh

from railyard.base.errors import InputError
from railyard.placements.launchers import files
from railyard.placements.topology import catalog, link_tests
from railyard.placements.topology.base import Topology

KINDS = {
    "dragonfly": catalog.load("dragonfly-72"),
    "two cables": flies.made("dragonfly", {"groups": 4, "routers": 3, "cables": 2}, nodes=3),
    "nodes by a third group": flies.made(
        "dragonfly", {"groups": 5, "routers": 4, "routes": {"valiant_share": 0.5, "spread": "nodes"}}, nodes=4
    ),
    "dragonfly+": flies.made("dragonfly_plus", {"groups": 3, "leaves": 4, "spines": 2}, nodes=4),
    "fat tree": catalog.load("fat-tree-54"),
    "tree": catalog.load("catalyst-dual-rail"),
    "mesh": mesh(3, 4),
}
every_kind = pytest.mark.parametrize("topology", KINDS.values(), ids=KINDS)


@every_kind
def test_every_link_is_tested_once_or_named_as_unused(topology: Topology) -> None:
    made = link_tests.tests(topology)
    tests = [test for phase in made.phases for test in phase]
    names = Counter(test.links[0].name for test in tests if not test.name.startswith("pair:"))
    assert set(names.values()) == {1}
    assert sorted([*names, *made.unused]) == sorted(link.name for link in topology.first_rail)


@every_kind
def test_the_usual_routes_of_a_test_cross_its_links(topology: Topology) -> None:
    for test in (test for phase in link_tests.tests(topology).phases for test in phase):
        ways = list[str]()
        for source, target in test.pairs:
            here, there = topology.nodes[source], topology.nodes[target]
            links = topology.route(here.coordinate, there.coordinate, slot=there.slot)
            assert test.links[0] in links
            ways += [link.name for link in links]
        assert set(ways) == {link.name for link in test.links}


@every_kind
def test_nothing_is_used_twice_in_a_phase(topology: Topology) -> None:
    phases = link_tests.tests(topology).phases
    for phase in phases:
        for used in (
            [link.name for test in phase for link in test.links],
            [node for test in phase for pair in test.pairs for node in pair],
        ):
            assert len(set(used)) == len(used)


@every_kind
def test_every_node_sends_and_receives_in_two_tests(topology: Topology) -> None:
    pairs = [pair for phase in link_tests.tests(topology).phases for test in phase for pair in test.pairs]
    for end in (0, 1):
        times = Counter(pair[end] for pair in pairs)
        assert min(times[node] for node in range(len(topology.nodes))) >= link_tests.LEAST_TESTS


@pytest.mark.parametrize("kind", ["dragonfly", "fat tree", "tree"])
def test_no_node_sends_over_one_link_alone(kind: str) -> None:
    """A slow node would look like a slow link."""
    tests = [test for phase in link_tests.tests(KINDS[kind]).phases for test in phase]
    for node in range(len(KINDS[kind].nodes)):
        sent = [{link.name for link in test.links} for test in tests if node in [a for a, _ in test.pairs]]
        assert len(sent) >= link_tests.LEAST_TESTS and not set.intersection(*sent)


@pytest.mark.parametrize("kind", ["dragonfly", "two cables", "mesh"])
def test_no_cable_carries_two_tests_at_once(kind: str) -> None:
    """Not in opposite directions, either: the acknowledgements of the one would slow the other."""
    topology = KINDS[kind]
    for phase in link_tests.tests(topology).phases:
        names = [link.name for test in phase for link in test.links]
        assert not {topology.reverse(topology.links_by_name[name]).name for name in names} & set(names)


def test_a_balanced_dragonfly_takes_few_phases() -> None:
    """Of 180 links, where a test of all pairs of 72 nodes takes 71 steps."""
    made = link_tests.tests(KINDS["dragonfly"])
    assert len(made.phases) <= 8 and not made.unused
    assert all(len(test.links) == 1 for phase in made.phases for test in phase), "nothing else is crossed"


def test_a_link_as_fast_as_three_hosts_is_loaded_by_three() -> None:
    document = flies.document("dragonfly", {"groups": 4, "routers": 3}, nodes=4)
    document["tile_rates_gbyte_s"] = {"local": 30.0, "global": 30.0, "host": 10.0}
    made = link_tests.tests(catalog.parse(document, source="test"))
    assert {len(test.pairs) for phase in made.phases for test in phase if "pair:" not in test.name} == {3}


def test_lines_say_what_a_good_test_clears() -> None:
    lines = files.links(KINDS["dragonfly"]).splitlines()
    assert lines[0] == "host 25"
    words = lines[1].split()
    assert words[:5] == ["test", "0", "local", "25", "2"] and words[5] == "local:r0-0>r0-1"
    sender, target = words[6].split(">")
    assert words[7] == f",local:r0-0>r0-1,node:{sender}:sending,node:{target}:receiving,"
    assert words[8] == ","


def test_hosts_faster_than_links_are_not_cleared_by_them() -> None:
    document = flies.document("dragonfly", {"groups": 4, "routers": 3})
    document["host"] = {"tiles": 4}
    lines = files.links(catalog.parse(document, source="test")).splitlines()
    words = lines[1].split()
    assert words[7] == ",local:r0-0>r0-1," and words[8].count("node:") == 2


def test_more_phases_than_topobw_has_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_tests, "MOST_PHASES", 3)
    with pytest.raises(InputError, match=r"at most 3"):
        files.links(KINDS["dragonfly"])
