"""Check a record strictly: for the evidence that a bid must hold, and for what the rest of the record determines.

Each rule is one function, and the first line of its docstring is its text in the documentation. `RULES` lists them;
`python -m railyard.records.rules` prints the table of the reference page. No rule can prove that the numbers were
measured: docs/tender.md lists the fields that nothing determines.
"""

from __future__ import annotations

from railyard.records.rules import (
    clock_digits,  # noqa: F401  # importing a module registers its rules
    code,  # noqa: F401
    commands,  # noqa: F401
    computed,  # noqa: F401
    declared,  # noqa: F401
    design,  # noqa: F401
    evidence,  # noqa: F401
    figures,  # noqa: F401
    health,  # noqa: F401
    known_keys,  # noqa: F401
    machine,  # noqa: F401
    nics,  # noqa: F401
    places,  # noqa: F401
    relations,  # noqa: F401
    times,  # noqa: F401
)
from railyard.records.rules.emulated import busiest_link, error_bound, guard, rate_scale  # noqa: F401
from railyard.records.rules.registry import RULES, Fault, Rule, faults, table

__all__ = ["RULES", "Fault", "Rule", "faults", "table"]
