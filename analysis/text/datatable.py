"""The numbers behind a figure, as text that page, files and tests share.

Leaves out: markup, matplotlib.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DataTable:
    """The numbers behind a figure as finished text; `numbers` names the columns that hold numbers."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: frozenset[str] = frozenset()
