"""Routes round dead links: every pair still arrives, by the order that Gemini's software would try first."""

from __future__ import annotations

import itertools

import pytest
from support.topology.topologies import gemini

from railyard.base.errors import RunError
from railyard.placements.topology import catalog
from railyard.placements.topology.base import Destination, Link, Router, Topology
from railyard.placements.topology.fattree import FatTree


def cable(topo: Topology, name: str) -> list[Link]:
    link = topo.links_by_name[name]
    return [link, topo.reverse(link)]


def test_only_routes_over_the_dead_link_change_and_keep_their_length_when_another_order_does() -> None:
    topo = gemini("4x4x2")
    dead = cable(topo, "X+ 0,0,0>1,0,0")
    around = topo.detours(dead, 0)
    for source, target in itertools.permutations(topo.routers, 2):
        usual = topo.route(source.coordinate, target.coordinate)
        taken = list(topo.walk(source, Destination(coordinate=target.coordinate), around))
        if set(usual) & set(dead):
            same_row = source.coordinate[1:] == target.coordinate[1:]
            assert (len(taken) > len(usual)) == (same_row and len(usual) == 1), (usual, taken)
        else:
            assert taken == usual


def test_a_pair_without_a_way_is_named() -> None:
    with pytest.raises(RunError, match="no route from r0-0-0 to r1-0-0"):
        topo = gemini("2x2x2")
        topo.detours(cable(topo, "X+ 0,0,0>1,0,0"), 0)
    with pytest.raises(RunError, match="no route from"):  # twice in one ring (Ezell: unrouteable)
        topo = gemini("4x4x4")
        topo.detours([*cable(topo, "Z+ 0,0,0>0,0,1"), *cable(topo, "Z+ 0,0,2>0,0,3")], 0)


def test_a_rail_does_not_mind_what_is_dead_on_another() -> None:
    topo = gemini("4x4x4", rails=2)
    dead = cable(topo, "X+ 0,0,0>1,0,0@1")
    assert topo.detours(dead, 0) == {} and topo.detours(dead, 1)


def test_in_a_fat_tree_the_next_spine_serves_both_ways() -> None:
    small = catalog.load("dual-rail-small")
    assert isinstance(small, FatTree)
    around = small.detours(cable(small, "up leaf0>spine1"), 0)
    leaf = [Router(coordinate=(index, 0, 0)) for index in range(4)]
    to_zero = Destination(coordinate=(0, 0, 0), group=1)
    assert {around[leaf[other], to_zero].name for other in (1, 2, 3)} == {f"up leaf{n}>spine0" for n in (1, 2, 3)}
    assert around[leaf[0], Destination(coordinate=(2, 0, 0), group=1)].name == "up leaf0>spine0"
    assert len(around) == 6


def test_a_leaf_without_a_spine_is_an_error_that_names_it() -> None:
    small = catalog.load("dual-rail-small")
    with pytest.raises(RunError, match="no route from leaf0 to leaf1"):
        small.detours([*cable(small, "up leaf0>spine0"), *cable(small, "up leaf0>spine1")], 0)
