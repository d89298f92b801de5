"""Parse the sides of a comparison: which records, placements, NIC policies and software each one chooses.

Models: a side is written `KEY=VALUE[,KEY=VALUE...]` with the keys of `KEYS`, a path (an archive or record files), or a
bare word that is a system, placement, NIC policy or date of the archive. Leaves out: what is compared row by row
(`railyard.analysis.judge.versus`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import InputError, did_you_mean
from railyard.records.json_io import Json
from railyard.records.store.entries import Entry, SeriesKey

#: Key -> the field of a record's setting that it chooses by, a value or a list that has it. Placement, nic and software
#: also choose among a record's launches. The date is a record's own.
KEYS = {
    "system": "system",
    "partition": "partition",
    "environment": "environment",
    "check": "check",
    "topology": "topology",
    "commit": "git_commit",
    "subject": "subject",
    "mpi": "mpi",
    "study": "studies",
    "placement": "placements",
    "nic": "nic_policies",
    "software": "software",
    "image": "image",
    "date": "",
}
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
#: The most values that an error lists.
_SHOWN = 20
_DATES = re.compile(rf"({_DATE})(?:\.\.({_DATE}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side: its name as the user wrote it, and what it chooses; `paths` is empty for the archive."""

    name: str
    wanted: Mapping[str, str]
    paths: Sequence[Path] = ()

    def has_setting(self, setting: Mapping[str, Json]) -> bool:
        """Return whether records of a setting are of this side, their dates and launches aside."""
        return all(_fits(key, setting[KEYS[key]], value) for key, value in self.wanted.items() if KEYS[key])

    def has_date(self, created: str) -> bool:
        """Return whether a record of such a setting, made at this time, is of this side."""
        first, _, last = self.wanted.get("date", "").partition("..")
        return not first or first <= created[:10] <= (last or first)

    def has_series(self, key: SeriesKey) -> bool:
        """Return whether a series of such a record is of this side."""
        fields = {"placement": key.placement, "nic": key.nic_policy, "software": key.software}
        return all(self.wanted.get(name, value) == value for name, value in fields.items())


def _fits(key: str, field: Json, value: str) -> bool:
    if isinstance(field, list):
        return value in field
    if key in {"commit", "subject", "image"}:
        return bool(field) and str(field).startswith(value)
    return str(field) == value


def require(side: Side, entries: Iterable[Entry]) -> None:
    """Raise InputError for a side without a record; the line lists what there is of the first key that nothing fits."""
    chosen = list(entries)

    def has_record(side: Side) -> bool:
        return any(side.has_setting(entry.setting) and side.has_date(entry.own["created"]) for entry in chosen)

    if has_record(side):
        return
    for key, value in side.wanted.items():
        if not has_record(Side(name=side.name, wanted={key: value})):
            there = sorted({text for entry in chosen for text in _values(key, entry)})
            more = [f"... ({len(there) - _SHOWN} more)"] if len(there) > _SHOWN else []
            valid = f"{key}={', '.join([*there[:_SHOWN], *more])}" if there else "records; the archive has none"
            problem = f"no record has {key}={value}{did_you_mean(value, there)}"
            raise InputError("SIDE", "", problem=problem, valid=valid)
    problem = f"no record has all of {side.name}"
    raise InputError("SIDE", "", problem=problem, valid="values that one record has together")


def _values(key: str, entry: Entry) -> Iterator[str]:
    field = entry.own["created"][:10] if key == "date" else entry.setting[KEYS[key]]
    yield from map(str, field if isinstance(field, list) else filter(None, [field]))


def parse(texts: Sequence[str], archive: Callable[[], Iterable[Entry]]) -> list[Side]:
    """Return the sides that the texts describe; `archive` returns all entries, and is called only for a bare word.

    Raises InputError for an unknown key, a date that is none, a word that nothing has or that two kinds of things have,
    and a side given twice.
    """

    @functools.cache
    def words() -> Mapping[str, set[str]]:  # the values that bare words may have, by key
        kinds: dict[str, set[str]] = {"system": set(), "placement": set(), "nic": set(), "date": set()}
        for entry in archive():
            for key, values in kinds.items():
                values.update(_values(key, entry))
        return kinds

    sides = [_parse(text, words) for text in texts]
    if twice := [text for text in texts if texts.count(text) > 1]:
        raise InputError("SIDE", "", twice[0], "each side once")
    return sides


def varied(sides: Sequence[Side]) -> frozenset[str]:
    """Return the keys whose values differ between the sides; paths count as systems."""
    keys = {key for side in sides for key in side.wanted}
    differing = {key for key in keys if len({side.wanted.get(key) for side in sides}) > 1}
    return frozenset(differing | ({"system"} if any(side.paths for side in sides) else set()))


def _parse(text: str, words: Callable[[], Mapping[str, set[str]]]) -> Side:
    if "=" in text:
        return Side(name=text, wanted=dict(_pair(text, part) for part in text.split(",")))
    if Path(text).exists() and ("/" in text or Path(text).is_dir()):
        return Side(name=text, wanted={}, paths=(Path(text),))
    if _DATES.fullmatch(text):
        return Side(name=text, wanted={"date": text})
    kinds = words()
    fitting = [kind for kind, values in kinds.items() if text in values]
    if len(fitting) == 1:
        return Side(name=text, wanted={fitting[0]: text})
    if fitting:
        raise InputError("SIDE", "", text, f"{' or '.join(f'{kind}={text}' for kind in fitting)}: it is both")
    there = [f"{kind}={value}" for kind, values in kinds.items() for value in sorted(values)[:8]]
    raise InputError("SIDE", "", text, f"a path, KEY=VALUE, or one of {', '.join(there) or 'an archive with records'}")


def _pair(text: str, part: str) -> tuple[str, str]:
    key, _, value = part.partition("=")
    if key not in KEYS or not value:
        raise InputError("SIDE", "", text, f"KEY=VALUE,... with keys {', '.join(KEYS)}")
    if key == "date" and not _DATES.fullmatch(value):
        raise InputError("SIDE", "date", value, "2026-11-21 or 2026-11-01..2026-11-21")
    return key, value
