"""GPCNeT's own network_load_test, as an independent measurement of the network under load (docs/congestion.md).

All its victims and congestors are in one program, which divides the nodes by a random order of its own: a fifth for the
victims. So a placement changes little, and `plain` is the only one. On slow links its numbers of rounds have to be
smaller than its authors chose; they are in its source.
"""

from __future__ import annotations

import reframe as rfm

from checks.application import ApplicationCheck


@rfm.simple_test
class gpcnet(ApplicationCheck):
    """Latency and bandwidth of a random ring and an allreduce of 8 B, alone and under four congestors at once."""

    descr = "GPCNeT: victims and congestors in one program, and its impact factors"
    tags = {"gpcnet"}
    benchmark = "gpcnet"
    program = "network_load_test"
    torus = "dual-rail-small"
    placements = ["plain"]
    grid = [16]
    launches = 3
