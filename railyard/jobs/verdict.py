"""Decide whether a check fails by its job's record: a launch failed or is void, or nothing was measured. Pure.

A placement that the granted nodes do not allow is no failure. It is recorded as not measured, with the reason, and the
check is judged by the launches of the other placements.
"""

from __future__ import annotations

from collections.abc import Collection

from railyard.records.record import Record, Status


def fault(record: Record, not_on_these_nodes: Collection[str]) -> str:
    """Return what is wrong with a record, in one line; empty where the check passes.

    `not_on_these_nodes` are the placements that the granted nodes do not allow.
    """
    void = [launch for launch in record.launches if launch.is_void and launch.guard]
    excused = [
        launch
        for launch in record.launches
        if launch.status is Status.NOT_MEASURED and launch.placement in not_on_these_nodes
    ]
    wrong = sum(launch.status is not Status.OK for launch in record.launches) > len(excused)
    if wrong or not record.launches:
        return record.reason
    if len(excused) == len(record.launches):
        return f"nothing was measured: {record.reason}"
    reasons = "; ".join(void[0].guard.reasons) if void and void[0].guard else ""
    return f"launch {void[0].index} is void: {reasons}" if void else ""
