"""Recognise the grid behind a matrix, whatever the numbers of its ranks.

Halos, rings, hypercubes and rows and columns of an FFT are Cartesian products of paths, rings and cliques, whatever the
ranks are called. Two edges of one rank that are sides of a square without diagonals belong to different factors, and
a square's opposite sides to the same one; two edges without a square, or in a triangle, belong to one factor. That
relation, closed, is the product's factorisation (W. Imrich and I. Peterin, "Recognizing Cartesian products in linear
time", Discrete Mathematics 307, 2007); a graph that is not a product has one factor. A rank's place in a factor is the
layer it is in: the component that stays when the factor's edges are taken away.

A halo's edges and corners are not edges of the product. They carry fewer bytes than its faces, so the heaviest edges
are tried alone, too.

Leaves out grids with holes, and matrices that are nearly a grid.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from railyard.placements.arrays import Ints, NDArray, np
from railyard.placements.linkload.traffic import Grid, Traffic
from railyard.placements.orders.walks import boustrophedon

if TYPE_CHECKING:
    from scipy import sparse

#: Edges, and pairs of edges at one rank to compare, beyond which recognising takes longer than searching.
MOST_EDGES, MOST_PAIRS = 600_000, 2_000_000
#: A gap in the weights of edges: the heavier ones are this many times as heavy as the lighter.
GAP = 1.5
#: Graphs that are tried, from all edges on to the heaviest.
MOST_GRAPHS = 8
MOST_GRIDS = 8


def recognised(traffic: Traffic, dimensions: int) -> Iterator[tuple[Grid, Ints]]:
    """Yield grids that the traffic follows, with the rank of each cell in row-major order; shape (ranks,).

    Each grid has at most `dimensions`: factors are joined, one after the other there and back. Yields nothing where no
    grid is recognised, and where that would take minutes (a dense matrix without rows, such as many clients of many
    servers).
    """
    for graph in itertools.islice(_by_weight(traffic), MOST_GRAPHS):
        factors = _factors(graph)
        if factors is not None:
            yield from itertools.islice(_joined(factors, dimensions), MOST_GRIDS)
            return


def _by_weight(traffic: Traffic) -> Iterator[sparse.csr_array]:
    """Yield the graph of all pairs, then of the heaviest, as long as it connects all ranks; bytes as weights.

    Without the graph in which every rank is a neighbour of every other, which follows any grid.
    """
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    matrix = traffic.matrix()
    both = sparse.csr_array(matrix + matrix.T)
    weights = np.unique(both.data)
    limits = [0.0, *weights[1:][weights[1:] > GAP * weights[:-1]].tolist()]
    for limit in limits:
        heavy = both.copy()
        heavy.data[heavy.data < limit] = 0
        heavy.eliminate_zeros()
        if heavy.nnz == 0 or connected_components(heavy, directed=False)[0] > 1:
            return
        if heavy.nnz <= 2 * MOST_EDGES and heavy.nnz < traffic.ranks * (traffic.ranks - 1):
            yield heavy


def _factors(graph: sparse.csr_array) -> list[Ints] | None:
    """Return the place of each rank in each factor, each an array of shape (ranks,); None where it is not a product.

    Places follow a path or ring from end to end; every factor must be one of these, or a clique. The largest factor is
    the first, and of equal ones that with the most bytes, so that their order does not depend on the ranks' numbers.
    """
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    edges = np.array(sparse.triu(graph, 1).nonzero())
    classes = _classes(edges, graph.shape[0])
    if classes is None:
        return None
    weights = np.asarray(sparse.triu(graph, 1).data)
    places: list[tuple[int, float, Ints]] = []
    for kind in range(classes.max() + 1):
        others = edges[:, classes != kind]
        rest = sparse.csr_array((np.ones(others.shape[1]), (others[0], others[1])), shape=graph.shape)
        layers, layer_of = connected_components(rest, directed=False)
        across = layer_of[edges[:, classes == kind]]
        order = _line(layers, across)
        if order is None:
            return None
        places.append((layers, float(weights[classes == kind].sum()), order[layer_of]))
    places.sort(key=lambda factor: factor[:2], reverse=True)
    extents = tuple(factor[0] for factor in places)
    factors = [factor[2] for factor in places]
    if math.prod(extents) != graph.shape[0]:
        return None
    is_product = len(np.unique(np.ravel_multi_index(tuple(factors), extents))) == graph.shape[0]
    return factors if is_product else None


def _classes(edges: Ints, ranks: int) -> Ints | None:
    """Return the factor that each edge belongs to, numbered from 0; shape (edges,). None for too many pairs."""
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    number: dict[tuple[int, int], int] = {}
    near: list[set[int]] = [set() for _ in range(ranks)]
    for index, (one, other) in enumerate(edges.T.tolist()):
        number[one, other] = number[other, one] = index
        near[one].add(other)
        near[other].add(one)
    cliques_of = [_cliques(near, rank) for rank in range(ranks)]
    if sum((len(mine) - 1) * len(near[rank]) for rank, mine in enumerate(cliques_of)) > MOST_PAIRS:
        return None
    same: list[tuple[int, int]] = []
    for rank, cliques in enumerate(cliques_of):
        for clique in cliques:
            same.extend((number[rank, clique[0]], number[rank, one]) for one in clique[1:])
        for mine, theirs in itertools.permutations(cliques, 2):
            other = theirs[0]
            for one in mine:
                common = (near[one] & near[other]) - {rank}
                opposite = (other, common.pop()) if len(common) == 1 else (rank, other)
                same.append((number[rank, one], number[opposite]))
    pairs = np.array(same).reshape(-1, 2).T
    joined = sparse.csr_array((np.ones(pairs.shape[1]), (pairs[0], pairs[1])), shape=(edges.shape[1],) * 2)
    return np.asarray(connected_components(joined, directed=False)[1])


def _cliques(near: Sequence[set[int]], rank: int) -> list[list[int]]:
    """Return a rank's neighbours, those together that are reached from each other among them."""
    unseen, cliques = set(near[rank]), []
    while unseen:
        todo = [min(unseen)]
        unseen.discard(todo[0])
        clique = []
        while todo:
            one = todo.pop()
            clique.append(one)
            reached = near[one] & unseen
            unseen -= reached
            todo.extend(sorted(reached))
        cliques.append(clique)
    return cliques


