"""Show what many records show over dates, sizes and allocations: changes of level, scaling, and how steady a run is.

Models, each a table of its own over rows of records (`railyard.analysis.judge.rows`):

- Dates: a row has the records to which one reference of a check applies (`railyard.records.comparable`): the same
  machine and parameters, with any commit, MPI and modules. `railyard.analysis.stats.change_points` finds a change. It
  is listed with the fields that differ between the records before and after it, such as the commit.
- Sizes: records of one check that differ in their ranks. Weak: every rank has the same work, and the efficiency of a
  time is T(first) / T. Strong: all ranks together have the same work, and the speedup is T(first) / T, the efficiency
  speedup times first ranks over ranks. A rate of the whole program counts per rank. Whether a check is weak or strong
  is its parameter `scaling`; a check with `cells` of each rank is weak.
- Allocations: the sets of nodes that jobs had. Within an allocation launches differ by chance; between allocations also
  by the nodes, their cables and their neighbours. The Kruskal-Wallis test shows whether allocations differ at all, and
  Holm's correction counts the rows. The spread shows how much: the relative standard deviation of the allocations'
  medians, with its upper 95 % limit, because a few allocations may be alike by chance.

Leaves out: whether a field that differs is the cause, which node is to blame (`topobw`, the table of outliers on a
case's page), fits, prediction.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from railyard.analysis.judge import rows
from railyard.analysis.judge.rows import Point, Row
from railyard.analysis.judge.sides import Side
from railyard.analysis.stats import change_points, contrast, medians
from railyard.records import comparable
from railyard.records.json_io import Json
from railyard.records.store.entries import Entry

#: Field of a setting -> its name in the list of what differs at a change.
NAMES = {
    "git_commit": "commit",
    "subject": "your commit",
    "program": "program",
    "git_dirty": "changed checkout",
    "mpi": "MPI",
    "machine": "machine",
    "image": "image",
    "topology": "topology",
}
_COMMIT_DIGITS = 12
#: The most entries of a list that a line shows.
_SHOWN = 6
#: Rates of a whole program, which grow with its ranks.
OF_A_PROGRAM = frozenset({"operation rate", "zone rate"})
#: Parameters that follow from the number of ranks.
_SIZED = frozenset({"grid", "size"})
#: Work of a rank whose cube has an edge of `size`.
_DIMENSIONS = 3
#: The spread between allocations that is called steady, in percent.
LIMIT_PERCENT = 5.0
#: The fewest launches of an allocation that count in the test.
FEWEST = 3


# ---- dates ----


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of level before a point: medians of the records before and after, and the fields that differ."""

    point: Point
    before: float
    after: float
    p_value: float
    differs: tuple[str, ...]

    @property
    def percent(self) -> float | None:
        """Return the change in percent of the median before."""
        return medians.change_percent(self.after, self.before)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dated:
    """A row with its changes, oldest first."""

    row: Row
    changes: tuple[Change, ...]


def dated(entries: Iterable[Entry], side: Side | None = None, foms: Sequence[str] = ()) -> list[Dated]:
    """Return every row of at least two records, with the changes that were found."""

    def of_reference(setting: Mapping[str, Json]) -> Mapping[str, Json]:
        return {"check": setting["check"], "reference": comparable.reference_digest(setting)}

    of_check = rows.series(entries, of_reference, side, foms)
    return [Dated(row=row, changes=tuple(_changes(row))) for row in of_check if len(row.points) > 1]


def _changes(row: Row) -> Iterator[Change]:
    values = [point.value for point in row.points]
    changes = change_points.changes(values)
    edges = [0, *(change.position for change in changes), len(values)]
    for start, change, end in zip(edges, changes, edges[2:], strict=False):
        at = change.position
        yield Change(
            point=row.points[at],
            before=statistics.median(values[start:at]),
            after=statistics.median(values[at:end]),
            p_value=change.p_value,
            differs=tuple(differences(row.points[at - 1].setting, row.points[at].setting)),
        )


def differences(before: Mapping[str, Json], after: Mapping[str, Json]) -> Iterator[str]:
    """Yield in words what two settings name differently: commit, MPI, machine, image, modules, variables."""
    for field, name in NAMES.items():
        if before[field] != after[field]:
            yield f"{name} {_value_text(field, before[field])} -> {_value_text(field, after[field])}"
    first, second = _job(before), _job(after)
    for name in sorted({*first, *second}):
        gone = sorted(first.get(name, set()) - second.get(name, set()))
        new = sorted(second.get(name, set()) - first.get(name, set()))
        if gone or new:
            yield f"{name} {_list('-', gone)}{' ' if gone and new else ''}{_list('+', new)}"


def _value_text(field: str, value: Json) -> str:
    if isinstance(value, dict):
        value = " ".join(map(str, value.values()))
    text = str(value).lower() if isinstance(value, bool) else str(value or "none")
    return text[: _COMMIT_DIGITS if field in {"git_commit", "subject"} else 80]


def _job(setting: Mapping[str, Json]) -> dict[str, set[str]]:
    """Return the lists of a job's environment as sets of texts, by their names."""
    text, lists = setting["job_environment"], dict[str, set[str]]()
    for name, part in json.loads(text).items() if text else ():
        texts = [f"{key}={value}" for key, value in part.items()] if isinstance(part, dict) else part
        lists[str(name).replace("_", " ")] = set(map(str, texts if isinstance(texts, list) else [texts]))
    return lists


