"""Find changes of level in the history of a check, and list what else changed at the same time.

Models: a row contains the records to which one reference of a check applies (`railyard.records.comparable`): the same
machine and parameters, with any commit, MPI and modules. `railyard.analysis.stats.change_points` finds a change. It is
listed with the fields that differ between the records before and after it, such as the commit. Leaves out: whether such
a field is the cause.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from railyard.analysis.compare.sides import Side
from railyard.analysis.over import series
from railyard.analysis.over.series import DatedPoint, DatedRow
from railyard.analysis.stats import change_points, medians
from railyard.records import comparable
from railyard.records.json_io import Json
from railyard.records.store.entries import Entry

#: Field of a setting -> its name in the output.
NAMES = {
    "git_commit": "commit",
    "subject": "your commit",
    "program": "program",
    "git_dirty": "changed checkout",
    "mpi": "MPI",
    "machine": "machine",
    "image": "image",
    "topology": "topology",
}
_COMMIT_DIGITS = 12
#: The most entries of a list that a line shows.
_SHOWN = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of level between two points: medians of the records before and after, and the fields that differ."""

    before: DatedPoint
    after: DatedPoint
    median_before: float
    median_after: float
    p_value: float
    differs: tuple[str, ...]

    @property
    def percent(self) -> float | None:
        """Return the change in percent of the median before."""
        return medians.change_percent(self.median_after, self.median_before)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dated:
    """A row with its changes, oldest first."""

    row: DatedRow
    changes: tuple[Change, ...]


def dated(entries: Iterable[Entry], side: Side | None = None, foms: Sequence[str] = ()) -> list[Dated]:
    """Return every row of at least two records, with the changes that were found."""
    rows = series.series_of(entries, _shared, side, foms)
    return [Dated(row=row, changes=tuple(_changes(row))) for row in rows if len(row.points) > 1]


def can_tell(row: DatedRow) -> bool:
    """Return whether a row has records enough for any change to be found."""
    return len(row.points) >= 2 * change_points.FEWEST


def _shared(setting: Mapping[str, Json]) -> tuple[str, str]:
    return str(setting["check"]), comparable.reference_digest(setting)


def _changes(row: DatedRow) -> Iterator[Change]:
    values = [point.value for point in row.points]
    changes = change_points.changes(values)
    edges = [0, *(change.position for change in changes), len(values)]
    for number, change in enumerate(changes, 1):
        before, after = row.points[change.position - 1], row.points[change.position]
        yield Change(
            before=before,
            after=after,
            median_before=statistics.median(values[edges[number - 1] : change.position]),
            median_after=statistics.median(values[change.position : edges[number + 1]]),
            p_value=change.p_value,
            differs=tuple(differences(before.setting, after.setting)),
        )


def differences(before: Mapping[str, Json], after: Mapping[str, Json]) -> Iterator[str]:
    """Yield in words what two settings name differently: commit, MPI, machine, image, modules, variables."""
    for field, name in NAMES.items():
        if before[field] != after[field]:
            yield f"{name} {_shown(field, before[field])} -> {_shown(field, after[field])}"
    first, second = _job(before), _job(after)
    for name in sorted({*first, *second}):
        gone = sorted(first.get(name, set()) - second.get(name, set()))
        new = sorted(second.get(name, set()) - first.get(name, set()))
        if gone or new:
            yield f"{name} {_list('-', gone)}{' ' if gone and new else ''}{_list('+', new)}"


def _shown(field: str, value: Json) -> str:
    if isinstance(value, dict):
        value = " ".join(map(str, value.values()))
    text = str(value).lower() if isinstance(value, bool) else str(value or "none")
    return text[:_COMMIT_DIGITS] if field in {"git_commit", "subject"} else text[:80]


def _job(setting: Mapping[str, Json]) -> dict[str, set[str]]:
    """Return the lists of a job's environment as sets of texts, by their names."""
    text = setting["job_environment"]
    lists = json.loads(text) if text else {}
    return {str(name).replace("_", " "): _texts(part) for name, part in lists.items()}


def _texts(part: Json) -> set[str]:
    if isinstance(part, dict):
        return {f"{name}={value}" for name, value in part.items()}
    return set(map(str, part)) if isinstance(part, list) else {str(part)}


def _list(sign: str, texts: Sequence[str]) -> str:
    shown = [f"{sign}{text[:80]}" for text in texts[:_SHOWN]]
    return " ".join([*shown, *([f"and {len(texts) - _SHOWN} more"] if len(texts) > _SHOWN else [])])
