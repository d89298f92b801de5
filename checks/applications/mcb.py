"""MCB, a mini-application of Monte Carlo particle transport that LLNL's poster has: a program that the user supplies.

Its licence forbids redistribution, so railyard neither fetches nor builds it; `-S programs=FOLDER` names the folder
with MCBenchmark.exe. The parser expects the output of version 20130723, and was never tested with the program itself.
`quicksilver_weak` runs its open successor.
"""

from __future__ import annotations

import math

from reframe.core.builtins import run_after

from checks.application import MiniAppCheck, variants
from railyard.applications.patterns import Figure, Limit, Patterns
from railyard.applications.reading import NUMBER

#: The reference run of its README: largest error against a diffusion solution, and particles. The error is statistical,
#: so that of n particles is expected to grow as 1/sqrt(n).
REFERENCE_ERROR, REFERENCE_PARTICLES = 0.0147, 10_240_000
#: How much larger an error may be than expected.
MARGIN = 3


def reading(particles: int) -> Patterns:
    """Return how the output of a run with so many particles is read."""
    most = MARGIN * REFERENCE_ERROR * math.sqrt(REFERENCE_PARTICLES / particles)
    return Patterns(
        program="MCB",
        version="20130723",
        figures={
            "tracks_per_s": Figure(pattern=rf" FOM ={NUMBER} tracks/second", unit="1/s", better="higher"),
            "advance_s": Figure(pattern=rf"MC advance time ={NUMBER}", unit="s", better="lower"),
        },
        verified="done!",
        limits={"MC max error": Limit(pattern=rf" MC max error ={NUMBER}", at_most=most)},
        parameters={"global_tracks": r" globalTracks=(\S+)"},
    )


@variants("weak", "strong", "profile", poster=["multirail", "mpi_time"])
class McbCheck(MiniAppCheck):
    """Particles from a distributed source through domains of a plane, ten cycles."""

    descr = "MCB: Monte Carlo particle transport on a plane of domains, for a program that the user supplies"
    benchmark = "mcb"
    program = "MCBenchmark.exe"
    decomposition = "plane"
    output = reading(REFERENCE_PARTICLES)  # with the run's own particles, once they are known
    threads = 1  # OpenMP is always compiled in, and would take every core for each rank

    #: Particles of each rank.
    sizes = {
        "weak": {"laptop": 5_000, "ci": 5_000, "node": 20_000, "rack": 20_000},
        "strong": {"laptop": 10_000, "ci": 5_000, "node": 40_000, "rack": 20_000},
    }

    @run_after("setup")
    def choose_options(self) -> None:
        """Set the particles of each rank, and the largest error that so many particles allow."""
        particles = self.size * math.prod(self.grid)
        self.output = reading(particles)
        self.options = [
            *("--weakScaling", "--distributedSource", "--multiSigma"),
            *("--nCores=1", f"--nThreadCore={max(self.threads, 1)}", f"--numParticles={self.size}"),
        ]
