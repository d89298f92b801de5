"""Measure how much the same run differs from one set of nodes to another, and give a verdict on it.

Models: an allocation is the set of nodes that a job had. Within an allocation launches differ by chance; between
allocations also by the nodes, their cables and their neighbours. The Kruskal-Wallis test shows whether allocations
differ at all, and Holm's correction counts the rows. The spread shows how much: the relative standard deviation of the
allocations' medians, with its upper 95 % limit, because a few allocations may be alike by chance. Leaves out: which
node is to blame (`topobw`, the table of outliers on a case's page).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import scipy.stats

from railyard.analysis.compare.sides import Side
from railyard.analysis.over import series
from railyard.analysis.over.series import DatedRow
from railyard.analysis.stats import contrast, medians
from railyard.records import comparable, json_io
from railyard.records.json_io import Json
from railyard.records.store.entries import Entry

#: The spread between allocations that is called steady, in percent.
LIMIT_PERCENT = 5.0
#: The fewest launches of an allocation that count in the test.
FEWEST = 3


class Steadiness(StrEnum):
    """The verdict on the spread between allocations."""

    STEADY = "steady"
    VARIABLE = "variable"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A row with its allocations: their medians' extremes and spread, the spread of launches within, and the verdict.

    `p_holm` is None where no test could be made. Percentages are relative standard deviations; `upper_percent` is the
    upper 95 % limit of `between_percent`.
    """

    row: DatedRow
    allocations: int
    lowest: float
    highest: float
    between_percent: float | None
    upper_percent: float | None
    within_percent: float | None
    p_holm: float | None
    verdict: Steadiness


def spreads(
    entries: Iterable[Entry],
    side: Side | None = None,
    foms: Sequence[str] = (),
    limit_percent: float = LIMIT_PERCENT,
) -> list[Spread]:
    """Return every row that at least two allocations have."""
    rows = [(row, _by_allocation(row)) for row in series.series_of(entries, _shared, side, foms)]
    several = [(row, values) for row, values in rows if len(values) > 1]
    p_values = [_p_value(values) for _, values in several]
    adjusted = iter(contrast.holm([p_value for p_value in p_values if p_value is not None]))
    return [
        _spread(row, values, None if p_value is None else next(adjusted), limit_percent)
        for (row, values), p_value in zip(several, p_values, strict=True)
    ]


def _shared(setting: Mapping[str, Json]) -> str:
    return json_io.canonical({name: setting[name] for name in comparable.ALLOCATIONS_ROW})


def _by_allocation(row: DatedRow) -> list[list[float]]:
    """Return the launches' values of each allocation that is known."""
    by_allocation: dict[str, list[float]] = {}
    for point in row.points:
        if allocation := point.entry.own["allocation"]:
            by_allocation.setdefault(allocation, []).extend(point.values)
    return list(by_allocation.values())


def _p_value(values: Sequence[Sequence[float]]) -> float | None:
    enough = [launches for launches in values if len(launches) >= FEWEST]
    if len(enough) < 2 or len({value for launches in enough for value in launches}) < 2:
        return None
    return float(scipy.stats.kruskal(*enough).pvalue)


def _spread(
    row: DatedRow, values: Sequence[Sequence[float]], p_holm: float | None, limit_percent: float
) -> Spread:
    middles = [statistics.median(launches) for launches in values]
    between = medians.spread_percent(middles)
    upper = None if between is None else between * _upper_factor(len(middles))
    within = [percent for launches in values if (percent := medians.spread_percent(launches)) is not None]
    return Spread(
        row=row,
        allocations=len(values),
        lowest=min(middles),
        highest=max(middles),
        between_percent=between,
        upper_percent=upper,
        within_percent=statistics.median(within) if within else None,
        p_holm=p_holm,
        verdict=_verdict(between, upper, p_holm, limit_percent),
    )


def _upper_factor(n: int) -> float:
    """Return upper one-sided 95 % limit / estimate of a standard deviation that is estimated from n normal values."""
    return math.sqrt((n - 1) / float(scipy.stats.chi2.ppf(1 - contrast.CONFIDENCE, n - 1)))


def _verdict(
    between: float | None, upper: float | None, p_holm: float | None, limit_percent: float
) -> Steadiness:
    """Return steady if the upper limit of the spread is within the limit, variable if allocations differ by more."""
    if between is None or upper is None:
        return Steadiness.CANNOT_TELL
    if upper <= limit_percent:
        return Steadiness.STEADY
    is_variable = between > limit_percent and p_holm is not None and p_holm <= contrast.ALPHA
    return Steadiness.VARIABLE if is_variable else Steadiness.CANNOT_TELL
