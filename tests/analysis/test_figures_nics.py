"""The figure of what each NIC carried: which launches it counts, and when there is none."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

from support import synthetic

from railyard.analysis.cases import cases
from railyard.analysis.figures import nics as figures_nics
from railyard.records.assemble import LaunchRun
from railyard.records.folded import nic_bytes
from railyard.records.record import Record, Verdict

SENT_BYTES = {"round-robin": (500, 500), "nic-1": (0, 2000)}


def counted(run: LaunchRun, document: dict[str, Any], rails: int = 2) -> LaunchRun:
    """A launch whose two nodes sent what its policy says, twice as much from the second node."""
    nics = [
        {"node": node, "nic": f"nic{rail}", "tx_bytes": factor * SENT_BYTES[run.nic_policy][rail], "rx_bytes": 0}
        for (node, factor), rail in itertools.product((("n-0-0-0", 1), ("n-1-0-0", 2)), range(rails))
    ]
    return dataclasses.replace(run, nics=nic_bytes.of_rows(nics), nic_verdict=Verdict.OBEYED)


def halo(**changes: Any) -> Record:
    asked = synthetic.case(
        placements=["plain"], nic_policies=list(SENT_BYTES), launches_per_combination=2, extents=[2, 1, 1]
    )
    series = [{"fom": "iteration_us", "labels": {}, "samples": [5.0]}]
    return synthetic.job(asked, lambda *_: series, **changes)


def test_each_policy_has_the_share_of_every_nic_and_its_proof() -> None:
    (case,) = cases.group([halo(change=counted)])
    (drawn,) = figures_nics.drawings(case)
    assert drawn.statement == (
        "round-robin sent 50.0 % through nic0, 50.0 % through nic1 (obeyed in 2 of 2); "
        "nic-1 sent 0.0 % through nic0, 100.0 % through nic1 (obeyed in 2 of 2)."
    )
    assert all(drawn.data.columns)
    assert drawn.data.rows[3] == ("nic-1", "nic1", "100.00", f"{6000 / 2**20:.3f}", "2", "2")


def test_nodes_with_one_nic_or_no_evidence_have_no_figure() -> None:
    (one,) = cases.group([halo(change=lambda run, document: counted(run, document, rails=1))])
    (none,) = cases.group([halo()])
    assert figures_nics.drawings(one) == []
    assert figures_nics.drawings(none) == []
