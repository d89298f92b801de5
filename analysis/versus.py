"""Sides against each other: one row for everything that both could be asked, and what may be said of it.

Models: a row holds whatever is equal between the sides (origin, check, parameters, placement, ... except what the
sides differ in by their definition) and the launches' values of each side; rank tests of all pairs of sides, Holm's
correction over all rows of one figure of merit; the fields of provenance in which the sides differ, named on every
row. Origins never share a row. A side without a value keeps its place. Leaves out: the score (`analysis.score`), text
(`analysis.versus_text`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from analysis import ranktest, statistics
from analysis.comparison import FIRST
from analysis.ranktest import Pair
from analysis.sides import Side
from analysis.statistics import Summary, Verdict
from results import strictjson, units
from results.index import Entry, Labels, Values
from results.strictjson import Json

DETERMINISTIC = frozenset({"simulated", "modelled"})
#: Fields of the head that make a row, unless the sides are defined by them.
ROW_FIELDS = ("origin", "system", "check", "benchmark", "parameters", "ranks")
#: Fields in which comparable records should agree; a difference is named on the row.
PROVENANCE = (
    "git_commit",
    "git_dirty",
    "mpi",
    "machine",
    "environment",
    "partition",
    "topology",
    "topology_sha256",
    "torus",
    "image",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What all sides of a row share; a field that the sides are defined by is empty."""

    origin: str
    system: str
    check: str
    benchmark: str
    parameters: str
    ranks: int
    placement: str
    nic_policy: str
    software: str
    fom: str
    labels: Labels

    @property
    def case(self) -> tuple[Json, ...]:
        """The row without its figure of merit: rows of one case count once in a score."""
        return (
            self.origin,
            self.system,
            self.check,
            self.parameters,
            self.ranks,
            self.placement,
            self.nic_policy,
            self.software,
        )


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
class Count:
    """How many records a side has and how their launches ended."""

    records: int = 0
    ok: int = 0
    void: int = 0
    failed: int = 0
    not_measured: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Versus:
    """The whole comparison; `refused` says what could not be compared and why."""

    sides: Sequence[str]
    baseline: str
    counts: Mapping[str, Count]
    rows: Sequence[Row]
    refused: Sequence[str]


@dataclass(slots=True)
class _Gathered:
    """Values and provenance of one side of one row while records come in; provenance as JSON, each once."""

    values: list[float] = field(default_factory=list)
    provenance: set[bytes] = field(default_factory=set)


#: What a row's records share as JSON, and the series' own part. Rows become `Key`s when all records are in, because
#: records may be a hundred thousand, and rows are few.
_RawKey = tuple[bytes, str, str, str, str, Labels]
_Cells = dict[_RawKey, dict[str, _Gathered]]


#: Records, and the sides that choose among them.
Source = tuple[Iterable[Entry], Sequence[Side]]


def compare(sources: Sequence[Source], names: Sequence[str], baseline: str) -> Versus:
    """The comparison of the sides of all sources, shown in the order of `names`; each source is read once."""
    sides = [side for _, choosing in sources for side in choosing]
    varied = defined_by(sides)
    cells: _Cells = {}
    counts = {side.name: Counter[str]() for side in sides}
    for entries, choosing in sources:
        for entry in entries:
            for side in choosing:
                if side.has_record(entry):
                    _count(counts[side.name], entry)
                    _gather(side, entry, varied, cells)
    rows = _rows({_key(raw): of_key for raw, of_key in cells.items()}, names)
    counted = {name: Count(**count) for name, count in counts.items()}
    return Versus(sides=names, baseline=baseline, counts=counted, rows=rows, refused=_refused(rows, names))


def defined_by(sides: Sequence[Side]) -> frozenset[str]:
    """The keys whose values differ between the sides; paths stand for systems."""
    keys = {key for side in sides for key in side.wanted}
    varied = {key for key in keys if len({side.wanted.get(key) for side in sides}) > 1}
    return frozenset(varied | ({"system"} if any(side.paths for side in sides) else set()))


def _count(count: Counter[str], entry: Entry) -> None:
    count["records"] += 1
    for name in ("ok", "void", "failed", "not_measured"):
        count[name] += entry.head[name]


def _gather(side: Side, entry: Entry, varied: frozenset[str], cells: _Cells) -> None:
    head = entry.head
    provenance = _json([head[name] for name in PROVENANCE])
    shared = _json([None if name in varied else head[name] for name in ROW_FIELDS])
    for series in entry.values:
        if side.has_values(series):
            raw = (shared, *_own(series, varied))
            found = cells.setdefault(raw, {}).setdefault(side.name, _Gathered())
            found.values.extend(series.values)
            found.provenance.add(provenance)


def _json(value: Json) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _own(series: Values, varied: frozenset[str]) -> tuple[str, str, str, str, Labels]:
    own = {"placement": series.placement, "nic": series.nic_policy, "software": series.software}
    placement, nic_policy, software = ("" if name in varied else value for name, value in own.items())
    return placement, nic_policy, software, series.fom, series.labels


def _key(raw: _RawKey) -> Key:
    shared = dict(zip(ROW_FIELDS, orjson.loads(raw[0]), strict=True))
    return Key(
        origin=shared["origin"],
        system=shared["system"] or "",
        check=shared["check"] or "",
        benchmark=shared["benchmark"],
        parameters=strictjson.canonical(shared["parameters"]),
        ranks=shared["ranks"],
        placement=raw[1],
        nic_policy=raw[2],
        software=raw[3],
        fom=raw[4],
        labels=raw[5],
    )


def _text(value: Json) -> str:
    return value if isinstance(value, str) else strictjson.canonical(value)


def _met(provenance: Iterable[bytes]) -> dict[str, frozenset[str]]:
    """Field of provenance -> the values met."""
    found: dict[str, set[str]] = {name: set() for name in PROVENANCE}
    for each in provenance:
        for name, value in zip(PROVENANCE, orjson.loads(each), strict=True):
            found[name].add(_text(value))
    return {name: frozenset(values) for name, values in found.items()}


def _rows(gathered: Mapping[Key, Mapping[str, _Gathered]], names: Sequence[str]) -> list[Row]:
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
    keys: Sequence[Key], gathered: Mapping[Key, Mapping[str, _Gathered]], names: Sequence[str]
) -> Iterable[tuple[Key, Row]]:
    """The rows of one figure of merit: one family of tests."""
    series = [{name: gathered[key][name].values for name in names if name in gathered[key]} for key in keys]
    found = ranktest.family(series)
    tests = sum(map(len, found))
    for key, values, pairs in zip(keys, series, found, strict=True):
        yield key, _row(key, gathered[key], values, pairs, tests)


def _row(
    key: Key,
    gathered: Mapping[str, _Gathered],
    values: Mapping[str, Sequence[float]],
    pairs: Mapping[tuple[str, str], Pair[str]],
    tests: int,
) -> Row:
    cells = {
        name: Cell(
            values=each,
            summary=statistics.summarise(each),
            provenance=_met(gathered[name].provenance),
        )
        for name, each in values.items()
    }
    verdict = statistics.judge(
        {name: cell.summary for name, cell in cells.items()},
        units.unit_of(key.fom).better,
        pairs,
        tests=tests,
        deterministic=key.origin in DETERMINISTIC,
    )
    return Row(key=key, cells=cells, pairs=pairs, verdict=verdict, tests=tests, differs=_differs(cells))


def _differs(cells: Mapping[str, Cell]) -> list[str]:
    """The fields of provenance with more than one value among all records of a row."""
    return [
        name
        for name in PROVENANCE
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
