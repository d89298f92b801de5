"""Order the values of many records in rows, by side: the one grouping behind `railyard compare`, `over` and `plan`.

Models: a row is one series (combination, figure of merit, labels) of all records that share what the caller's question
holds equal. It has the records of each side that have the series, oldest first, and the values of their launches. All
but dates and values is decided once per setting, which many records share. Needs no SciPy. Leaves out: what the values
show (`railyard.analysis.judge.versus`, `railyard.analysis.judge.over`).
"""

from __future__ import annotations

import itertools
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from railyard.analysis.cases.cases import ENDINGS
from railyard.analysis.cases.comparison import label_text
from railyard.analysis.judge.sides import Side
from railyard.base.errors import InputError
from railyard.records import json_io, programs
from railyard.records.cli import entries_of
from railyard.records.json_io import Json
from railyard.records.store.entries import Entry, SeriesKey

#: Key of a side that chooses among the launches of one record -> the field of a series.
OF_LAUNCHES = {"placement": "placement", "nic": "nic_policy", "software": "software"}
#: Records, and the sides that choose among them.
Source = tuple[Iterable[Entry], Sequence[Side]]
#: The fields of a setting that the records of a row share, by name; None for records that have no row.
Shared = Callable[[Mapping[str, Json]], Mapping[str, Json] | None]


@dataclass(frozen=True, slots=True)
class Point:
    """One record of a row, with a value of each of its launches that is a result."""

    entry: Entry
    values: Sequence[float]

    @property
    def value(self) -> float:
        """Return the record's value, the median over launches."""
        return statistics.median(self.values)

    @property
    def setting(self) -> Mapping[str, Json]:
        """Return the fields that many records share."""
        return self.entry.setting

    @property
    def created(self) -> str:
        """Return when the record was made."""
        return str(self.entry.own["created"])

    @property
    def job(self) -> str:
        """Return what sorts records by time and distinguishes those of one second."""
        return f"{self.created} {self.entry.own['sha256']}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One series of records that agree in `shared`; only sides that have it are in `sides`, each by its name.

    Where sides differ in a part of the combination, that part of `key` is empty. `follows` names the figure at the same
    point of which this one is a function.
    """

    shared: Mapping[str, Json]
    key: SeriesKey
    sides: Mapping[str, Sequence[Point]]
    follows: str = ""

    @property
    def points(self) -> Sequence[Point]:
        """Return the records of a row that has one side."""
        (points,) = self.sides.values()
        return points

    @property
    def setting(self) -> Mapping[str, Json]:
        """Return the setting of the oldest record of the first side."""
        return next(iter(self.sides.values()))[0].setting

    @property
    def what(self) -> str:
        """Return system and check, the parameters aside."""
        setting = self.setting
        return f"{setting['check']} on {setting['system']} ({setting['origin']})"

    @property
    def figure(self) -> str:
        """Return the figure of merit, with its labels, the combination that it was measured under, and its unit."""
        software = "" if self.key.software == "native" else f" + {self.key.software}"
        named = " ".join(filter(None, [self.key.fom.stem, label_text(self.key.labels)]))
        return f"{named}, {self.key.placement} + {self.key.nic_policy}{software}, {self.key.fom.unit.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What sides chose: rows, counts by side, and all figures of merit that the sides have, whichever were requested.

    Counted are `records` and how their launches ended (`ENDINGS`); of a side that chooses among launches the results
    alone.
    """

    rows: Sequence[Row]
    counts: Mapping[str, Counter[str]]
    foms: frozenset[str]


def gather(sources: Sequence[Source], shared: Shared, foms: Sequence[str] = (), varied: Iterable[str] = ()) -> Gathered:
    """Return what all sides choose from the sources, each read once; `foms` restricts the figures of merit, if any.

    `varied` has the keys of `OF_LAUNCHES` whose values differ between sides by definition. Raises InputError if a
    launch is of two sides: it would be compared with itself.
    """
    blank: dict[str, Any] = {field: "" for key, field in OF_LAUNCHES.items() if key in varied}
    counts = {side.name: Counter[str]() for _, choosing in sources for side in choosing}
    all_foms: set[str] = set()
    agreed: dict[str, Mapping[str, Json]] = {}
    by_row: defaultdict[tuple[str, SeriesKey], dict[str, list[Point]]] = defaultdict(dict)
    owners: dict[tuple[tuple[str, ...], str], str] = {}
    for share in itertools.chain.from_iterable(_shares(*source, shared) for source in sources):
        counts[share.side.name].update(share.counts)
        group = json_io.canonical(share.shared)
        agreed[group] = share.shared
        if len(counts) > 1:
            _own(owners, share)
        for key, points in share.points.items():
            all_foms.add(key.fom)
            if share.side.has_series(key) and (not foms or key.fom in foms):
                of_sides = by_row[group, key._replace(**blank)]
                of_sides.setdefault(share.side.name, []).extend(points)
    at_point: defaultdict[tuple[object, ...], set[str]] = defaultdict(set)
    for group, key in by_row:
        at_point[group, key[:3], key.labels].add(key.fom)
    rows = []
    for (group, key), of_sides in by_row.items():
        ordered = {name: sorted(points, key=lambda point: point.job) for name, points in of_sides.items()}
        program = next(iter(ordered.values()))[0].setting["benchmark"]
        leader = programs.leader(program, key.fom, at_point[group, key[:3], key.labels])
        rows.append(Row(shared=agreed[group], key=key, sides=ordered, follows=leader))
    return Gathered(rows=rows, counts=counts, foms=frozenset(all_foms))


