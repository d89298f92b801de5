"""A check of one's own program: the ring of this repository, under the placement of the batch system."""

from __future__ import annotations

import reframe as rfm

from checks.application import MiniAppCheck
from railyard.applications.patterns import Figure, Patterns
from railyard.applications.reading import NUMBER


@rfm.simple_test
class ring(MiniAppCheck):
    """Blocks around a ring of eight ranks."""

    descr = "Ring: blocks from each rank to the next"
    benchmark = "ring"
    program = "ring"
    tags = {"smoke"}
    placements = ["plain"]
    sizes = {"weak": {"laptop": 8192}}
    arguments = "{size}"
    decomposition = "chain"
    output = Patterns(
        program="ring",
        figures={"time_s": Figure(pattern=rf"time: {NUMBER} s", unit="s", better="lower")},
        ranks=r"ranks: (\d+)",
        verified=r"blocks are right",
    )
