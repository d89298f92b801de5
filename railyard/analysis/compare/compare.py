"""Judge sides against each other: a row for everything that both ran, and a score over all rows.

Models: the values of each side of a row (`railyard.analysis.compare.gather`) as the groups of one comparison. All rows
of one figure of merit are one family of tests. Every row names the fields of provenance in which its sides differ.
Origins never share a row. Leaves out: what a judgement is (`railyard.analysis.cases.judgement`), text
(`railyard.analysis.compare.text`).
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from railyard.analysis.cases import judgement
from railyard.analysis.cases.comparison import FIRST
from railyard.analysis.cases.judgement import Comparison, Evidence, Series
from railyard.analysis.compare import gather as gathering
from railyard.analysis.compare.gather import Gathered, Key, SideValues, Source
from railyard.analysis.stats import score
from railyard.analysis.stats.score import Ratio, Score
from railyard.records import programs
from railyard.records.comparable import NAMED_OF_SIDES
from railyard.records.json_io import Json
from railyard.records.record import COMPUTED
from railyard.records.units import Fom


@dataclass(frozen=True, slots=True, kw_only=True)
class SideRow:
    """One row: the sides are the groups of `comparison`; `differs` names fields of provenance."""

    key: Key
    comparison: Comparison
    differs: Sequence[str]

    @property
    def is_shared(self) -> bool:
        """Return whether several sides have a value."""
        return len(self.comparison.measured) > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Versus:
    """The whole comparison of sides.

    `scores` has a value for each origin and each side but the baseline; None is a score of no case. `refused` states
    what could not be compared and why.
    """

    sides: Sequence[str]
    baseline: str
    counts: Mapping[str, Counter[str]]
    rows: Sequence[SideRow]
    scores: Mapping[tuple[str, str], Score | None]
    refused: Sequence[str]


def compare(sources: Sequence[Source], names: Sequence[str], baseline: str) -> Versus:
    """Return the comparison of the sides of all sources, in the order of `names`; each source is read once."""
    return judged(gathering.gather(sources), names, baseline)


def judged(gathered: Gathered, names: Sequence[str], baseline: str) -> Versus:
    """Return the comparison of sides whose values are gathered."""
    rows = _rows(gathered.rows, names, baseline)
    shared = dict.fromkeys(row.key.origin for row in rows if row.is_shared)
    scored = {
        (origin, name): _ratios(rows, origin, name)
        for origin in shared or dict.fromkeys(row.key.origin for row in rows)
        for name in names
        if name != baseline
    }
    return Versus(
        sides=names,
        baseline=baseline,
        counts=gathered.counts,
        rows=rows,
        scores=score.scores(scored),
        refused=_refused(rows, names),
    )


def _ratios(rows: Iterable[SideRow], origin: str, name: str) -> list[Ratio]:
    """Return the ratios of a side to the baseline, of the rows of one origin that both have."""
    ratios = (row.comparison.ratio(name, row.key.case) for row in rows if row.key.origin == origin)
    return [ratio for ratio in ratios if ratio is not None]


def _rows(
    gathered: Mapping[Key, Mapping[str, SideValues]], names: Sequence[str], baseline: str
) -> list[SideRow]:
    families: dict[Fom, list[Key]] = {}
    at_point: dict[tuple[Json, ...], set[str]] = {}
    for key in sorted(gathered, key=_order):
        families.setdefault(key.fom, []).append(key)
        at_point.setdefault((*key.case, key.labels), set()).add(key.fom)
    rows = [
        SideRow(
            key=key,
            comparison=dataclasses.replace(
                comparison, follows=programs.leader(key.benchmark, key.fom, at_point[*key.case, key.labels])
            ),
            differs=_differs(gathered[key].values()),
        )
        for fom, keys in families.items()
        for key, comparison in zip(
            keys,
            judgement.compare(fom, [_series(key, gathered[key], names) for key in keys], baseline),
            strict=True,
        )
    ]
    return sorted(rows, key=lambda row: _order(row.key))


def _order(key: Key) -> tuple[str, ...]:
    first = f"{FIRST.index(key.fom)}" if key.fom in FIRST else "9"
    return (
        *map(str, key.case),
        first,
        key.fom,
        repr([(name, f"{value!s:>24}") for name, value in key.labels]),
    )


def _series(key: Key, sides: Mapping[str, SideValues], names: Sequence[str]) -> Series:
    """Return the evidence of all sides, jobs in order of time; of one without values it is empty."""
    return Series(
        labels=key.labels,
        evidence={name: _evidence(sides.get(name) or SideValues()) for name in names},
        deterministic=key.origin in COMPUTED,
    )


def _evidence(side: SideValues) -> Evidence:
    order = sorted(range(len(side.jobs)), key=side.jobs.__getitem__)
    return Evidence(
        values=[side.values[at] for at in order],
        jobs=[side.jobs[at] for at in order],
        noise_percent=side.noise_percent,
    )


def _differs(sides: Iterable[SideValues]) -> list[str]:
    """Return the fields of provenance with more than one value among all records of a row."""
    settings = frozenset[tuple[str, ...]]().union(*(side.provenance for side in sides))
    return [
        name
        for name, values in zip(NAMED_OF_SIDES, zip(*settings, strict=True), strict=True)
        if len(set(values)) > 1
    ]


def _refused(rows: Sequence[SideRow], names: Sequence[str]) -> list[str]:
    """Return a sentence for each set of origins that would share a row if origins could be mixed."""
    by_rest: dict[tuple[Json, ...], dict[str, set[str]]] = {}
    for row in rows:
        rest = (*row.key.case[1:], row.key.fom, row.key.labels)
        sides = {group.name for group in row.comparison.measured}
        by_rest.setdefault(rest, {}).setdefault(row.key.origin, set()).update(sides)
    mixed = {
        tuple(sorted((name, origin) for origin, members in origins.items() for name in members))
        for origins in by_rest.values()
        if len(origins) > 1 and not any(members >= set(names) for members in origins.values())
    }
    return [
        f"not compared: {', '.join(f'{name} is {origin}' for name, origin in pairs)}; numbers of different origin are "
        "never mixed"
        for pairs in sorted(mixed)
    ]
