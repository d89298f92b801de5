"""Latency and bandwidth between nodes by torus dimension and hops: Peña et al., EuroMPI'13, Figure 3."""

from __future__ import annotations

import reframe as rfm
from reframe.core.builtins import variable

from checks.base import REAL, SWEEP, WindowCheck


class HopsCheck(WindowCheck):
    """Ranks on the first node and on one node at each hop count along each axis; one pair at a time.

    A message size of 0 bytes is for latency alone.
    """

    descr = "Latency and bandwidth by dimension and hops"
    benchmark = "hops"
    placements = ["cart-create"]
    allocation = "axes"
    rate_scale = "auto*30"  # one pair at a time

    #: Pairs of nodes of each dimension and hop count, at most; one at a time. Their spread is in the record.
    #: :default: by `scale`
    pairs_per_point = variable(int, value=0)

    small = {"sizes": [0, 1 << 16], "repeats": 5, "window": 2, "pairs_per_point": 1}
    standard = {"sizes": [0, *SWEEP], "repeats": 20, "window": 64, "pairs_per_point": 8}
    large = {"repeats": 100}

    case_of = {"sizes_bytes": "sizes", **{name: name for name in ("window", "repeats", "pairs_per_point")}}


@rfm.simple_test
class hops_curve(HopsCheck):
    """Messages from 0 B to 128 KiB at every hop count."""

    studies = ["pena2013"]
    launches = 1
    small = {"sizes": [0, 1 << 13, 1 << 16, 1 << 17], "repeats": 3}


@rfm.simple_test
class hops_paper(HopsCheck):
    """Figure 3 at the paper's size, up to 12 hops along X and Z: simulated or measured."""

    valid_systems = ["+torus +simulated", REAL]
    studies = ["pena2013"]
    torus = "gemini-24x1x24"
    launches = 1
    small = {"sizes": [0, 1 << 20], "window": 16, "repeats": 1}
    standard = {"sizes": [0, 1 << 20], "repeats": 50, "launches": 6}


@rfm.simple_test
class hops_range(HopsCheck):
    """The paper's whole range, up to 12 hops along X and Z: 1,152 namespaces, a minute to bring up."""

    torus = "gemini-24x1x24"
    launches = 1
    small = {"sizes": [1 << 16], "repeats": 3}


@rfm.simple_test
class hops_smoke(HopsCheck):
    """Smoke test: runs everything in seconds, with too few launches for a result."""

    tags = {"smoke"}
    launches = 1
    small = {"sizes": [0, 1 << 10], "repeats": 3}
