"""MiniGhost's remapping at scale, by the link-load model: Pedretti et al., CUG'13, Figures 6 and 7."""

from __future__ import annotations

import reframe as rfm
from reframe.core.builtins import run_after, variable

from checks.base import PlacedCheck


@rfm.simple_test
class minighost_remap(PlacedCheck):
    """131,072 ranks of a 27-point stencil, 16 a node: as a row of the grid, as 2x2x4, and at random."""

    descr = "Bytes that the routers inject and the busiest link, 27-point stencil, default order and remapped"
    benchmark = "minighost"
    valid_systems = ["+modelled"]
    studies = ["pedretti2013"]
    torus = "cielo"
    placements = ["cart-create", "blocks:2x2x4", "random:1"]
    ranks_per_node = 16
    grid = [32, 64, 64]
    launches = 1

    #: Local cells (doubles) of each rank in each dimension.
    #:
    #: :type: :class:`int`
    #: :default: ``64``
    cells = variable(int, value=64)

    @run_after("setup")
    def choose_options(self) -> None:
        cells = [self.cells] * 3
        self.parameters = {"grid": self.grid, "cells": cells}
        self.options = [
            *("--grid", "x".join(map(str, self.grid))),
            *("--cells", "x".join(map(str, cells))),
        ]
