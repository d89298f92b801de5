"""Print the table of rules: what `railyard results check --strict` demands."""

from __future__ import annotations

from railyard.records import rules

print(rules.table(), end="")
