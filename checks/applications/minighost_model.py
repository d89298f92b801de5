"""MiniGhost's remapping at scale, by the link-load model: Pedretti et al., CUG'13, Figures 6 and 7."""

from __future__ import annotations

import math

import reframe as rfm
from reframe.core.builtins import parameter, run_after, variable

from checks.base import PlacedCheck


class StencilModel(PlacedCheck):
    """A 27-point stencil with 16 ranks per node on Cielo."""

    descr = "Bytes that the routers inject and the busiest link, 27-point stencil, default order and remapped"
    benchmark = "minighost"
    valid_systems = ["+modelled"]
    studies = ["pedretti2013"]
    torus = "cielo"
    placements = ["cart-create", "blocks:2x2x4", "random:1"]
    ranks_per_node = 16
    launches = 1

    #: Local cells (doubles) of each rank in each dimension.
    cells = variable(int, value=64)

    @run_after("setup")
    def choose_options(self) -> None:
        cells = [self.cells] * 3
        self.parameters = {"grid": self.grid, "cells": cells}
        self.options = [*("--grid", "x".join(map(str, self.grid))), *("--cells", "x".join(map(str, cells)))]


@rfm.simple_test
class minighost_remap(StencilModel):
    """131,072 ranks, with the 16 ranks of a node as a row of the grid, as a block of 2x2x4, or at random."""

    grid = [32, 64, 64]


@rfm.simple_test
class minighost_half_routers(StencilModel):
    """The paper's own allocation: 8,192 nodes on 4,118 routers, so that routers differ in what they inject."""

    grid = [32, 64, 64]
    placements = [f"{order}@half-routers:44" for order in ("cart-create", "blocks:2x2x4", "random:1")]


@rfm.simple_test
class minighost_scaling(StencilModel):
    """The paper's weak scaling: the first nodes of ALPS's walk, from 1,024 to 131,072 ranks."""

    #: Ranks altogether: powers of two from 1,024.
    rank_count = parameter([1 << power for power in range(10, 18)])

    @run_after("init")
    def choose_grid(self) -> None:
        """Double the last, the middle and the first side in turn, from 8x8x16 on."""
        self.grid = [8, 8, 16]
        while math.prod(self.grid) < self.rank_count:
            shortest = min(self.grid)
            place = max(k for k, side in enumerate(self.grid) if side == shortest)
            self.grid[place] *= 2
