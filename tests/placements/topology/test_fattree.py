"""Fat trees: what the file says, routes by destination, sockets and their nearest rail."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np

from railyard.placements.topology import catalog
from railyard.placements.topology.fattree import FatTree


def tree(name: str = "dual-rail-small") -> FatTree:
    loaded = catalog.load(name)
    assert isinstance(loaded, FatTree)
    return loaded


def test_catalyst_has_two_rails_of_qdr_and_full_bisection() -> None:
    catalyst = tree("catalyst-dual-rail")
    assert (len(catalyst.nodes), catalyst.rails, catalyst.spines) == (324, 2, 18)
    assert {link.rate_gbyte_s for link in catalyst.links()} == {4.0} == {catalyst.host_rate_gbyte_s}
    assert len(list(catalyst.links())) == 2 * 2 * 18 * 18


def test_a_route_goes_up_to_the_destinations_spine_and_down() -> None:
    small = tree()
    for source, target in itertools.permutations(small.nodes, 2):
        links = small.route(source.coordinate, target.coordinate, rail=1, slot=target.slot)
        assert len(links) == small.hops(np.array(source.coordinate), np.array(target.coordinate))
        if links:
            up, down = links
            assert up.target == down.source and up.target.coordinate[0] == target.slot % small.spines
            assert {up.source.rail, down.target.rail} == {1}


def test_all_nodes_to_the_next_leaf_load_every_spine_alike() -> None:
    small = tree()
    used: Counter[str] = Counter()
    for node in small.nodes:
        far = ((node.coordinate[0] + 1) % small.leaves, 0, 0)
        used.update(link.name for link in small.route(node.coordinate, far, slot=node.slot))
    assert set(used.values()) == {small.oversubscription}
