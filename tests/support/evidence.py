"""Records that pass the strict check: enough launches, a guard's word, NIC bytes, a clean commit."""

from __future__ import annotations

import dataclasses
from typing import Any

from railyard.records.assemble import LaunchRun
from railyard.records.record import Record, Verdict
from support import synthetic

POLICIES = ["library-default", "local-nic"]


def with_evidence(run: LaunchRun, document: dict[str, Any]) -> LaunchRun:
    """What the torus says of a launch: the guard's word and each NIC's bytes."""
    nics = [
        {"node": rank["host"], "nic": "rail0", "tx_bytes": 4096, "rx_bytes": 4096}
        for rank in document["ranks"]
    ]
    guard = {"verdict": "ok", "reasons": [], "cpu_busy_percent": 40.0}
    return dataclasses.replace(run, guard=guard, nics=nics, nic_verdict=Verdict.OBEYED)


def good(*, seed: int = 1, launches: int = 6, **changes: Any) -> Record:
    """A small halo job, two placements and two NIC policies."""
    speed = {"plain": 1.0, "custom": 0.9}
    case = synthetic.case(
        extents=[2, 1, 1], placements=list(speed), nic_policies=POLICIES, launches_per_combination=launches
    )
    made = {"change": with_evidence, **changes}
    return synthetic.job(case, synthetic.halo_series(speed), seed=seed, **made)