def _list(sign: str, texts: Sequence[str]) -> str:
    shown = [f"{sign}{text[:80]}" for text in texts[:_SHOWN]]
    return " ".join([*shown, *([f"and {len(texts) - _SHOWN} more"] if len(texts) > _SHOWN else [])])


# ---- sizes ----


class Scaling(StrEnum):
    """Which work is fixed: a rank's, or that of all ranks."""

    WEAK = "weak"
    STRONG = "strong"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One number of ranks. `efficiency` is 1 for the fewest ranks; `low` and `high` are of the records' values.

    Strong scaling and rates have a `speedup`, too. Both are None where a value is not positive.
    """

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

    row: Row
    scaling: Scaling
    steps: tuple[Step, ...]


def scaled(entries: Iterable[Entry], side: Side | None = None, foms: Sequence[str] = ()) -> list[Scaled]:
    """Return every row of a time, or of a program's rate, with at least two numbers of ranks."""
    families = []
    for row in rows.series(entries, _of_work, side, foms):
        scaling, measures = scaling_of(row.setting), row.key.fom.unit.measures
        if scaling and (measures == "time" or measures in OF_A_PROGRAM):
            steps = _steps(row, scaling, is_rate=measures != "time")
            families += [Scaled(row=row, scaling=scaling, steps=steps)] if len(steps) > 1 else []
    return families


def scaling_of(setting: Mapping[str, Json]) -> Scaling | None:
    """Return which work is fixed; None if the parameters do not determine it."""
    named = setting["parameters"].get("scaling")
    if named in set(Scaling):
        return Scaling(named)
    return Scaling.WEAK if "cells" in setting["parameters"] else None


def _of_work(setting: Mapping[str, Json]) -> Mapping[str, Json] | None:
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
    return {**parts, "parameters": fixed, "work": str(work), "per node": ranks / setting["nodes"]}


def _steps(row: Row, scaling: Scaling, *, is_rate: bool) -> tuple[Step, ...]:
    by_ranks: dict[int, list[Point]] = {}
    for point in row.points:
        by_ranks.setdefault(point.setting["ranks"], []).append(point)
    fewest = min(by_ranks)
    first = statistics.median(point.value for point in by_ranks[fewest])
    steps = []
    for ranks, points in sorted(by_ranks.items()):
        values = [point.value for point in points]
        median, speedup, efficiency = statistics.median(values), None, None
        if first > 0 and median > 0:
            times = median / first if is_rate else first / median
            is_weak_time = scaling is Scaling.WEAK and not is_rate
            speedup, efficiency = (None, times) if is_weak_time else (times, times / (ranks / fewest))
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


# ---- allocations ----


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

    row: Row
    allocations: int
    lowest: float
    highest: float
    between_percent: float | None
    upper_percent: float | None
    within_percent: float | None
    p_holm: float | None
    verdict: Steadiness


def spreads(
    entries: Iterable[Entry], side: Side | None = None, foms: Sequence[str] = (), limit_percent: float = LIMIT_PERCENT
) -> list[Spread]:
    """Return every row that at least two allocations have."""

    def but_nodes(setting: Mapping[str, Json]) -> Mapping[str, Json]:
        return {name: setting[name] for name in comparable.ALLOCATIONS_ROW}

    several = []
    for row in rows.series(entries, but_nodes, side, foms):
        by_allocation: dict[str, list[float]] = {}  # of the allocations that are known
        for point in row.points:
            if allocation := point.entry.own["allocation"]:
                by_allocation.setdefault(allocation, []).extend(point.values)
        if len(by_allocation) > 1:
            several.append((row, list(by_allocation.values())))
    p_values = [_p_value(values) for _, values in several]
    adjusted = iter(contrast.holm([p_value for p_value in p_values if p_value is not None]))
    return [
        _spread(row, values, None if p_value is None else next(adjusted), limit_percent)
        for (row, values), p_value in zip(several, p_values, strict=True)
    ]


def _p_value(values: Sequence[Sequence[float]]) -> float | None:
    enough = [launches for launches in values if len(launches) >= FEWEST]
    if len(enough) < 2 or len({value for launches in enough for value in launches}) < 2:
        return None
    import scipy.stats  # imported here: takes 1 s, and the other tables do not need it

    return float(scipy.stats.kruskal(*enough).pvalue)


def _spread(row: Row, values: Sequence[Sequence[float]], p_holm: float | None, limit_percent: float) -> Spread:
    """Return the spread of a row: steady if its upper limit is within the limit, variable if allocations differ more.

    The upper limit is one-sided, of a standard deviation that is estimated from normal values.
    """
    middles = [statistics.median(launches) for launches in values]
    between, upper, verdict = medians.spread_percent(middles), None, Steadiness.CANNOT_TELL
    if between is not None:
        import scipy.special  # imported here, as above

        freedom = len(middles) - 1
        upper = between * math.sqrt(freedom / float(scipy.special.chdtri(freedom, contrast.CONFIDENCE)))
        if upper <= limit_percent:
            verdict = Steadiness.STEADY
        elif between > limit_percent and p_holm is not None and p_holm <= contrast.ALPHA:
            verdict = Steadiness.VARIABLE
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
        verdict=verdict,
    )
