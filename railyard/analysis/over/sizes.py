"""Compute weak and strong scaling of one program on one machine, with speedup and efficiency.

Models: records of one check that differ in their ranks. Weak: every rank has the same work, and the efficiency of a
time is T(first) / T. Strong: all ranks together have the same work, and the speedup is T(first) / T, the efficiency
speedup times first ranks over ranks. A rate of the whole program counts per rank. Whether a check is weak or strong
is its parameter `scaling`; a check with `cells` of each rank is weak. Leaves out: other programs, fits, prediction.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from railyard.analysis.compare.sides import Side
from railyard.analysis.over import series
from railyard.analysis.over.series import DatedPoint, DatedRow
from railyard.records import comparable, json_io
from railyard.records.json_io import Json
from railyard.records.store.entries import Entry

#: Rates of a whole program, which grow with its ranks.
OF_A_PROGRAM = frozenset({"operation rate", "zone rate"})
#: Parameters that follow from the number of ranks.
_SIZED = frozenset({"grid", "size"})
#: Work of a rank whose cube has an edge of `size`.
_DIMENSIONS = 3


class Scaling(StrEnum):
    """Which work is fixed: a rank's, or that of all ranks."""

    WEAK = "weak"
    STRONG = "strong"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One number of ranks. `efficiency` is 1 for the fewest ranks; `low` and `high` are of the records' values."""

    ranks: int
    nodes: int
    records: int
    median: float
    low: float
    high: float
    speedup: float | None
    efficiency: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaled:
    """A row with a step for each number of ranks, fewest first."""

    row: DatedRow
    scaling: Scaling
    steps: tuple[Step, ...]


def scaled(entries: Iterable[Entry], side: Side | None = None, foms: Sequence[str] = ()) -> list[Scaled]:
    """Return every row of a time, or of a program's rate, with at least two numbers of ranks."""
    families = []
    for row in series.series_of(entries, _shared, side, foms):
        scaling = scaling_of(row.setting)
        measures = row.key.fom.unit.measures
        if scaling is None or (measures != "time" and measures not in OF_A_PROGRAM):
            continue
        steps = _steps(row, scaling, is_rate=measures != "time")
        if len(steps) > 1:
            families.append(Scaled(row=row, scaling=scaling, steps=steps))
    return families


def scaling_of(setting: Mapping[str, Json]) -> Scaling | None:
    """Return which work is fixed; None if the parameters do not determine it."""
    parameters = setting["parameters"]
    named = parameters.get("scaling")
    if named in set(Scaling):
        return Scaling(named)
    return Scaling.WEAK if "cells" in parameters else None


def _shared(setting: Mapping[str, Json]) -> str | None:
    """Return what a family shares: for strong scaling the work of all ranks, for weak that of a rank."""
    scaling, ranks, parameters = scaling_of(setting), setting["ranks"], setting["parameters"]
    if scaling is None or not ranks:
        return None
    size = parameters.get("size", 0)
    if type(size) is not int:
        return None
    work = size**_DIMENSIONS * (ranks if scaling is Scaling.STRONG else 1)
    fixed = {name: value for name, value in parameters.items() if name not in _SIZED}
    parts = {name: setting[name] for name in comparable.SIZES_ROW}
    return json_io.canonical(
        {**parts, "parameters": fixed, "work": str(work), "per node": ranks / setting["nodes"]}
    )


def _steps(row: DatedRow, scaling: Scaling, *, is_rate: bool) -> tuple[Step, ...]:
    by_ranks: dict[int, list[DatedPoint]] = {}
    for point in row.points:
        by_ranks.setdefault(point.setting["ranks"], []).append(point)
    steps: list[Step] = []
    first, fewest = 0.0, 0
    for ranks in sorted(by_ranks):
        points = by_ranks[ranks]
        values = [point.value for point in points]
        median = statistics.median(values)
        if not steps:
            first, fewest = median, ranks
        speedup, efficiency = _ratios(first, median, ranks / fewest, scaling, is_rate=is_rate)
        steps.append(
            Step(
                ranks=ranks,
                nodes=points[0].setting["nodes"],
                records=len(points),
                median=median,
                low=min(values),
                high=max(values),
                speedup=speedup,
                efficiency=efficiency,
            )
        )
    return tuple(steps)


def _ratios(
    first: float, value: float, growth: float, scaling: Scaling, *, is_rate: bool
) -> tuple[float | None, float | None]:
    """Return speedup, of strong scaling and of rates, and efficiency."""
    if first <= 0 or value <= 0:
        return None, None
    if is_rate:
        return value / first, value / first / growth
    if scaling is Scaling.STRONG:
        return first / value, first / value / growth
    return None, first / value


def fixed_parameters(row: DatedRow) -> dict[str, Json]:
    """Return the parameters that a family shares."""
    return {name: value for name, value in row.setting["parameters"].items() if name not in _SIZED}
