"""Placement by group and by switch, on a dragonfly with gaps."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.topology import flies
from support.topology.topologies import gemini

from railyard.base.errors import InputError
from railyard.placements.orders.allocation import Allocation, allocate, occupied, scheduled
from railyard.placements.orders.choices import choose
from railyard.placements.orders.placement import place

FLY = flies.made("dragonfly", {"groups": 9, "routers": 4})
PLUS = flies.made("dragonfly_plus", {"groups": 4, "leaves": 3, "spines": 2})
GAPS = scheduled(FLY, np.array([0, 1, 2, 9, 10, 16, 17, 18, 19, 20, 40, 41]))


def per_group(allocation: Allocation) -> list[int]:
    return list(Counter(allocation.groups.tolist()).values())


def test_one_switch_and_one_group_take_the_tightest_fit() -> None:
    assert choose(GAPS, 2, "one-switch").indices.tolist() == [0, 1]
    assert choose(GAPS, 2, "one-group").indices.tolist() == [9, 10]
    assert choose(GAPS, 4, "one-group").indices.tolist() == [16, 17, 18, 19]


def test_few_groups_take_the_fullest_and_fill_them() -> None:
    chosen = choose(GAPS, 7, "few-groups", 2)
    assert chosen.indices.tolist() == [0, 1, 16, 17, 18, 19, 20]


def test_even_groups_take_equal_parts() -> None:
    assert choose(GAPS, 5, "even-groups", 2).indices.tolist() == [0, 1, 16, 17, 18]


@given(st.integers(1, 72), st.integers(0, 99), st.sampled_from(["random-switches", "random-groups"]))
@settings(deadline=None, max_examples=40)
def test_random_boxes_are_filled_one_after_another(count: int, seed: int, choice: str) -> None:
    """All boxes but one are full, the nodes are in the scheduler's order, and the seed decides."""
    granted = allocate(FLY, "contiguous")
    chosen = choose(granted, count, choice, seed)
    size = 2 if choice == "random-switches" else 8
    counts = Counter((chosen.switches if choice == "random-switches" else chosen.groups).tolist())
    assert sum(n < size for n in counts.values()) <= 1 and sum(counts.values()) == count
    assert (np.diff(chosen.indices) > 0).all()
    assert (choose(granted, count, choice, seed).indices == chosen.indices).all()


@given(st.integers(1, 40), st.integers(0, 99), st.integers(1, 9))
@settings(deadline=None, max_examples=40)
def test_groups_hold_or_refuse(count: int, seed: int, groups: int) -> None:
    granted = occupied(allocate(FLY, "contiguous"), 60, seed)
    for choice in ("few-groups", "even-groups"):
        try:
            counts = per_group(choose(granted, count, choice, groups))
        except InputError as error:
            assert "at most" in str(error)
            continue
        assert len(counts) <= groups and sum(counts) == count
        if choice == "even-groups":
            assert max(counts) - min(counts) <= 1


def test_orders_sort_the_nodes() -> None:
    mixed = scheduled(FLY, np.array([40, 3, 9, 2, 41, 1]))
    assert place("by-group", mixed, (6,)).indices.tolist() == [3, 2, 1, 9, 40, 41]
    assert place("by-switch", mixed, (6,)).indices.tolist() == [1, 3, 2, 9, 40, 41]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("plain@few-groups", "@few-groups:K"),
        ("plain@even-groups:0", "at least 1"),
        ("plain@one-switch", "at most 2, the granted nodes of the fullest switch"),
        ("plain@random-groups", "the node choice random-groups has no seed"),
        ("plain@few-groups:1", "at most 5, as were granted"),
    ],
)
def test_what_cannot_be_is_one_line(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        place(name, GAPS, (8,))


def test_a_torus_has_switches_but_no_groups() -> None:
    torus = allocate(gemini("2x2x2", nodes_per_router=2), "contiguous")
    assert choose(torus, 2, "one-switch").indices.tolist() == [0, 1]
    with pytest.raises(InputError, match="a dragonfly, a fat tree"):
        choose(torus, 2, "one-group")


def test_pods_of_a_fat_tree_are_groups() -> None:
    tree = flies.made("fat_tree", {"levels": [{"children": 2, "parents": 2}, {"children": 3, "parents": 1}]})
    assert tree.groups.tolist() == [0, 0, 1, 1, 2, 2]
    assert per_group(choose(allocate(PLUS, "contiguous"), 6, "even-groups", 3)) == [2, 2, 2]
