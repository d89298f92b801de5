"""Count false alarms and detections of the gate (`support.records.histories`) over made-up histories.

Models: 1, 16 and 48 variables on quiet machines (run-to-run spreads of 1 and 2 %, each variable's own or common to
all), on hosted runners whose machines differ by 5 and 10 % from run to run, and on two kinds of machine that are 8 %
apart, which records name or not; after 10 good records. Leaves out: real machines.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rich.table import Table
from support.records import histories
from support.records.histories import Machine

from perf.vtorus import console

HISTORIES, RECORDS = 100, 10
_QUIET = Machine(variables=1, launch_noise=0.01, run_to_run=0.01)
_HOSTED = Machine(variables=1, launch_noise=0.02, run_to_run=0.01)
MACHINES = [
    replace(machine, variables=variables)
    for variables in (1, 16, 48)
    for machine in (
        _QUIET,
        replace(_QUIET, run_to_run=0.0, common=0.01),
        replace(_QUIET, run_to_run=0.02),
        replace(_HOSTED, common=0.05),
        replace(_HOSTED, common=0.10),
        replace(_HOSTED, apart=0.08),
        replace(_HOSTED, apart=0.08, is_named=True),
    )
]


def measure() -> list[dict[str, Any]]:
    """Print the share of histories, or of variables, for each machine and trial."""
    table = Table(
        "variables", "run to run", "records before", *histories.TRIALS, title=f"{HISTORIES} histories"
    )
    rows = []
    for machine in MACHINES:
        shares = histories.shares(machine, histories=HISTORIES, records=RECORDS)
        spread = f"{machine.run_to_run:.0%}, common {machine.common:.0%}"
        spread += f", kinds {machine.apart:.0%} apart{', named' * machine.is_named}" if machine.apart else ""
        percents = (f"{share:.1%}" for share in shares.values())
        table.add_row(str(machine.variables), spread, str(RECORDS), *percents)
        rows.append({"variables": machine.variables, "run_to_run": spread, "records": RECORDS, **shares})
    console.print(table)
    return rows
