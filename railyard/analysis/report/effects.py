"""Set out how many times as fast each combination is as its case's baseline: one table, the largest effect first.

Models: a cell for each case and combination, of the case's first figure of merit that no figure of the benchmark's own
replaces. Cases with the same combinations share columns; where these are many, they become the rows. Leaves out: the
judgement (`railyard.analysis.cases.judgement`), markup.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from railyard.analysis.cases import comparison
from railyard.analysis.cases.judgement import Comparison
from railyard.analysis.stats.verdicts import Finding
from railyard.records.units import Better

#: More combinations than this are rows, and their cases columns.
_MOST_COLUMNS = 6
#: A sign for each finding, so that colour is never the only difference.
SIGNS = {Finding.BETTER: "\N{BLACK UP-POINTING TRIANGLE}", Finding.WORSE: "\N{BLACK DOWN-POINTING TRIANGLE}"}
OPEN = "\N{WHITE CIRCLE}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One combination of one case: how many times as fast as `baseline`, with the interval as text if there is one."""

    combination: str
    baseline: str
    case: int
    figure: str
    ratio: float
    between: str
    finding: Finding

    @property
    def text(self) -> str:
        """Return the sign and the ratio."""
        return f"{SIGNS.get(self.finding, OPEN)} {self.ratio:.2f}"

    @property
    def effect(self) -> float:
        """Return what sorts cells: the logarithm of the ratio, if a difference is shown."""
        return abs(math.log(self.ratio)) if self.finding in SIGNS else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """Cases that have the same combinations: names of columns, and rows with a cell for each column."""

    baseline: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Cell]]]


def short_name(combination: str) -> str:
    """Return a combination's name without the policy that sets nothing."""
    return combination.removesuffix(" + library-default")


def cells(number: int, title: str, members: Sequence[Comparison]) -> Iterator[Cell]:
    """Yield the cells of the comparisons of one figure of merit of a case."""
    for member in members:
        labels = comparison.label_text(member.labels) if len(members) > 1 else ""
        figure = ", ".join(filter(None, [f"{number}. {title}", member.fom.stem, labels]))
        for group in member.groups:
            if group.change_percent is None or group.change_percent <= -100 or member.fom.better is Better.NEITHER:
                continue
            low, high = (1 + bound / 100 for bound in group.change_interval or (-100, -100))  # 0 if not known
            value = 1 + group.change_percent / 100
            if member.fom.better is Better.LOWER:
                low, value, high = (1 / high if high else 0.0), 1 / value, (1 / low if low else 0.0)
            yield Cell(
                combination=short_name(group.name),
                baseline=short_name(member.baseline),
                case=number,
                figure=figure,
                ratio=value,
                between=f"{low:.2f} to {high:.2f}" if low and high else "no interval",
                finding=group.finding,
            )


def table(members: Sequence[Cell]) -> list[Effects]:
    """Return the cells as sections of a table; sections, rows and columns with the largest effects come first."""
    by_figure: dict[str, dict[str, Cell]] = {}
    for cell in members:
        by_figure.setdefault(cell.figure, {})[cell.combination] = cell
    by_names: dict[tuple[str, ...], list[str]] = {}
    for figure, of_figure in by_figure.items():
        key = (next(iter(of_figure.values())).baseline, *sorted(of_figure))
        by_names.setdefault(key, []).append(figure)
    sections = []
    for (baseline, *names), figures in by_names.items():
        of_names = {name: [by_figure[figure][name] for figure in figures] for name in names}
        of_figures = {figure: [by_figure[figure][name] for name in names] for figure in figures}
        heads, columns = map(_ordered, (of_figures, of_names))
        if is_long := len(names) > _MOST_COLUMNS:
            heads, columns = columns, heads
        rows = [
            (head, [by_figure[column][head] if is_long else by_figure[head][column] for column in columns])
            for head in heads
        ]
        sections.append(Effects(baseline=baseline, columns=columns, rows=rows))
    return sorted(sections, key=lambda section: -_largest([cell for _, row in section.rows for cell in row]))


def _ordered(members: Mapping[str, Sequence[Cell]]) -> list[str]:
    """Return the names of rows or columns, those with the largest effects first."""
    return sorted(members, key=lambda name: -_largest(members[name]))


def _largest(members: Sequence[Cell]) -> float:
    return max(cell.effect for cell in members)
