"""The order `hilbert`: the grid along its Hilbert curve onto the nodes along theirs.

Cells that are near in a box stay near in the list, in every dimension at once. Both nodes of a router count along Y.

J. Skilling, "Programming the Hilbert curve", AIP Conf. Proc. 707 (2004): coordinates to the transposed index, here for
all cells at once. A box that is not a cube of a power of two is taken as a part of the smallest one; the curve then
leaps over what is missing.
"""

from __future__ import annotations

from railyard.placements.arrays import Ints, np
from railyard.placements.orders.rank_orders import PlacementJob, RankOrder
from railyard.placements.orders.walks import inverse, row_major


def place(job: PlacementJob) -> Ints:
    """Return the node of each rank."""
    return inverse(along(row_major(job.grid)), job.along(along(job.allocation.cells)))


def along(cells: Ints) -> Ints:
    """Return the indices of cells in the order in which the curve through the smallest cube with all visits them.

    `cells` has shape (cells, dimensions).
    """
    bits = max(1, int(cells.max(initial=0)).bit_length())
    axes = cells.astype(np.int64).T.copy()
    # Skilling's transposed index, in place.
    for bit in range(bits - 1, 0, -1):
        high = np.int64(1) << bit
        low = high - 1
        for axis in axes:
            inverted = (axis & high) != 0
            exchanged = np.where(inverted, 0, (axes[0] ^ axis) & low)
            axes[0] ^= np.where(inverted, low, exchanged)
            axis ^= exchanged
    for axis, before in zip(axes[1:], axes[:-1], strict=True):
        axis ^= before
    parity = np.zeros_like(axes[0])
    for bit in range(bits - 1, 0, -1):
        parity ^= np.where(axes[-1] & (np.int64(1) << bit), (np.int64(1) << bit) - 1, 0)
    axes ^= parity
    # The index as one number: bit b of every axis, then bit b - 1 of every axis, ...
    numbers = np.zeros_like(axes[0])
    for bit in range(bits - 1, -1, -1):
        for axis in axes:
            numbers = (numbers << 1) | ((axis >> bit) & 1)
    return np.asarray(np.argsort(numbers, kind="stable"), dtype=np.int64)


ORDER = RankOrder(
    name="hilbert",
    does="the grid along its Hilbert curve onto the nodes along theirs",
    after="Skilling 2004",
    place=place,
    needs_coordinates=True,
    needs_grid=True,
    start=4,
)
