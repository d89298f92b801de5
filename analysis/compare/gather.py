"""Gathering: the launches' values of every side, by what the sides share.

Models: a row holds whatever is equal between the sides (origin, check, parameters, placement, ... except what the
sides differ in by their definition), for each side the launches' values and the provenance of their records, and how
the records' launches ended. Records of one setting are looked at one by one only for their dates and values; all else
is asked once of their setting. Needs no SciPy, so that another process can gather while one imports it. Leaves out:
what the values say (`analysis.compare.compare`).
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from analysis.compare.sides import Side
from railyard.records import json_io
from railyard.records.benchmark import Labels
from railyard.records.comparable import NAMED_OF_SIDES
from railyard.records.json_io import Json
from railyard.records.store.entries import Entry, SeriesKey


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
class Count:
    """How many records a side has and how their launches ended."""

    records: int = 0
    ok: int = 0
    void: int = 0
    failed: int = 0
    not_measured: int = 0


@dataclass(slots=True)
class Taken:
    """One side of a row: its launches' values, and for each setting they come from the fields of `NAMED_OF_SIDES`.

    `noise_percent` is the largest noise floor of the records.
    """

    values: array[float] = field(default_factory=lambda: array("d"))
    provenance: set[tuple[str, ...]] = field(default_factory=set)
    noise_percent: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """Counts by side, and what was taken by row and side; a side without values is not among a row's. `foms` are all
    figures of merit that the sides have, whichever were asked for.
    """

    counts: Mapping[str, Count]
    foms: frozenset[str]
    rows: Mapping[Key, Mapping[str, Taken]]


#: Records, and the sides that choose among them.
Source = tuple[Iterable[Entry], Sequence[Side]]


def gather(sources: Sequence[Source], foms: Sequence[str] = ()) -> Gathered:
    """Everything that the sides of all sources mean; each source is read once. `foms` are all when there are none."""
    varied = defined_by([side for _, choosing in sources for side in choosing])
    counts: dict[str, Count] = {side.name: Count() for _, choosing in sources for side in choosing}
    met: set[str] = set()
    rows: defaultdict[Key, defaultdict[str, Taken]] = defaultdict(lambda: defaultdict(Taken))
    for entries, choosing in sources:
        for share in _shares(entries, choosing):
            name = share.side.name
            counts[name] = share.added(counts[name])
            provenance = tuple(_text(share.setting[each]) for each in NAMED_OF_SIDES)
            shared = {**share.setting, "parameters": json_io.canonical(share.setting["parameters"])}
            for key, values in share.values.items():
                met.add(key.fom)
                if share.side.has_series(key) and (not foms or key.fom in foms):
                    taken = rows[_key(shared, key, varied)][name]
                    taken.values.extend(values)
                    taken.provenance.add(provenance)
                    taken.noise_percent = max(taken.noise_percent, share.noise_percent)
    taken_of = {key: dict(of_key) for key, of_key in rows.items()}
    return Gathered(counts=counts, foms=frozenset(met), rows=taken_of)


def defined_by(sides: Sequence[Side]) -> frozenset[str]:
    """The keys whose values differ between the sides; paths stand for systems."""
    keys = {key for side in sides for key in side.wanted}
    varied = {key for key in keys if len({side.wanted.get(key) for side in sides}) > 1}
    return frozenset(varied | ({"system"} if any(side.paths for side in sides) else set()))


@dataclass(slots=True)
class _Share:
    """What the records of one setting bring to one side."""

    side: Side
    setting: Mapping[str, Json]
    records: int = 0
    ok: int = 0
    void: int = 0
    failed: int = 0
    not_measured: int = 0
    noise_percent: float = 0.0
    values: defaultdict[SeriesKey, list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, entry: Entry) -> None:
        """One record more."""
        own = entry.own
        self.records += 1
        self.ok += own["ok"]
        self.void += own["void"]
        self.failed += own["failed"]
        self.not_measured += own["not_measured"]
        self.noise_percent = max(self.noise_percent, own["noise_percent"])
        for key, values in entry.values:
            self.values[key] += values

    def added(self, count: Count) -> Count:
        """A count with this share's."""
        return Count(
            records=count.records + self.records,
            ok=count.ok + self.ok,
            void=count.void + self.void,
            failed=count.failed + self.failed,
            not_measured=count.not_measured + self.not_measured,
        )


def _shares(entries: Iterable[Entry], sides: Sequence[Side]) -> Iterator[_Share]:
    """A share for each setting and side of it. Entries with one setting have one object, so its id tells it for as
    long as it lives.
    """
    found: dict[int, tuple[Mapping[str, Json], list[_Share]]] = {}
    for entry in entries:
        setting = entry.setting
        if id(setting) not in found:
            meant = [_Share(side, setting) for side in sides if side.has_setting(setting)]
            found[id(setting)] = setting, meant
        for share in found[id(setting)][1]:
            if share.side.has_date(entry.own["created"]):
                share.add(entry)
    for _, shares in found.values():
        yield from shares


def _key(setting: Mapping[str, Json], key: SeriesKey, varied: frozenset[str]) -> Key:
    def unless(name: str, value: str) -> str:
        return "" if name in varied else value

    return Key(
        origin=setting["origin"],
        system=unless("system", setting["system"]),
        check=unless("check", setting["check"]),
        benchmark=setting["benchmark"],
        parameters=setting["parameters"],
        ranks=setting["ranks"],
        placement=unless("placement", key.placement),
        nic_policy=unless("nic", key.nic_policy),
        software=unless("software", key.software),
        fom=key.fom,
        labels=key.labels,
    )


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json_io.canonical(value)
