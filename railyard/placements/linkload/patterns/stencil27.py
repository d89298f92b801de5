"""The pattern `stencil27`: 3^D - 1 neighbours (MiniGhost; Pedretti et al., CUG'13, section VI)."""

from __future__ import annotations

from railyard.placements.linkload.traffic import TrafficPattern, stencil

PATTERN = TrafficPattern(
    name="stencil27",
    does="to the neighbours across faces, edges and corners",
    traffic=lambda grid, size_bytes, _: stencil(grid, size_bytes),
    in_groups=False,
)