def _own(owners: dict[tuple[tuple[str, ...], str], str], share: _Share) -> None:
    """Add the owner of each record's launches, by combination; raise InputError if another side has them, too."""
    combinations = {key[:3]: points for key, points in share.points.items() if share.side.has_series(key)}
    for combination, points in combinations.items():
        for point in points:
            owner = owners.setdefault((combination, point.entry.own["sha256"]), share.side.name)
            if owner != share.side.name:
                problem = f"record {point.entry.own['id']} is of {owner} and of {share.side.name}"
                raise InputError("SIDE", "", problem=problem, valid="sides without a launch in common")


def series(entries: Iterable[Entry], shared: Shared, side: Side | None = None, foms: Sequence[str] = ()) -> list[Row]:
    """Return the rows of the entries that one side chooses, sorted by system, check, origin, parameters and series.

    `foms` chooses figures. Otherwise figures that follow another are left out, because they are the same measurement.
    """
    gathered = gather([(entries, [side or Side(name="", wanted={})])], shared, foms)

    def order(row: Row) -> tuple[str, ...]:
        setting, key = row.setting, row.key
        parameters = json_io.canonical(setting["parameters"])
        return (setting["system"], setting["check"], setting["origin"], parameters, key.fom, *map(str, key))

    return sorted((row for row in gathered.rows if foms or not row.follows), key=order)


def sources(sides: Sequence[Side], archive: Callable[[], Iterable[Entry]]) -> list[Source]:
    """Return what each side chooses from: its own paths, or the archive, which is read only if a side needs it."""
    of_paths = [(itertools.chain.from_iterable(map(entries_of, side.paths)), [side]) for side in sides if side.paths]
    from_archive = [side for side in sides if not side.paths]
    return [*of_paths, *([(archive(), from_archive)] if from_archive else [])]


@dataclass(slots=True)
class _Share:
    """The records of one setting that are of one side: how their launches ended, and the points of each series."""

    side: Side
    shared: Mapping[str, Json]
    counts: Counter[str] = field(default_factory=Counter)
    points: defaultdict[SeriesKey, list[Point]] = field(default_factory=lambda: defaultdict(list))

    def add(self, entry: Entry) -> None:
        """Add one record."""
        self.counts["records"] += 1
        if self.side.wanted.keys() & OF_LAUNCHES:
            results: Counter[tuple[str, ...]] = Counter()
            for key, values in entry.values:
                if self.side.has_series(key):
                    results[key[:3]] = max(results[key[:3]], len(values))
            self.counts["ok"] += results.total()
        else:
            self.counts.update({ending: entry.own[ending] for ending in ENDINGS})
        for key, values in entry.values:
            self.points[key].append(Point(entry, values))


def _shares(entries: Iterable[Entry], sides: Sequence[Side], shared: Shared) -> Iterator[_Share]:
    """Yield a share for each setting and side of it.

    Entries with one setting share one object, so its id identifies it as long as it lives.
    """
    by_setting: dict[int, tuple[Mapping[str, Json], list[_Share]]] = {}
    for entry in entries:
        setting = entry.setting
        if id(setting) not in by_setting:
            choosing = [side for side in sides if side.has_setting(setting)]
            agreed = shared(setting) if choosing else None
            shares = [] if agreed is None else [_Share(side, agreed) for side in choosing]
            by_setting[id(setting)] = setting, shares
        for share in by_setting[id(setting)][1]:
            if share.side.has_date(entry.own["created"]):
                share.add(entry)
    for _, shares in by_setting.values():
        yield from shares
