"""Victims alone and under load, on the same nodes: impact factors after GPCNeT (Chunduri et al., SC'19), and copies.

Every check of the suite can be a victim (`-S loads=incast,alltoall`). Those here are GPCNeT's own victims, a halo, and
a machine filled with copies. docs/congestion.md is the guide.
"""

from __future__ import annotations

from typing import Any

import reframe as rfm
from reframe.core.builtins import run_after, variable

from checks.base import PlacedCheck, WindowCheck
from checks.halo import HaloCheck


class Pt2ptVictim(WindowCheck):
    """GPCNeT's random ring: a random cycle through all nodes, whose pairs transfer at the same time."""

    descr = "Pairs of a random ring, alone and under load"
    benchmark = "pt2pt"
    torus = "gemini-2x2x2"
    placements = ["plain"]
    loads = ["incast", "alltoall", "broadcast", "allreduce", "permutation"]
    window = 8

    #: What is measured: latency or bandwidth.
    #: :default: required
    test = variable(str)

    def case(self) -> dict[str, Any]:
        return {
            "pattern": "random",
            "tests": [self.test],
            "sizes_bytes": self.sizes,
            "window": self.window,
            "repeats": self.repeats,
        }


@rfm.simple_test
class congestion_latency(Pt2ptVictim):
    """One-way time of 8 B; each sample is one message there and back."""

    tags = {"congestion"}
    test = "latency"
    small = {"sizes": [8], "repeats": 60}
    standard = {"sizes": [8], "repeats": 1000}
    large = {"repeats": 10000}


@rfm.simple_test
class congestion_bandwidth(Pt2ptVictim):
    """Bandwidth of 128 KiB messages, eight in flight; all pairs begin each sample together."""

    tags = {"congestion"}
    test = "bandwidth"
    small = {"sizes": [4096], "repeats": 20}
    standard = {"sizes": [1 << 17], "repeats": 200}
    large = {"repeats": 1000}


@rfm.simple_test
class congestion_allreduce(PlacedCheck):
    """An allreduce of 8 B over all ranks of the victim."""

    descr = "Allreduce of 8 B, alone and under load"
    tags = {"congestion"}
    benchmark = "congestor"
    torus = "gemini-2x2x2"
    placements = ["plain"]
    loads = ["incast", "alltoall", "broadcast", "allreduce", "permutation"]

    #: Allreduces of a launch.
    #: :default: by `scale`
    rounds = variable(int, value=0)

    small = {"rounds": 200}
    standard = {"rounds": 10000}
    large = {"rounds": 60000}

    @run_after("setup")
    def choose_options(self) -> None:
        self.parameters = {"pattern": "allreduce", "size_bytes": 8, "rounds": self.rounds}
        self.options = self._options()


@rfm.simple_test
class congestion_halo(HaloCheck):
    """A halo exchange, alone, under each congestor, and under two at once."""

    valid_systems = ["+torus"]
    tags = {"congestion"}
    torus = "gemini-2x2x2"
    placements = ["plain"]
    loads = ["incast", "alltoall", "incast.permutation"]
    small = {"cells": 16, "repeats": 10}


@rfm.simple_test
class congestion_copies(HaloCheck):
    """The slowest of many copies of one program that fill a machine, compared with one copy alone."""

    valid_systems = ["+torus"]
    tags = {"congestion", "copies"}
    torus = "gemini-2x2x2"
    placements = ["plain"]
    loads = ["copies"]
    #: Many repeats, so that copies which start at different times overlap long enough.
    small = {"cells": 64, "repeats": 200}

    #: Nodes of a copy.
    victim_nodes = 2


@rfm.simple_test
class congestion_smoke(Pt2ptVictim):
    """Smoke test: runs everything in seconds, with too few launches for a result."""

    tags = {"smoke"}
    test = "latency"
    loads = ["alltoall"]
    small = {"sizes": [8], "repeats": 3}
    standard = {"sizes": [8], "repeats": 100}
    launches = 1
