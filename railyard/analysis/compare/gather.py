"""Gather the launches' values of every side, by what the sides share.

Models: a row holds whatever is equal between the sides (origin, check, parameters, placement, ... except what the
sides differ in by their definition), for each side the launches' values and the provenance of their records, and how
the records' launches ended. Of the records of one setting only dates and values are read one by one; all else is read
once from their setting. Needs no SciPy, so that another process can gather while one imports it. Leaves out:
what the values show (`railyard.analysis.compare.compare`).
"""

from __future__ import annotations

import itertools
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from railyard.analysis.cases import modelled
from railyard.analysis.compare.sides import Side
from railyard.records import json_io
from railyard.records.benchmark import Labels
from railyard.records.cli import entries_of
from railyard.records.comparable import NAMED_OF_SIDES
from railyard.records.json_io import Json
from railyard.records.store.entries import Entry, SeriesKey
from railyard.records.units import Fom


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """The fields that all sides of a row share; those that define the sides are empty."""

    origin: str
    system: str
    check: str
    benchmark: str
    parameters: str
    ranks: int
    placement: str
    nic_policy: str
    software: str
    fom: Fom
    labels: Labels

    @property
    def case(self) -> tuple[Json, ...]:
        """Return the fields but the figure of merit: rows of one case count once in a score."""
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


@dataclass(slots=True)
class SideValues:
    """One side of a row: the launches' values, and the fields of `NAMED_OF_SIDES` of each setting that they come from.

    `jobs` has the time and the digest of the record of each value. `noise_percent` is the largest noise floor of the
    records.
    """

    values: array[float] = field(default_factory=lambda: array("d"))
    jobs: list[str] = field(default_factory=list)
    provenance: set[tuple[str, ...]] = field(default_factory=set)
    noise_percent: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """Counts by side, and values by row and side; a side without values is not among a row's.

    Counted are `records` and how their launches ended (`ENDINGS`); of a side that chooses among launches the results
    alone. `foms` are all figures of merit that the sides have, whichever were requested.
    """

    counts: Mapping[str, Counter[str]]
    foms: frozenset[str]
    rows: Mapping[Key, Mapping[str, SideValues]]


#: Keys of sides that choose among the launches of one record.
OF_LAUNCHES = frozenset({"placement", "nic", "software"})
#: How a launch ended: the names of these counts in an entry of the index.
ENDINGS = ("ok", "void", "failed", "not_measured")
#: Records, and the sides that choose among them.
Source = tuple[Iterable[Entry], Sequence[Side]]


def gather(sources: Sequence[Source], foms: Sequence[str] = (), *, for_people: bool = False) -> Gathered:
    """Return what all sides choose from the sources, each read once; `foms` restricts the figures of merit, if any.

    `for_people` converts the values of a virtual torus to those of the machine that it models.
    """
    varied = defined_by([side for _, choosing in sources for side in choosing])
    counts = {side.name: Counter[str]() for _, choosing in sources for side in choosing}
    all_foms: set[str] = set()
    rows: defaultdict[Key, defaultdict[str, SideValues]] = defaultdict(lambda: defaultdict(SideValues))
    for entries, choosing in sources:
        for share in _shares(entries, choosing):
            side = share.side.name
            counts[side].update(share.counts)
            provenance = tuple(_text(share.setting[name]) for name in NAMED_OF_SIDES)
            shared = {**share.setting, "parameters": json_io.canonical(share.setting["parameters"])}
            for key, values in share.values.items():
                all_foms.add(key.fom)
                if share.side.has_series(key) and (not foms or key.fom in foms):
                    of_side = rows[_key(shared, key, varied)][side]
                    factor = modelled.multiplier(share.setting, key.fom) if for_people else 1.0
                    of_side.values.extend(values if factor == 1.0 else [factor * value for value in values])
                    of_side.jobs += share.jobs[key]
                    of_side.provenance.add(provenance)
                    of_side.noise_percent = max(of_side.noise_percent, share.noise_percent)
    return Gathered(
        counts=counts, foms=frozenset(all_foms), rows={key: dict(sides) for key, sides in rows.items()}
    )


def sources(sides: Sequence[Side], archive: Callable[[], Iterable[Entry]]) -> list[Source]:
    """Return what each side chooses from: its own paths, or the archive, which is read only if a side needs it."""
    of_paths = [
        (itertools.chain.from_iterable(map(entries_of, side.paths)), [side]) for side in sides if side.paths
    ]
    from_archive = [side for side in sides if not side.paths]
    return [*of_paths, *([(archive(), from_archive)] if from_archive else [])]


def defined_by(sides: Sequence[Side]) -> frozenset[str]:
    """Return the keys whose values differ between the sides; paths count as systems."""
    keys = {key for side in sides for key in side.wanted}
    varied = {key for key in keys if len({side.wanted.get(key) for side in sides}) > 1}
    return frozenset(varied | ({"system"} if any(side.paths for side in sides) else set()))


@dataclass(slots=True)
class _Share:
    """The records of one setting that are of one side: the values of all launches, and the record of each."""

    side: Side
    setting: Mapping[str, Json]
    counts: Counter[str] = field(default_factory=Counter)
    noise_percent: float = 0.0
    values: defaultdict[SeriesKey, list[float]] = field(default_factory=lambda: defaultdict(list))
    jobs: defaultdict[SeriesKey, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, entry: Entry) -> None:
        """Add one record."""
        self.counts["records"] += 1
        if self.side.wanted.keys() & OF_LAUNCHES:
            results: Counter[tuple[str, str, str]] = Counter()
            for key, values in entry.values:
                if self.side.has_series(key):
                    combination = key.placement, key.nic_policy, key.software
                    results[combination] = max(results[combination], len(values))
            self.counts["ok"] += results.total()
        else:
            self.counts.update({ending: entry.own[ending] for ending in ENDINGS})
        self.noise_percent = max(self.noise_percent, entry.own["noise_percent"])
        for key, values in entry.values:
            self.values[key] += values
            job = f"{entry.own['created']} {entry.own['sha256']}"
            self.jobs[key] += itertools.repeat(job, len(values))


def _shares(entries: Iterable[Entry], sides: Sequence[Side]) -> Iterator[_Share]:
    """Yield a share for each setting and side of it.

    Entries with one setting share one object, so its id identifies it as long as it lives.
    """
    by_setting: dict[int, tuple[Mapping[str, Json], list[_Share]]] = {}
    for entry in entries:
        setting = entry.setting
        if id(setting) not in by_setting:
            shares = [_Share(side, setting) for side in sides if side.has_setting(setting)]
            by_setting[id(setting)] = setting, shares
        for share in by_setting[id(setting)][1]:
            if share.side.has_date(entry.own["created"]):
                share.add(entry)
    for _, shares in by_setting.values():
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