def _line(layers: int, across: Ints) -> Ints | None:
    """Return the place of each layer along a path, a ring or a clique; None for another graph."""
    near: list[set[int]] = [set() for _ in range(layers)]
    for one, other in zip(*across.tolist(), strict=True):
        near[one].add(other)
        near[other].add(one)
    if all(len(others) == layers - 1 for others in near):
        return np.arange(layers)
    if any(len(others) > 2 for others in near):
        return None
    ends = [layer for layer in range(layers) if len(near[layer]) == 1]
    walk = [ends[0] if ends else 0]
    while len(walk) < layers:
        walk.append(min(near[walk[-1]] - set(walk[-2:])))
    steps = np.empty(layers, dtype=np.int64)
    steps[walk] = np.arange(layers)
    return steps


def _joined(factors: Sequence[Ints], dimensions: int) -> Iterator[tuple[Grid, Ints]]:
    """Yield every grid of other extents that the factors form, the most even ones first."""
    extents = [int(factor.max()) + 1 for factor in factors]
    by_grid: dict[Grid, list[list[int]]] = {}
    for owner in itertools.product(*(range(min(dimensions, k + 1)) for k in range(len(factors)))):
        every = [[k for k, owned in enumerate(owner) if owned == group] for group in range(dimensions)]
        groups = sorted(filter(None, every), key=lambda group: -math.prod(extents[k] for k in group))
        by_grid.setdefault(tuple(math.prod(extents[k] for k in group) for group in groups), groups)
    for grid in sorted(by_grid, key=sum):
        along = [_there_and_back([factors[k] for k in group]) for group in by_grid[grid]]
        yield grid, np.argsort(np.ravel_multi_index(tuple(along), grid))


def _there_and_back(places: Sequence[Ints]) -> NDArray[np.int64]:
    """Return where each rank is on a walk through the product of some factors, each step in one of them."""
    extents = tuple(int(steps.max()) + 1 for steps in places)
    number = np.ravel_multi_index(tuple(boustrophedon(extents).T), extents)
    step = np.empty(len(number), dtype=np.int64)
    step[number] = np.arange(len(number))
    return step[np.ravel_multi_index(tuple(places), extents)]
