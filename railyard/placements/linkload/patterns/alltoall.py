"""The pattern `alltoall`: every pair of ranks of a group exchanges blocks."""

from __future__ import annotations

from railyard.base.errors import InputError
from railyard.placements.linkload.traffic import Grid, Traffic, TrafficPattern, groups, shifted

MAX_MESSAGES = 60_000_000


def traffic(grid: Grid, size_bytes: tuple[float, ...], within: str) -> Traffic:
    """Return a message for every pair; InputError for more of them than fit in memory."""
    grouped = groups(grid, within)
    size = grouped.shape[1]
    if grouped.size * (size - 1) > MAX_MESSAGES:
        most = MAX_MESSAGES // grouped.size + 1
        raise InputError("--within", "", within, f"groups of at most {most} ranks")
    return shifted(grouped, range(1, size), size_bytes[0])


PATTERN = TrafficPattern(name="alltoall", does="a block to every other of a group", traffic=traffic)
