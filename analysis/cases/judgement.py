"""A report's cases with their comparisons and curves, computed once for page, terminal and exports.

Models: which records form a case, and what each case shows, as one value that every format receives.
Leaves out: drawings, whose library is slow to load (`analysis.report.case_view`), and formats.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from analysis.cases import cases, comparison, curves
from analysis.cases.cases import Case
from analysis.cases.comparison import Comparison
from analysis.cases.curves import Panel
from railyard.records.record import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCase:
    """A case, the comparisons of its combinations, and its curves."""

    case: Case
    comparisons: tuple[Comparison, ...]
    panels: tuple[Panel, ...]


def judge(case: Case) -> JudgedCase:
    """Return a case with its comparisons and curves."""
    return JudgedCase(
        case=case, comparisons=tuple(comparison.comparisons(case)), panels=tuple(curves.panels(case))
    )


def judge_all(records: Iterable[Record]) -> tuple[JudgedCase, ...]:
    """Return the cases of records in the order of the page, each judged once."""
    return tuple(judge(case) for case in cases.group(records))
