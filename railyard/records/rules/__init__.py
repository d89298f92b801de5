"""Check a record strictly: for the evidence that a bid must hold, and for what the rest of the record determines.

Each rule is one function, and the first line of its docstring is its text in the documentation. `RULES` lists those of
all modules of this folder; `python -m railyard.records.rules` prints the table of the reference page. No rule can prove
that the numbers were measured: docs/tender.md lists the fields that nothing determines.
"""

from __future__ import annotations

import importlib
import pkgutil

from railyard.records.rules.registry import RULES, Fault, Rule, faults, table

__all__ = ["RULES", "Fault", "Rule", "faults", "table"]

for _module in pkgutil.walk_packages(__path__, f"{__name__}."):
    if not _module.name.endswith("__main__"):
        importlib.import_module(_module.name)  # which registers its rules
