"""Nodes divided among programs that run at once: whole shares, each node once, whatever the rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railyard.base.errors import InputError
from railyard.placements.orders import division, spec
from railyard.placements.orders.allocation import Allocation, allocate
from railyard.placements.orders.placement import place
from railyard.placements.topology import catalog

TWO_A_ROUTER = allocate(catalog.load("gemini-4x4x4-two-nodes"), "snake")
GROUPS = allocate(catalog.load("dragonfly-72"), "contiguous")
RULES = ("contiguous", "interleaved", "by-router", "random:7")


@given(rule=st.sampled_from(RULES), nodes=st.integers(1, 63).map(lambda half: 2 * half))
def test_every_node_has_one_share(rule: str, nodes: int) -> None:
    own, rest = division.split(TWO_A_ROUTER, rule, nodes)
    assert len(own) == nodes
    assert sorted([*own.tolist(), *rest.tolist()]) == list(range(len(TWO_A_ROUTER.indices)))


def test_shares_are_interleaved_node_by_node() -> None:
    own, rest = division.split(TWO_A_ROUTER, "interleaved", 0)
    assert (own.tolist(), rest.tolist()) == (list(range(0, 128, 2)), list(range(1, 128, 2)))
    parts = division.dealt(GROUPS, "interleaved", [10, 10, 10])
    assert sorted(node for part in parts for node in part.tolist()) == list(range(len(GROUPS.indices)))


def test_no_router_and_no_group_has_nodes_of_two_shares() -> None:
    for rule, allocation, boxes in (
        ("by-router", TWO_A_ROUTER, TWO_A_ROUTER.switches),
        ("by-group", GROUPS, GROUPS.groups),
    ):
        own, rest = division.split(allocation, rule, 0)
        assert len(own) and not set(boxes[own]) & set(boxes[rest])


@pytest.mark.parametrize(
    ("rule", "nodes", "words"),
    [
        ("interleaved", 128, "1 to 127"),
        ("by-router", 3, "which by-router gives here"),
        ("nodes:0,128", 2, "numbers from 0 to 127"),
        ("random:x", 4, "whole number"),
    ],
)
def test_what_cannot_be_divided_is_refused_in_one_line(rule: str, nodes: int, words: str) -> None:
    with pytest.raises(InputError, match=words) as error:
        division.split(TWO_A_ROUTER, rule, nodes)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("rule", ["random", "by-rack", "contiguous:4", ""])
def test_an_unknown_rule_is_refused_with_those_that_exist(rule: str) -> None:
    with pytest.raises(InputError, match="by-group, random:SEED"):
        division.check("congestion_halo", rule)


def test_a_torus_has_no_groups_to_divide() -> None:
    with pytest.raises(InputError):
        division.split(TWO_A_ROUTER, "by-group", 0)


def test_a_load_in_a_placement_s_name_changes_no_rank() -> None:
    def hosts(name: str, allocation: Allocation) -> list[str]:
        return [node.name for node in place(name, allocation, (4, 4, 4)).nodes]

    assert spec.parse("random:7@scattered/core+incast.alltoall").load == "incast.alltoall"
    assert hosts("random:7+incast", TWO_A_ROUTER) == hosts("random:7", TWO_A_ROUTER)
    assert spec.parse("file:a+b").load == ""
