"""HPCCG as a site would add it: one file, outside of railyard's checks (docs/applications.md, tests)."""

from __future__ import annotations

import reframe as rfm

from checks.application import MiniAppCheck
from railyard.applications.patterns import Figure, Limit, Patterns
from railyard.applications.reading import NUMBER

INITIAL = rf"Initial Residual = {NUMBER}"
FINAL = rf"Final residual: {NUMBER}"


@rfm.simple_test
class hpccg_weak(MiniAppCheck):  # noqa: N801
    """Conjugate gradients on a chain of blocks; the same block for every rank."""

    descr = "HPCCG: conjugate gradients on a chain of blocks"
    benchmark = "hpccg"
    program = "test_HPCCG"
    sizes = {"weak": {"laptop": 24, "ci": 24, "node": 64, "rack": 64}}  # noqa: RUF012
    arguments = "{size} {size} {size}"
    decomposition = "chain"
    placements = ["plain", "random"]  # noqa: RUF012
    output = Patterns(
        program="HPCCG",
        figures={
            "total_mflop_s": Figure(pattern=rf"MFLOPS Summary: *\n  Total   : {NUMBER}", unit="MFLOPS", better="higher")
        },
        ranks=r"  Number of MPI ranks: (\d+)",
        limits={"final residual": Limit(pattern=FINAL, at_most=1e-9, share_of=INITIAL)},
        parameters={"iterations": r"Number of iterations: (\d+)"},
    )
