"""The pattern `allreduce`: the ring algorithm, by which n ranks reduce a vector (a block) and then gather it."""

from __future__ import annotations

from railyard.placements.linkload.traffic import TrafficPattern, ring

PATTERN = TrafficPattern(
    name="allreduce",
    does="2 (n - 1) / n of a block to the next of a group of n",
    traffic=lambda grid, size_bytes, within: ring(grid, within, lambda n: size_bytes[0] * (n - 1) * (2 / n)),
)
