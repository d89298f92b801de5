"""Sides against each other: one row for everything that both could be asked, and what may be said of it.

Models: the launches' values of each side of a row (`analysis.compare.gather`); rank tests of all pairs of sides, Holm's
correction over all rows of one figure of merit; the fields of provenance in which the sides differ, named on every
row. Origins never share a row. A side without a value keeps its place. Leaves out: the score
(`analysis.stats.score`), text (`analysis.compare.text`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from analysis.cases.comparison import FIRST
from analysis.compare import gather as gathering
from analysis.compare.gather import Count, Gathered, Key, Source, Taken
from analysis.stats import medians, ranktest, verdicts
from analysis.stats.medians import Summary
from analysis.stats.ranktest import Pair
from analysis.stats.verdicts import Finding, Verdict
from railyard.records import units
from railyard.records.comparable import NAMED_OF_SIDES
from railyard.records.json_io import Json
from railyard.records.record import COMPUTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One side of a row: its launches' values, and the records' provenance as field -> values met."""

    values: Sequence[float]
    summary: Summary
    provenance: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row; a side without values is not among the cells. `differs` names fields of provenance."""

    key: Key
    cells: Mapping[str, Cell]
    pairs: Mapping[tuple[str, str], Pair[str]]
    verdict: Verdict[str]
    tests: int
    differs: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Versus:
    """The whole comparison; `refused` says what could not be compared and why."""

    sides: Sequence[str]
    baseline: str
    counts: Mapping[str, Count]
    rows: Sequence[Row]
    refused: Sequence[str]


def finding(row: Row, name: str, baseline: str) -> Finding:
    """Return what may be said of a side against the baseline on a row."""
    if name not in row.cells or baseline not in row.cells:
        return Finding.NO_VALUE
    return verdicts.between(
        name,
        verdicts.pair_of(row.pairs, name, baseline),
        {side: cell.summary for side, cell in row.cells.items()},
        units.unit_of(row.key.fom).better,
        deterministic=row.key.origin in COMPUTED,
    )


def compare(sources: Sequence[Source], names: Sequence[str], baseline: str) -> Versus:
    """The comparison of the sides of all sources, shown in the order of `names`; each source is read once."""
    return judged(gathering.gather(sources), names, baseline)


def judged(gathered: Gathered, names: Sequence[str], baseline: str) -> Versus:
    """Return what may be said of what was gathered."""
    rows = _rows(gathered.rows, names)
    return Versus(
        sides=names, baseline=baseline, counts=gathered.counts, rows=rows, refused=_refused(rows, names)
    )


def _met(provenance: Iterable[Sequence[str]]) -> dict[str, frozenset[str]]:
    """Field of provenance -> the values met."""
    return dict(zip(NAMED_OF_SIDES, map(frozenset, zip(*provenance, strict=True)), strict=True))


def _rows(gathered: Mapping[Key, Mapping[str, Taken]], names: Sequence[str]) -> list[Row]:
    keys = sorted(gathered, key=_order)
    by_fom: dict[str, list[Key]] = {}
    for key in keys:
        by_fom.setdefault(key.fom, []).append(key)
    made = {key: row for members in by_fom.values() for key, row in _family(members, gathered, names)}
    return [made[key] for key in keys]


def _order(key: Key) -> tuple[str, ...]:
    first = f"{FIRST.index(key.fom)}" if key.fom in FIRST else "9"
    return (
        *map(str, key.case),
        first,
        key.fom,
        repr([(name, f"{value!s:>24}") for name, value in key.labels]),
    )


def _family(
    keys: Sequence[Key], gathered: Mapping[Key, Mapping[str, Taken]], names: Sequence[str]
) -> Iterable[tuple[Key, Row]]:
    """The rows of one figure of merit: one family of tests."""
    series = [{name: gathered[key][name].values for name in names if name in gathered[key]} for key in keys]
    found = ranktest.family(series)
    tests = sum(map(len, found))
    for key, values, pairs in zip(keys, series, found, strict=True):
        yield key, _row(key, gathered[key], values, pairs=pairs, tests=tests)


def _row(
    key: Key,
    gathered: Mapping[str, Taken],
    values: Mapping[str, Sequence[float]],
    *,
    pairs: Mapping[tuple[str, str], Pair[str]],
    tests: int,
) -> Row:
    cells = {
        name: Cell(
            values=each,
            summary=medians.summarise(each, gathered[name].noise_percent),
            provenance=_met(gathered[name].provenance),
        )
        for name, each in values.items()
    }
    verdict = verdicts.judge(
        {name: cell.summary for name, cell in cells.items()},
        units.unit_of(key.fom).better,
        pairs,
        tests=tests,
        deterministic=key.origin in COMPUTED,
    )
    return Row(key=key, cells=cells, pairs=pairs, verdict=verdict, tests=tests, differs=_differs(cells))


def _differs(cells: Mapping[str, Cell]) -> list[str]:
    """The fields of provenance with more than one value among all records of a row."""
    return [
        name
        for name in NAMED_OF_SIDES
        if len(frozenset[str]().union(*(c.provenance[name] for c in cells.values()))) > 1
    ]


def _refused(rows: Sequence[Row], names: Sequence[str]) -> list[str]:
    """Pairs of origins that would share a row if origins could be mixed."""
    found: dict[tuple[Json, ...], dict[str, set[str]]] = {}
    for row in rows:
        rest = (*row.key.case[1:], row.key.fom, row.key.labels)
        for name in row.cells:
            found.setdefault(rest, {}).setdefault(row.key.origin, set()).add(name)
    mixed = {
        tuple(sorted((name, origin) for origin, members in origins.items() for name in members))
        for origins in found.values()
        if len(origins) > 1 and not any(members >= set(names) for members in origins.values())
    }
    return [
        f"not compared: {', '.join(f'{name} is {origin}' for name, origin in each)}; numbers of different origin are "
        "never mixed"
        for each in sorted(mixed)
    ]
