"""Allocations, placements and what is rendered of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.commands import Run, refused
from support.topology.topologies import gemini

from railyard.base.errors import InputError
from railyard.placements.orders.allocation import AllocationOrder, allocate
from railyard.placements.orders.placement import place
from railyard.placements.orders.walks import boustrophedon

EXTENTS = st.tuples(*[st.integers(1, 5)] * 3)


@given(EXTENTS, st.integers(1, 2), st.sampled_from(sorted(set(AllocationOrder) - {AllocationOrder.SCHEDULER})))
def test_an_allocation_never_grants_a_node_twice(
    extents: tuple[int, int, int], nodes: int, order: AllocationOrder
) -> None:
    topo = gemini("x".join(map(str, extents)), nodes_per_router=nodes)
    granted = allocate(topo, order, seed=3).indices
    assert len(set(granted.tolist())) == len(granted)
    if order != AllocationOrder.AXES:
        assert sorted(granted.tolist()) == list(range(len(topo.nodes)))


@given(st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple))
def test_a_snake_takes_single_steps(extents: tuple[int, ...]) -> None:
    cells = boustrophedon(extents)
    assert len(np.unique(cells, axis=0)) == math.prod(extents)
    assert (np.abs(np.diff(cells, axis=0)).sum(axis=1) == 1).all()


def test_a_snake_fills_a_4x2x8_block_before_the_next() -> None:
    granted = allocate(gemini("8x4x8"), AllocationOrder.SNAKE)
    first = granted.topology.node_coordinates[granted.indices[:64]]
    assert first.max(axis=0).tolist() == [3, 1, 7]


def test_alps_first_rule_fills_a_block_of_8x8x8_before_the_next() -> None:
    """Peña et al., EuroMPI'13, section 3.3; what is left over at the far sides is the best approximation."""
    granted = allocate(gemini("12x8x8", nodes_per_router=2), AllocationOrder.SNAKE_8X8X8)
    at = granted.topology.node_coordinates[granted.indices]
    assert at[:1024].max(axis=0).tolist() == [7, 7, 7]
    assert at[1024:].min(axis=0).tolist() == [8, 0, 0]
    assert (np.abs(np.diff(at[::2], axis=0)).sum(axis=1)[:511] == 1).all()  # every router beside the one before


def test_the_order_snake_takes_the_blocks_that_are_named() -> None:
    shuffled = allocate(gemini("12x8x8"), "random", seed=4)
    as_first = allocate(gemini("12x8x8"), AllocationOrder.SNAKE_8X8X8).indices.tolist()
    assert place("snake:8x8x8", shuffled, (768,)).indices.tolist() == as_first
    assert place("snake:4x2x8", shuffled, (768,)).indices.tolist() == place("snake", shuffled, (768,)).indices.tolist()
    for wrong in ("8x8", "8x0x8", "8x8xz", "8x8x8x8"):
        with pytest.raises(InputError, match="AxBxC routers"):
            place(f"snake:{wrong}", shuffled, (768,))


def test_a_random_allocation_repeats_from_its_seed() -> None:
    topo = gemini("4x4x4")
    one, again, other = (allocate(topo, "random", seed=s).indices.tolist() for s in (1, 1, 2))
    assert one == again != other


@pytest.mark.parametrize(
    ("extents", "nodes", "names"),
    [
        ("5x2x1", 1, "n0-0-0 n1-0-0 n2-0-0 n0-1-0"),
        # One hop along Y is the other node of the same router (Peña et al., section 4.1).
        ("2x3x1", 2, "n0-0-0-0 n1-0-0-0 n0-0-0-1 n0-1-0-0 n0-1-0-1"),
    ],
)
def test_axes_grant_the_origin_and_each_hop_count(extents: str, nodes: int, names: str) -> None:
    granted = allocate(gemini(extents, nodes_per_router=nodes), "axes")
    assert [node.name for node in granted.nodes] == names.split()


