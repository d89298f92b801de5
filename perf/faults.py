"""Measure how fast a fault takes effect, and the rates of its own link and of all others."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from perf import links
from railyard.torus.virtual import lifecycle
from railyard.torus.virtual.lifecycle import VirtualTorus

FAULTS = {
    "X+ 0,0,0>1,0,0": ["--lanes-lost", "1"],
    "X- 2,2,2>1,2,2": ["--lanes-lost", "1", "--of-tiles", "1/8"],
    "Y+ 1,0,3>1,1,3": ["--lanes-lost", "2"],
    "Y- 3,3,1>3,2,1": ["--lanes-lost", "1", "--of-tiles", "2/4"],
    "Z+ 0,1,0>0,1,1": ["--lanes-lost", "2", "--of-tiles", "4/8"],
}


def rates(torus: VirtualTorus, console: Console) -> list[dict[str, Any]]:
    """Measure every link of gemini-4x4x4 with five faults: the faulty ones, and the worst of the others."""
    took = {name: _seconds(torus.name, name, *arguments) for name, arguments in FAULTS.items()}
    hurt = lifecycle.get(torus.name)
    measured = links.measure(hurt)
    table = Table("link", "fault", "rate left", "measured", "error", "took effect in (s)", title="faults")
    rows = []
    for rate in measured:
        if rate.link.name in FAULTS:
            fault = " ".join(FAULTS[rate.link.name])
            left = hurt.faults.rate_gbyte_s(hurt.topology, rate.link) / rate.link.rate_gbyte_s
            seen = left * rate.measured_byte_s / rate.expected_byte_s
            row = {
                "link": rate.link.name,
                "fault": fault,
                "error_percent": rate.error_percent,
                "seconds": took[rate.link.name],
            }
            rows.append({**row, "seconds": took[rate.link.name]})
            numbers = [
                f"{left:.3f}",
                f"{seen:.3f}",
                f"{rate.error_percent:+.2f} %",
                f"{took[rate.link.name]:.2f}",
            ]
            table.add_row(rate.link.name, fault, *numbers)
    others = max((r.error_percent for r in measured if r.link.name not in FAULTS), key=abs)
    table.add_row(
        f"{len(measured) - len(FAULTS)} other links", "none", "1.000", "", f"{others:+.2f} % at worst", ""
    )
    console.print(table, "")
    return [*rows, {"link": "others", "error_percent": others}]


def _seconds(name: str, *arguments: str) -> float:
    """Return the seconds of the command, Python's start included. The fault is in effect when it returns."""
    start_s = time.monotonic()
    command = [str(Path(sys.executable).with_name("railyard")), "torus", "fault", name, *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - start_s
