"""Count false alarms and detections of the gate of references over made-up histories (`analysis.references.simulated`).

Models: 40 variables and 1, launch noise 1 %, run-to-run spreads of 1 and 2 %, independent for each variable or
shared by all, after 10 good records and after 1. Leaves out: real machines.
"""

from __future__ import annotations

import itertools
from typing import Any

from rich.console import Console
from rich.table import Table

from analysis.references import simulated
from analysis.references.simulated import Machine

HISTORIES = 60
MACHINES = [
    *(
        Machine(variables=40, launch_noise=0.01, run_to_run=spread, is_shared=is_shared)
        for spread in (0.01, 0.02)
        for is_shared in (False, True)
    ),
    Machine(variables=1, launch_noise=0.01, run_to_run=0.01),
]


def measure(console: Console) -> list[dict[str, Any]]:
    """Print the share of histories, or of variables, for each machine and trial."""
    table = Table(
        "variables", "run to run", "records before", *simulated.TRIALS, title=f"{HISTORIES} histories"
    )
    rows = []
    for machine, records in itertools.product(MACHINES, (10, 1)):
        shares = simulated.shares(machine, histories=HISTORIES, records=records)
        spread = f"{machine.run_to_run:.0%}{', shared' if machine.is_shared else ''}"
        percents = (f"{share:.1%}" for share in shares.values())
        table.add_row(str(machine.variables), spread, str(records), *percents)
        rows.append({"variables": machine.variables, "run_to_run": spread, "records": records, **shares})
    console.print(table)
    return rows
