"""Quicksilver, a mini-application of Monte Carlo particle transport: segments per second under placements and policies.

The problem is CORAL-2's problem 1, a homogeneous box of fissile material with reflecting walls. LLNL's poster has MCB,
whose open successor this is. A run is verified by three of the program's own tests: ratios of reactions, balance of
collisions and facet crossings, no particle lost. Its fourth test, a homogeneous fluence, needs more particles than the
small scales have; the record holds its result as a parameter.
"""

from __future__ import annotations

import reframe as rfm
from reframe.core.builtins import run_after, variable

from checks.application import MiniAppCheck, variants

#: Particles per mesh element, as CORAL-2 prescribes for problem 1.
PARTICLES = 40
DECK = "problem1.inp"
PROBLEM = """\
Simulation:
   dt: 2e-09
   boundaryCondition: reflect
   seed: 1029384756
   eMin: 1e-09
   eMax: 20
   nGroups: 230
   lowWeightCutoff: 0.001
   coralBenchmark: 1

Geometry:
   material: sourceMaterial
   shape: brick
   xMin: 0
   xMax: 10000
   yMin: 0
   yMax: 10000
   zMin: 0
   zMax: 10000

Material:
   name: sourceMaterial
   mass: 12.011
   nIsotopes: 20
   nReactions: 9
   sourceRate: 1e+10
   totalCrossSection: 1.5
   absorptionCrossSection: flat
   absorptionCrossSectionRatio: 0.04
   fissionCrossSection: flat
   fissionCrossSectionRatio: 0.05
   scatteringCrossSection: flat
   scatteringCrossSectionRatio: 1

CrossSection:
   name: flat
   A: 0
   B: 0
   C: 0
   D: 0
   E: 1
   nuBar: 1.6
"""


@variants("strong", "profile", poster=["multirail", "mpi_time"])
class QuicksilverCheck(MiniAppCheck):
    """CORAL-2's problem 1 on a cube of domains; its reactions must balance and no particle may be lost."""

    descr = "Quicksilver: Monte Carlo particle transport on a cube of domains"
    benchmark = "quicksilver"
    program = "qs"
    package = "quicksilver"
    inputs = {DECK: PROBLEM}

    #: Edge of each rank's cube in mesh elements of 1 cm.
    sizes = {
        "weak": {"laptop": 4, "ci": 4, "node": 8, "rack": 8},
        "strong": {"laptop": 6, "ci": 4, "node": 16, "rack": 8},
    }

    #: Cycles; fewer than 10 leave the ratios of reactions to chance.
    steps = variable(int, value=10)

    @run_after("setup")
    def choose_options(self) -> None:
        """Give every rank a cube of `size` elements, and every element its particles."""
        self.parameters = {**self.parameters, "problem": 1, "steps": self.steps}
        ranks = list(self.grid)  # of this program's ranks Z counts fastest, so its X is the grid's first axis
        elements = [count * self.size for count in ranks]
        particles = PARTICLES * elements[0] * elements[1] * elements[2]
        words = [*zip("XYZ", elements, strict=True), *zip("xyz", elements, strict=True)]
        words += [*zip("IJK", ranks, strict=True), ("n", particles), ("N", self.steps)]
        self.options = ["-i", DECK, *(word for letter, value in words for word in (f"-{letter}", str(value)))]


@rfm.simple_test
class quicksilver_weak(QuicksilverCheck):
    """Weak scaling: the work per rank is fixed."""

    tags = {"coral", "coral2"}
