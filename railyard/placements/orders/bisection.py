"""Geometric mapping: ranks and nodes, both points in space, are halved together until one node is left.

Nodes are cut across their longest extent, each dimension measured in seconds per byte of its links, so that slow
dimensions are kept short; ranks are cut where theirs is longest, in as many as the nodes' halves hold. With `axes` the
ranks' cut lies along the torus dimension that the grid dimension was given, so whole blocks keep their sides; without,
each side is cut where it is longest. After M. Deveci et al., "Geometric mapping of tasks to processors on parallel
computers with mesh or torus networks", IEEE TPDS 30(9), 2019. Works on any set of nodes: gaps only move the cuts.

Leaves out the wrap-around of torus and grid: a monotone map of one ring onto another closes by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railyard.placements.arrays import Floats, Ints, Ints32, np

if TYPE_CHECKING:
    from scipy import sparse

DENSE_RANKS = 128  # with a dense matrix, whose eigenvectors are found faster


@dataclass(frozen=True, slots=True, kw_only=True)
class Cuts:
    """The rules of a bisection.

    `axes[g]` is the torus dimension that is cut together with grid dimension g; with None, grid and torus are cut
    independently. `weights` scale the torus dimensions before the longest one is cut.
    """

    axes: tuple[int, ...] | None
    weights: tuple[float, ...]
    lead_by_ranks: bool = False


def bisect(ranks: Floats, nodes: Floats, slots: int, cuts: Cuts, *, between: sparse.csr_array | None = None) -> Ints32:
    """Return the node of each rank (index into `nodes`).

    `ranks` has shape (ranks, grid dimensions), `nodes` (nodes, torus dimensions); at most `slots` ranks per node. With
    `between`, the bytes of pairs, ranks are halved along Fiedler vectors that are drawn to ranks elsewhere.
    """
    node_of_rank = np.empty(len(ranks), dtype=np.int32)
    weighed = nodes * np.array(cuts.weights)
    points, position = ranks.copy(), np.tile(weighed.mean(axis=0), (len(ranks), 1))
    parts = [(np.arange(len(ranks)), np.arange(len(nodes)))]
    for some, places in parts:
        node_of_rank[some] = places[0]
        if len(places) > 1 and len(some):
            if between is not None:
                along = int(np.ptp(weighed[places], axis=0).argmax())
                points[some, 0] = _drawn(between[some], some, position[:, along])
            for those, there in _halves(points, weighed, some, places=places, slots=slots, cuts=cuts):
                position[those] = weighed[there].mean(axis=0)
                parts.append((those, there))
    return node_of_rank


def _drawn(rows: sparse.csr_array, some: Ints, position: Floats) -> Floats:
    """Return places of some ranks on a line, near those they exchange much with; `rows` are theirs of the matrix."""
    fiedler = _fiedler(rows[:, some])
    pull = rows @ position - rows.sum(axis=1) * position[some]
    turned = math.copysign(1 / max(np.abs(fiedler).max(), 1e-300), fiedler @ pull)
    return np.asarray(turned * fiedler + 0.3 * pull / max(np.abs(pull).max(), 1e-300))


def _fiedler(inside: sparse.csr_array) -> Floats:
    """Return the second eigenvector of a graph's Laplacian; of a graph in parts, a vector that differs between some."""
    from scipy.sparse import diags_array  # imported here: most commands optimise nothing
    from scipy.sparse.linalg import eigsh

    laplacian, count = diags_array(inside.sum(axis=1)) - inside, inside.shape[0]
    small = 1e-3 * laplacian.diagonal().mean() + 1e-12
    if count <= DENSE_RANKS:  # less than 0 is left for the constant vector alone, which is the first
        return np.asarray(np.linalg.eigh(laplacian.toarray() - 1e-6 * small)[1][:, min(1, count - 1)])
    start = np.random.default_rng(0).random(count)
    vectors = eigsh(laplacian.tocsc(), k=2, sigma=-small, v0=start, tol=1e-4)[1]
    return np.asarray(np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)[0][:, 0])


def _halves(
    ranks: Floats, nodes: Floats, some: Ints, *, places: Ints, slots: int, cuts: Cuts
) -> Iterator[tuple[Ints, Ints]]:
    across, along = _cut(np.ptp(ranks[some], axis=0), nodes[places], cuts)
    ordered = places[_sorted(nodes[places], along)]
    half = _half(nodes[ordered, along])
    lined = some[_sorted(ranks[some], across)]
    # As many ranks as is the first half's share, but no half may overflow.
    share = round(len(some) * half / len(places))
    count = min(max(share, len(some) - (len(places) - half) * slots), half * slots)
    yield lined[:count], ordered[:half]
    yield lined[count:], ordered[half:]


def _cut(rank_extents: Floats, nodes: Floats, cuts: Cuts) -> tuple[int, int]:
    """Return the grid dimension and the torus dimension that are cut."""
    extents = np.ptp(nodes, axis=0)
    if cuts.axes is None:
        return int(rank_extents.argmax()), int(extents.argmax())
    paired = extents[list(cuts.axes)]
    usable = np.where(paired > 0, rank_extents if cuts.lead_by_ranks else paired, -1.0)
    across = int(usable.argmax()) if usable.max() >= 0 else 0
    along = cuts.axes[across] if usable.max() >= 0 else int(extents.argmax())
    return across, along


def _sorted(points: Floats, dimension: int) -> Ints:
    """Return the indices of the points along one dimension; ties along the others in order."""
    others = [points[:, d] for d in reversed(range(points.shape[1])) if d != dimension]
    return np.lexsort((*others, points[:, dimension]))


def _half(positions: Floats) -> int:
    """Return where to cut sorted positions: between two planes within a fifth of the middle, else in the middle."""
    count = len(positions)
    steps = np.flatnonzero(np.diff(positions)) + 1
    if len(steps):
        nearest = int(steps[np.abs(steps - count / 2).argmin()])
        if abs(nearest - count / 2) <= count / 5 or count <= 3:
            return nearest
    return count // 2
