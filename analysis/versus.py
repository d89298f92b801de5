"""Sides against each other: one row for everything that both could be asked, and what may be said of it.

Models: a row holds whatever is equal between the sides (origin, check, parameters, placement, ... except what the
sides differ in by their definition) and the launches' values of each side; rank tests of all pairs of sides, Holm's
correction over all rows of one figure of merit; the fields of provenance in which the sides differ, named on every
row. Origins never share a row. A side without a value keeps its place. Leaves out: the score (`analysis.score`), text
(`analysis.versus_text`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

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
    """Values and provenance of one side of one row while records come in."""

    values: list[float] = field(default_factory=list)
    provenance: dict[str, set[str]] = field(default_factory=dict)


#: Records, and the sides that choose among them.
Source = tuple[Iterable[Entry], Sequence[Side]]


def compare(sources: Sequence[Source], names: Sequence[str], baseline: str) -> Versus:
    """The comparison of the sides of all sources, shown in the order of `names`; each source is read once."""
    sides = [side for _, choosing in sources for side in choosing]
    varied = defined_by(sides)
    cells: dict[Key, dict[str, _Gathered]] = {}
    counts = {side.name: Count() for side in sides}
    for entries, choosing in sources:
        for entry in entries:
            for side in choosing:
                if side.has_record(entry):
                    counts[side.name] = _counted(counts[side.name], entry)
                    _gather(side, entry, varied, cells)
    rows = _rows(cells, names)
    return Versus(sides=names, baseline=baseline, counts=counts, rows=rows, refused=_refused(rows, names))


def defined_by(sides: Sequence[Side]) -> frozenset[str]:
    """The keys whose values differ between the sides; paths stand for systems."""
    keys = {key for side in sides for key in side.wanted}
    varied = {key for key in keys if len({side.wanted.get(key) for side in sides}) > 1}
    return frozenset(varied | ({"system"} if any(side.paths for side in sides) else set()))


def _counted(count: Count, entry: Entry) -> Count:
    head = entry.head
    return Count(
        records=count.records + 1,
        ok=count.ok + head["ok"],
        void=count.void + head["void"],
        failed=count.failed + head["failed"],
        not_measured=count.not_measured + head["not_measured"],
    )


def _gather(side: Side, entry: Entry, varied: frozenset[str], cells: dict[Key, dict[str, _Gathered]]) -> None:
    provenance = {name: _text(entry.head[name]) for name in PROVENANCE}
    shared = {name: entry.head[name] for name in ROW_FIELDS if name not in varied}
    parameters = strictjson.canonical(shared.pop("parameters", {}))
    for series in entry.values:
        if not side.has_values(series):
            continue
        key = _key(shared, parameters, series, varied)
        found = cells.setdefault(key, {}).setdefault(side.name, _Gathered())
        found.values.extend(series.values)
        for name, value in provenance.items():
            found.provenance.setdefault(name, set()).add(value)


def _key(shared: Mapping[str, Json], parameters: str, series: Values, varied: frozenset[str]) -> Key:
    return Key(
        origin=shared["origin"],
        system=shared.get("system", ""),
        check=shared.get("check", ""),
        benchmark=shared["benchmark"],
        parameters=parameters,
        ranks=shared["ranks"],
        placement="" if "placement" in varied else series.placement,
        nic_policy="" if "nic" in varied else series.nic_policy,
        fom=series.fom,
        labels=series.labels,
    )


def _text(value: Json) -> str:
    return value if isinstance(value, str) else strictjson.canonical(value)


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
            provenance={field: frozenset(found) for field, found in gathered[name].provenance.items()},
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