@given(EXTENTS)
def test_custom_puts_every_grid_neighbour_one_hop_away(extents: tuple[int, int, int]) -> None:
    placed = place("custom", allocate(gemini("x".join(map(str, extents)))), extents)
    assert sorted(placed.indices.tolist()) == sorted(placed.allocation.indices.tolist())
    topology = placed.allocation.topology
    at = topology.node_coordinates[placed.indices].reshape(*extents, 3)
    for dimension, extent in enumerate(extents):
        far = topology.hops(at, np.roll(at, -1, axis=dimension))
        assert (far == (1 if extent > 1 else 0)).all()


def test_custom_does_not_depend_on_the_allocations_order() -> None:
    topo = gemini("4x2x3")
    ways = [place("custom", allocate(topo, order, seed=2), (4, 2, 3)).indices for order in ("snake", "random")]
    assert np.array_equal(ways[0], ways[1])


def test_custom_counts_both_nodes_of_a_router_along_y() -> None:
    topo = gemini("3x3x3", nodes_per_router=2)
    names = [node.name for node in place("custom", allocate(topo), (3, 6, 3)).nodes]
    assert names[:9:3] == ["n0-0-0-0", "n0-0-0-1", "n0-1-0-0"]


def test_custom_folds_the_ranks_of_a_node_into_the_grid() -> None:
    placed = place("custom", allocate(gemini("2x2x2")), (4, 2, 2), ranks_per_node=2)
    assert np.bincount(placed.indices).tolist() == [2] * 8
    assert placed.mean_hops() < 1


def test_custom_lays_a_2d_grid_over_a_plane() -> None:
    granted = allocate(gemini("4x4x4"), block=(4, 4, 1))
    assert place("custom", granted, (4, 4)).mean_hops() == 1


def test_plain_and_cart_create_number_a_grid_from_opposite_ends() -> None:
    granted = allocate(gemini("2x3x1"), "contiguous")
    plain = place("plain", granted, (2, 3)).indices
    cart = place("cart-create", granted, (2, 3)).indices
    assert cart.tolist() == [0, 1, 2, 3, 4, 5]
    assert plain.tolist() == [0, 2, 4, 1, 3, 5]


def test_randomness_needs_a_seed() -> None:
    with pytest.raises(InputError, match=r"^placement: random has no seed; expected random:SEED, such as"):
        place("random", allocate(gemini("2x2x2")), (2, 2, 2))
    with pytest.raises(InputError, match=r"the node choice random has no seed; expected random:SEED, such as"):
        place("plain@random", allocate(gemini("2x2x2")), (2, 2, 1))
    with pytest.raises(InputError, match=r"^allocation: random has no seed; expected --seed SEED"):
        allocate(gemini("2x2x2"), "random")


PLACE, LINKS = "place gemini-4x4x4 --grid", "links gemini-2x2x2 --grid 2x2x2"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (f"{PLACE} 4x4x5 --ranks 64", ["4x4x5", "a product of 64", "4x4x4"]),
        (f"{PLACE} 4x4x8", ["4x4x8", "at most 64 ranks"]),
        (f"{PLACE} 8x8", ["8x8", "custom", "4x16"]),
        (f"{PLACE} 0x4", ["--grid", "0x4", "at least 1"]),
        (f"{PLACE} 4x4x4 --block 5x4x4", ["5x4x4", "4x4x4"]),
        (f"{PLACE} 4x4x4 --placement random", ["seed"]),
        (f"{LINKS} --plot map.gif", ["map.gif", ".svg"]),
        (f"{LINKS} --sizes 1,-2", ["1,-2", "0 or more"]),
        (f"{LINKS} --pattern alltoall --within XX", ["XX", "each once"]),
        (f"{LINKS} --placements custom,nonsense", ["nonsense", "hilbert"]),
        ("nics --policy stripe --stack psm", ["stripe", "psm", "local-nic, nic-K, round-robin"]),
        ("nics --policy nic-2 --stack ucx", ["nic-2", "nic-0, nic-1", "2 NICs"]),
        ("nics --policy nic --stack ucx", ["'nic'", "nic-0"]),
        ("nics --policy stripe --stack tcp", ["'tcp'", "openmpi-tcp", "intel-mpi"]),
        ("nics --policy stripe --stack ucx --devices a", ["--devices", "2 names"]),
    ],
)
def test_wrong_words_are_refused_in_one_line(railyard: Run, line: str, words: list[str]) -> None:
    refused(railyard(*line.split()), *words)
