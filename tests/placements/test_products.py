"""The grid behind a matrix is found whatever the ranks are called, and placed as well as one in order."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support.topology.topologies import gemini, renumbered

from railyard.placements.linkload.traffic import Traffic, groups, shifted, stencil
from railyard.placements.orders.allocation import allocate
from railyard.placements.orders.optimiser import Search
from railyard.placements.orders.products import recognised
from railyard.placements.orders.rank_orders import Effort, PlacementJob, boxes

MB = 1e6


def both_ways(ranks: int, edges: list[tuple[int, int]]) -> Traffic:
    """Return traffic of 1 MB each way for every edge."""
    ends = np.array([*edges, *((other, one) for one, other in edges)], dtype=np.int32).T
    return Traffic(ranks=ranks, source=ends[0], target=ends[1], size_bytes=np.full(ends.shape[1], MB))


def open_grid(*grid: int) -> Traffic:
    """Return the traffic of a Jacobi solver: neighbours of a grid that is not periodic."""
    numbers = np.arange(np.prod(grid)).reshape(grid)
    edges = [
        pair
        for axis, extent in enumerate(grid)
        for pair in zip(
            numbers.take(range(extent - 1), axis).ravel().tolist(),
            numbers.take(range(1, extent), axis).ravel().tolist(),
            strict=True,
        )
    ]
    return both_ways(numbers.size, edges)


def cube(ranks: int) -> Traffic:
    steps = [1 << bit for bit in range(ranks.bit_length() - 1)]
    return both_ways(ranks, [(rank, rank ^ step) for rank in range(ranks) for step in steps if rank < rank ^ step])


def pencils(*grid: int) -> Traffic:
    """Return the traffic of an FFT: all to all in rows, then in columns."""
    rows, columns = (
        shifted(groups((grid[0], grid[1]), within), range(1, extent), 1e5)
        for within, extent in zip("XY", grid, strict=True)
    )
    return Traffic(
        ranks=rows.ranks,
        source=np.r_[rows.source, columns.source],
        target=np.r_[rows.target, columns.target],
        size_bytes=np.r_[rows.size_bytes, columns.size_bytes],
    )


def clients(servers: int, clients: int) -> Traffic:
    """Return traffic of every client with every server."""
    return both_ways(servers + clients, [(one, servers + other) for one in range(servers) for other in range(clients)])


def tree(ranks: int) -> Traffic:
    return both_ways(ranks, [(rank, (rank - 1) // 2) for rank in range(1, ranks)])


@pytest.mark.unit
@pytest.mark.parametrize(
    ("traffic", "grid"),
    [
        (stencil((5, 4, 3), (MB,)), (5, 4, 3)),
        (stencil((6, 5, 4), (MB, 1e4, 100.0)), (6, 5, 4)),
        (stencil((3, 3, 3), (MB, 1e4, 100.0)), (3, 3, 3)),
        (open_grid(9, 6), (9, 6)),
        (open_grid(7, 5, 3), (7, 5, 3)),
        (cube(64), (4, 4, 4)),
        (pencils(9, 6), (9, 6)),
        (stencil((27,), (MB,)), (27,)),
        (open_grid(11), (11,)),
    ],
)
def test_a_grid_is_recognised_under_any_numbering(traffic: Traffic, grid: tuple[int, ...]) -> None:
    """Its cells are the ranks in an order in which the heaviest messages stay in one row of the grid.

    In a 3x3x3 halo with corners every rank is a neighbour of every other.
    """
    sent = renumbered(traffic, 3)
    (first, ranks), *_ = recognised(sent, 3)
    assert first == grid
    assert sorted(ranks.tolist()) == list(range(sent.ranks))
    cells = np.array(np.unravel_index(np.argsort(ranks), grid))
    heavy = sent.size_bytes == sent.size_bytes.max()
    apart = cells[:, sent.source[heavy]] != cells[:, sent.target[heavy]]
    assert (apart.sum(axis=0) == 1).all()


@pytest.mark.unit
@pytest.mark.parametrize(
    "traffic",
    [
        tree(31),
        both_ways(8, [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4)]),
        Traffic(ranks=4, source=np.zeros(0, np.int32), target=np.zeros(0, np.int32), size_bytes=np.zeros(0)),
        Traffic(ranks=1, source=np.zeros(0, np.int32), target=np.zeros(0, np.int32), size_bytes=np.zeros(0)),
        both_ways(6, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)]),
        clients(300, 300),
    ],
)
def test_what_is_no_grid_is_left_alone(traffic: Traffic) -> None:
    """A tree, two rings apart, silence of four ranks and of one, triangles with a bridge, and what takes too long."""
    assert list(recognised(renumbered(traffic, 1), 3)) == []


@pytest.mark.built
@pytest.mark.parametrize(
    ("traffic", "hops_gb"),
    [
        (stencil((4, 4, 4), (MB,)), 0.384),
        (cube(64), 0.384),
        (open_grid(8, 8), 0.224),
        (stencil((8, 8), (MB,)), 0.256),
        (both_ways(64, [(rank, (rank + 1) % 64) for rank in range(64)]), 0.128),
    ],
)
def test_the_known_optimum_is_found_under_any_numbering(traffic: Traffic, hops_gb: float) -> None:
    """On a 4x4x4 torus each of these fits with one hop a message: the slowest link is one message over a Y cable."""
    granted = allocate(gemini("4x4x4"), "contiguous")
    topology = granted.topology
    fewest_s = MB / (topology.link_rates[topology.link_rates > 0].min() * 1e9)
    for seed in (1, 2):
        sent = renumbered(traffic, seed)
        job = PlacementJob(allocation=granted, grid=(4, 4, 4), ranks_per_node=1, seed=1, traffic=sent)
        best = Search(job, sent, Effort(trials_per_rank=10, most_trials=30_000)).best()
        at = topology.node_coordinates[granted.indices[best.at[:64]]]
        hops = topology.hops(at[sent.source], at[sent.target])
        assert float((hops * sent.size_bytes).sum()) / 1e9 == pytest.approx(hops_gb)
        assert best.slowest_s == pytest.approx(fewest_s)


@pytest.mark.unit
def test_a_fold_uses_every_cell_once() -> None:
    for grid, box in itertools.product([(8, 8), (16, 4), (4, 4, 4), (64,)], [(4, 4, 4), (8, 4, 2)]):
        for cells in boxes.folded(grid, box):
            assert sorted(map(tuple, cells.tolist())) == sorted(itertools.product(*map(range, box)))
    assert list(boxes.folded((3, 3), (3, 3, 1))) == []
