"""A table of finished text, which page, files, terminal and tests share.

Leaves out: markup, matplotlib.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DataTable:
    """Columns and rows of finished text; `numbers` names the columns that hold numbers."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: frozenset[str] = frozenset()

    def lines(self) -> Iterator[str]:
        """Yield the header and the rows in aligned columns, numbers to the right; the last column is not padded."""
        table = (self.columns, *self.rows)
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        for row in table:
            cells = [
                cell.rjust(width) if name in self.numbers else cell.ljust(width)
                for cell, width, name in zip(row, widths, self.columns, strict=True)
            ]
            yield "  ".join(cells).rstrip()
