"""Check a record strictly: for the evidence that a bid must hold, and for what the rest of the record determines.

Each rule is one function, and the first line of its docstring is its text in the documentation. `RULES` lists those of
all modules of this folder; docs/reference has their table. No rule can prove that the numbers were measured:
docs/tender.md lists the fields that nothing determines.
"""

from __future__ import annotations

import importlib
import pkgutil

from railyard.records.rules.registry import RULES, Fault, Rule, faults

__all__ = ["RULES", "Fault", "Rule", "faults"]

for _module in pkgutil.walk_packages(__path__, f"{__name__}."):
    importlib.import_module(_module.name)  # which registers its rules
