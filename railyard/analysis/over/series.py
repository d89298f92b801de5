"""Order records in rows: one series of one check under one combination, with a value for each record.

Models: a record's value of a series is the median over its launches that are results. Records share a row if they ran
the same; what they may differ in is the question of the table, which gives the row's key. Leaves out: the tables.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from railyard.analysis.cases.comparison import label_text
from railyard.analysis.compare.sides import Side
from railyard.records import json_io, programs
from railyard.records.json_io import Json
from railyard.records.store.entries import Entry, SeriesKey


@dataclass(frozen=True, slots=True, kw_only=True)
class DatedPoint:
    """One record of a series, with its launches' values."""

    entry: Entry
    values: tuple[float, ...]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class DatedRow:
    """One series with the records that have it, oldest first."""

    key: SeriesKey
    points: tuple[DatedPoint, ...]

    @property
    def setting(self) -> Mapping[str, Json]:
        """Return the setting of the oldest record."""
        return self.points[0].setting

    @property
    def what(self) -> str:
        """Return system and check, the parameters aside."""
        setting = self.setting
        return f"{setting['check']} on {setting['system']} ({setting['origin']})"

    @property
    def figure(self) -> str:
        """Return the figure of merit, with its labels and the combination that it was measured under."""
        software = "" if self.key.software == "native" else f" + {self.key.software}"
        combination = f"{self.key.placement} + {self.key.nic_policy}{software}"
        labels = label_text(self.key.labels)
        return f"{self.key.fom.stem}{f' {labels}' if labels else ''}, {combination}"

    @property
    def unit(self) -> str:
        """Return the unit for people."""
        return self.key.fom.unit.text


#: What records of one row share; None for records that the table leaves out.
Shared = Callable[[Mapping[str, Json]], Hashable | None]


def series_of(
    entries: Iterable[Entry], shared: Shared, side: Side | None = None, foms: Sequence[str] = ()
) -> list[DatedRow]:
    """Return the rows of the entries that `side` chooses, sorted by system, check, origin, parameters and series.

    `foms` chooses figures. Otherwise figures that follow another are left out, because they are the same measurement.
    """
    points: dict[tuple[Hashable, SeriesKey], list[DatedPoint]] = {}
    groups: dict[int, tuple[Mapping[str, Json], Hashable | None]] = {}
    for entry in entries:
        setting = entry.setting
        if id(setting) not in groups:
            group = shared(setting) if side is None or side.has_setting(setting) else None
            groups[id(setting)] = setting, group
        group = groups[id(setting)][1]
        if group is None or (side is not None and not side.has_date(entry.own["created"])):
            continue
        for key, values in entry.values if foms else _measured(entry):
            if (not foms or key.fom in foms) and (side is None or side.has_series(key)):
                points.setdefault((group, key), []).append(DatedPoint(entry=entry, values=tuple(values)))
    rows = [
        DatedRow(key=key, points=tuple(sorted(members, key=lambda x: (x.created, x.entry.own["id"]))))
        for (_, key), members in points.items()
    ]
    return sorted(rows, key=_order)


def _measured(entry: Entry) -> Iterator[tuple[SeriesKey, Sequence[float]]]:
    """Yield the values of an entry but those of figures that follow another."""
    at_point: dict[Hashable, set[str]] = {}
    for key, _ in entry.values:
        at_point.setdefault((key[:3], key.labels), set()).add(key.fom)
    for key, values in entry.values:
        if not programs.leader(entry.setting["benchmark"], key.fom, at_point[key[:3], key.labels]):
            yield key, values


def _order(row: DatedRow) -> tuple[str, ...]:
    setting, key = row.setting, row.key
    parameters = json_io.canonical(setting["parameters"])
    return (setting["system"], setting["check"], setting["origin"], parameters, key.fom, *map(str, key))
