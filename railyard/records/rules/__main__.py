"""Print the table of rules for docs/formats.md."""

from __future__ import annotations

from railyard.records import rules

print(rules.table(), end="")
