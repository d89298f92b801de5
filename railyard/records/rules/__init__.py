"""Rules that work out again what a record says of itself: one rule, one function, one line of docs.

`RULES` has all of them. `python -m railyard.records.rules` prints the table; the reference page has it. What no rule
can know is that the numbers were measured: docs/tender.md lists the fields that nothing determines.
"""

from __future__ import annotations

from railyard.records.rules import code, commands, design, figures, guard, nics, places, times
from railyard.records.rules.registry import RULES, Fault, Rule, faults, table

__all__ = [
    "RULES",
    "Fault",
    "Rule",
    "code",
    "commands",
    "design",
    "faults",
    "figures",
    "guard",
    "nics",
    "places",
    "table",
    "times",
]
