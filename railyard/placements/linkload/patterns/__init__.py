"""Traffic patterns: `PATTERN` of a module, or each of `PATTERNS`, is a `TrafficPattern` of `linkload.traffic`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from railyard.base.members import members
from railyard.placements.linkload.traffic import Grid, Traffic, TrafficPattern
from railyard.placements.topology.torus import DIMENSIONS


@cache
def patterns() -> Mapping[str, TrafficPattern]:
    """Return the patterns by name, stencils first, shorter names (`stencil6`) before longer ones (`stencil27`)."""
    ordered = sorted(members(__name__, "PATTERN", "PATTERNS"), key=lambda one: (one.in_groups, len(one.name), one.name))
    return {pattern.name: pattern for pattern in ordered}


def make(pattern: str, grid: Grid, *, size_bytes: tuple[float, ...], within: str = "") -> Traffic:
    """Return the traffic of a pattern by its name; its groups are the whole grid unless `within` names dimensions.

    Raises InputError for a `within` that is not some of the grid's dimensions, or more messages than fit in memory.
    """
    return patterns()[pattern].traffic(grid, size_bytes, within or DIMENSIONS[: len(grid)])
