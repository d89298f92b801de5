"""Rules that compute again what a record contains, wherever other fields of the record determine it.

Each rule is one function, and the first line of its docstring is its text in the documentation. `RULES` lists them;
`python -m railyard.records.rules` prints the table of the reference page. No rule can prove that the numbers were
measured: docs/tender.md lists the fields that nothing determines.
"""

from __future__ import annotations

from railyard.records.rules import (
    code,
    commands,
    computed,
    declared,
    design,
    figures,
    guard,
    nics,
    places,
    relations,
    times,
)
from railyard.records.rules.registry import RULES, Fault, Rule, faults, table

__all__ = [
    "RULES",
    "Fault",
    "Rule",
    "code",
    "commands",
    "computed",
    "declared",
    "design",
    "faults",
    "figures",
    "guard",
    "nics",
    "places",
    "relations",
    "table",
    "times",
]
