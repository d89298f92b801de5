"""Halo exchange under several rank placements: Peña et al., EuroMPI'13, Figure 6."""

from __future__ import annotations

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.builtins import run_after, variable

from checks.base import PlacedCheck


class HaloCheck(PlacedCheck):
    """One rank a node, on a grid like the torus; sizes that the virtual torus carries in seconds."""

    descr = "Halo exchange with six faces, one rank a node on a grid like the torus"
    benchmark = "halo"

    #: Local cells (doubles) of each rank in each dimension.
    #:
    #: :type: :class:`int`
    #: :default: ``64`` (faces of 32 KiB)
    cells = variable(int, value=64)

    #: Ways to exchange: manual, datatypes, neighbours; copy packs alone.
    #:
    #: :type: :class:`List[str]`
    #: :default: ``['manual']``
    variants = variable(typ.List[str], value=["manual"])

    #: Timed iterations of each variant in each launch.
    #:
    #: :type: :class:`int`
    #: :default: ``4``
    repeats = variable(int, value=4)

    @run_after("setup")
    def choose_options(self) -> None:
        cells = [self.cells] * len(self.grid)
        self.parameters = {
            "grid": self.grid,
            "cells": cells,
            "variants": self.variants,
            "repeats": self.repeats,
        }
        self.options = [
            *("--grid", "x".join(map(str, self.grid))),
            *("--cells", "x".join(map(str, cells))),
            *("--variants", ",".join(self.variants)),
            *("--repeats", str(self.repeats)),
            *("--warmups", "1"),
        ]


@rfm.simple_test
class halo_3d(HaloCheck):
    """The study: enough launches for a 95 % interval."""

    studies = ["pena2013"]


@rfm.simple_test
class halo_variants(HaloCheck):
    """The ways to exchange against each other, on one placement."""

    placements = ["custom"]
    variants = ["manual", "datatypes", "neighbours"]
    launches = 2


@rfm.simple_test
class halo_smoke(HaloCheck):
    """The whole path in seconds; too few launches to compare placements."""

    tags = {"smoke"}
    placements = ["cart-create", "custom"]
    launches = 1
    cells = 32
    repeats = 3
