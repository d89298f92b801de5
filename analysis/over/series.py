"""Records in rows: one series of one check under one combination, with a value for each record.

Models: a record's value of a series is the median over its launches that are results. Records share a row if they ran
the same; what they may differ in is the question of the table, which gives the row's key. Leaves out: the tables.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from analysis.cases.comparison import label_text
from analysis.compare.sides import Side
from railyard.records import json_io, units
from railyard.records.json_io import Json
from railyard.records.store.entries import Entry, SeriesKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What one record has of a series: its launches' values."""

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
class Row:
    """One series with the records that have it, oldest first."""

    key: SeriesKey
    taken: tuple[Taken, ...]

    @property
    def setting(self) -> Mapping[str, Json]:
        """Return the setting of the oldest record."""
        return self.taken[0].setting

    @property
    def what(self) -> str:
        """Return system and check, the parameters aside."""
        setting = self.setting
        return f"{setting['check']} on {setting['system']} ({setting['origin']})"

    @property
    def figure(self) -> str:
        """Return what was measured under what."""
        software = "" if self.key.software == "native" else f" + {self.key.software}"
        under = f"{self.key.placement} + {self.key.nic_policy}{software}"
        labels = label_text(self.key.labels)
        return f"{units.stem(self.key.fom)}{f' {labels}' if labels else ''}, {under}"

    @property
    def unit(self) -> str:
        """Return the unit for people."""
        return units.unit_of(self.key.fom).text


#: What records of one row share; None for records that the table leaves out.
Shared = Callable[[Mapping[str, Json]], Hashable | None]


def rows(
    entries: Iterable[Entry], shared: Shared, side: Side | None = None, foms: Sequence[str] = ()
) -> list[Row]:
    """Return the rows of the entries that `side` means, in the order of what they are of."""
    found: dict[tuple[Hashable, SeriesKey], list[Taken]] = {}
    known: dict[int, tuple[Mapping[str, Json], Hashable | None]] = {}
    for entry in entries:
        setting = entry.setting
        if id(setting) not in known:
            known[id(setting)] = (
                setting,
                shared(setting) if side is None or side.has_setting(setting) else None,
            )
        group = known[id(setting)][1]
        if group is None or (side is not None and not side.has_date(entry.own["created"])):
            continue
        for key, values in entry.values:
            if (not foms or key.fom in foms) and (side is None or side.has_series(key)):
                found.setdefault((group, key), []).append(Taken(entry=entry, values=tuple(values)))
    made = [
        Row(key=key, taken=tuple(sorted(taken, key=lambda each: (each.created, each.entry.own["id"]))))
        for (_, key), taken in found.items()
    ]
    return sorted(made, key=_order)


def _order(row: Row) -> tuple[str, ...]:
    setting, key = row.setting, row.key
    parameters = json_io.canonical(setting["parameters"])
    return (setting["system"], setting["check"], setting["origin"], parameters, key.fom, *map(str, key))
