"""The pattern `stencil6`: a halo exchange across faces, with 2 D neighbours in D dimensions."""

from __future__ import annotations

from railyard.placements.linkload.traffic import TrafficPattern, stencil

PATTERN = TrafficPattern(
    name="stencil6",
    does="to the neighbours across faces",
    traffic=lambda grid, size_bytes, _: stencil(grid, size_bytes[:1]),
    in_groups=False,
)
