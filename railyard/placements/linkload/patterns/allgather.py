"""The pattern `allgather`: the ring algorithm, by which a block reaches every other of n ranks in n - 1 steps."""

from __future__ import annotations

from railyard.placements.linkload.traffic import TrafficPattern, ring

PATTERN = TrafficPattern(
    name="allgather",
    does="n - 1 blocks to the next of a group of n",
    traffic=lambda grid, size_bytes, within: ring(grid, within, lambda n: size_bytes[0] * (n - 1)),
)
