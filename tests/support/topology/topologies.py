"""Make topologies in one line, and traffic as of programs that number their ranks in their own way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from railyard.placements.linkload.traffic import Traffic
from railyard.placements.topology.base import LinkClass
from railyard.placements.topology.torus import Dimension, Torus

RATES: dict[str, float] = {
    LinkClass.MEZZANINE: 2.34,
    LinkClass.BACKPLANE: 1.88,
    LinkClass.CABLE: 1.17,
    LinkClass.HOST: 1.33,
}


def gemini(extents: str, nodes_per_router: int = 1, rails: int = 1) -> Torus:
    """Return a Gemini torus from one line: gemini("4x2x3")."""
    x, y, z = map(int, extents.split("x"))
    alternating = (LinkClass.MEZZANINE, LinkClass.CABLE)
    cage = (LinkClass.BACKPLANE,) * 7 + (LinkClass.CABLE,)
    return Torus(
        name=f"gemini-{extents}",
        dimensions=(
            Dimension(extent=x, tiles=8, pattern=(LinkClass.CABLE,)),
            Dimension(extent=y, tiles=4, pattern=alternating),
            Dimension(extent=z, tiles=8, pattern=cage),
        ),
        tile_rates_gbyte_s=RATES,
        host_tiles=8,
        nodes_per_router=nodes_per_router,
        rails=rails,
    )


def renumbered(sent: Traffic, seed: int) -> Traffic:
    """Return traffic as of a captured program, whose ranks are numbered at random."""
    number = np.random.default_rng(seed).permutation(sent.ranks).astype(np.int32)
    return replace(sent, source=number[sent.source], target=number[sent.target], is_measured=True)
