"""Measure the noise of each core, and what an application that synchronises often loses by it."""

from __future__ import annotations

import reframe as rfm
from reframe.core.builtins import variable

from checks.base import RepeatedCheck


class NoiseCheck(RepeatedCheck):
    """Every rank repeats a fixed piece of work, alone and with an allreduce of 8 bytes after each piece."""

    descr = "Noise of each core by a fixed work quantum, and its amplification in an allreduce"
    benchmark = "noise"
    placements = ["plain"]
    # On a virtual torus it measures the processors that ranks share, so the guard of the network must not void it.
    network = "kernel"

    #: Undisturbed seconds of a piece of work.
    quantum_s = variable(float, value=0.001)

    #: Pieces of work, and allreduces, of a repeat.
    #: :default: by `scale`
    count = variable(int, value=0)

    small = {"count": 20, "repeats": 3}  # the ranks of a virtual torus share few cores
    standard = {"count": 1000, "repeats": 10}
    large = {"count": 10000, "repeats": 30}

    case_of = {"quantum_s": "quantum_s", "count": "count", "repeats": "repeats"}


@rfm.simple_test
class noise_cores(NoiseCheck):
    """Noise of all cores of all nodes."""

    tags = {"noise", "production"}


@rfm.simple_test
class noise_smoke(NoiseCheck):
    """Smoke test: runs everything in seconds, with too few launches for a result."""

    tags = {"smoke"}
    launches = 1
    small = {"count": 10}
