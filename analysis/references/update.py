"""References from the archive: what each check and case allows, by the history of its records.

Models: the records of a case pass one after another, in the order of their creation. Each is held against the limits
that follow from those before it (`analysis.references.limits`). A record that is worse is left out, so that a
regression never becomes the measure of the next run, unless the caller accepts it: then the history of the variables
that are worse begins again, and names the change. A history has the oldest three records and the last ten.
Leaves out: points that are not watched (`railyard.records.watched`).
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from analysis.references import limits
from analysis.stats import medians, samples
from railyard.records import references
from railyard.records.references import About, Entry, Past, Point, Reference, References
from railyard.records.store.entries import Entry as Indexed
from railyard.records.units import Better, Fom

T = TypeVar("T")
NOTHING = Entry(about=About(commit="", date="", launches=0, records=0), references={})


@dataclass(frozen=True, slots=True, kw_only=True)
class Updated:
    """New references, and one line for everything that was left as it was or left out."""

    references: References
    notes: tuple[str, ...]


def updated(entries: Iterable[Indexed], old: References, *, accept: bool = False) -> Updated:
    """Return the references after an archive's entries; records that the history has seen change nothing."""
    by_case, left_out = _by_case(entries)
    notes = []
    if left_out:
        why = "not ok, void launches, or a checkout with changes or without a commit"
        notes.append(f"{left_out} record{'' if left_out == 1 else 's'} left out: {why}")
    cases: dict[str, dict[str, Entry]] = {check: dict(of_check) for check, of_check in old.items()}
    family = _family(old, by_case)
    for (check, case), of_case in sorted(by_case.items()):
        entry = old.get(check, {}).get(case, NOTHING)
        newest = entry.history[-1].created if entry.history else ""
        for indexed in sorted(of_case, key=lambda indexed: (indexed.own["created"], indexed.own["id"])):
            if indexed.own["created"] > newest:
                entry, note = _after(entry, indexed, family, accept=accept)
                notes += [f"{check}, {case}: {note}"] if note else []
        if entry.references:
            cases.setdefault(check, {})[case] = entry
        else:
            notes.append(f"{check}, {case}: fewer than {medians.ENOUGH} launches, no reference")
    return Updated(references=cases, notes=tuple(notes))


def power(entry: Entry, family: int) -> dict[Fom, limits.Limit]:
    """Return the limit of each variable of a case, which names what it finds."""
    worse_if_larger = {name: name.better is Better.LOWER for name in entry.values}
    return limits.limits(entry.values, larger_is_worse=worse_if_larger, family=family) if entry.values else {}


def variables_of(references: References) -> int:
    """Return the number of variables of all cases, the family of tests that one run makes."""
    return sum(len(entry.values) for of_check in references.values() for entry in of_check.values())


def _by_case(entries: Iterable[Indexed]) -> tuple[Mapping[tuple[str, str], list[Indexed]], int]:
    """Return the good records from clean checkouts by check and case, and how many are no such records."""
    by_case: dict[tuple[str, str], list[Indexed]] = {}
    left_out = 0
    for entry in entries:
        head = entry.head
        if head["status"] != "ok" or head["git_dirty"] or head["git_commit"] is None or head["void"]:
            left_out += 1
        else:
            by_case.setdefault((head["check"], references.case_of(head)), []).append(entry)
    return by_case, left_out


def _family(old: References, by_case: Mapping[tuple[str, str], Sequence[Indexed]]) -> int:
    """Return how many variables one run judges: those of all cases, with and without a history."""
    others = sum(
        len(entry.values)
        for check, of_check in old.items()
        for case, entry in of_check.items()
        if (check, case) not in by_case
    )
    here = (max(len(_launches(indexed)) for indexed in of_case) for of_case in by_case.values())
    return max(1, others + sum(here))


def _after(entry: Entry, indexed: Indexed, family: int, *, accept: bool) -> tuple[Entry, str]:
    """Return a case after one more record, and a note: what is worse, or what was accepted."""
    launches = _launches(indexed)
    past = Past(
        record=indexed.own["id"],
        created=indexed.own["created"],
        commit=indexed.setting["subject"] or indexed.setting["git_commit"],
        launches=min(map(len, launches.values()), default=0),
    )
    after, worse = added(entry, past, launches, family, accept=accept)
    which = f"record {past.record[:12]} of {past.created[:10]}"
    what = "accepted" if accept else "left out, because it got worse"
    return after, f"{which} {what}: {'; '.join(worse)}" if worse else ""


def added(
    entry: Entry, past: Past, launches: Mapping[Fom, Sequence[float]], family: int, *, accept: bool = False
) -> tuple[Entry, tuple[str, ...]]:
    """Return a case after one more record, and what is worse than its references allow.

    `launches` has the launches' values of each variable. A worse record changes nothing, unless it is accepted.
    """
    points = {name: _point(values) for name, values in launches.items()}
    medians_of = {str(name): point.median for name, point in points.items()}
    changes = {
        name: 100 * abs(medians_of[name] / reference.median - 1)
        for name, reference in sorted(entry.references.items())
        if name in medians_of and not reference.is_met(medians_of[name])
    }
    worse = tuple(f"{name} {change:.1f} % worse" for name, change in changes.items())
    if worse and not accept:
        return entry, worse
    before = {name: values for name, values in entry.values.items() if name not in changes}
    appended = {name: _shortened((*before.get(name, ()), point)) for name, point in points.items()}
    about = About(
        commit=past.commit,
        date=past.created[:10],
        launches=entry.about.launches + past.launches,
        records=entry.about.records + 1,
    )
    history = _shortened((*entry.history, dataclasses.replace(past, accepted=worse)))
    after = Entry(about=about, references={}, history=history, values={**before, **appended})
    if about.launches >= medians.ENOUGH:
        after = dataclasses.replace(after, references=_references(after, family))
    return after, worse


def _launches(indexed: Indexed) -> dict[Fom, list[float]]:
    """Return the values of a record's variables that have a better direction and a logarithm."""
    variables = references.variables(dict(indexed.values), indexed.setting["nic_policies"])
    return {
        name: values
        for name, values in variables.items()
        if values and min(values) > 0 and name.better is not Better.NEITHER
    }


def _point(values: Sequence[float]) -> Point:
    """Return a record's median, and its standard error by the median deviation of the launches, relative to it."""
    median = statistics.median(values)
    deviation = samples.OF_A_NORMAL * statistics.median(abs(value - median) for value in values)
    noise = deviation / median * math.sqrt(math.pi / 2 / len(values))
    return Point(median=float(f"{median:.6g}"), noise=float(f"{noise:.3g}"))


def _shortened(points: tuple[T, ...]) -> tuple[T, ...]:
    """Return the oldest and the last of a history."""
    return (
        points
        if len(points) <= limits.OLDEST + limits.LAST
        else (*points[: limits.OLDEST], *points[-limits.LAST :])
    )


def _references(entry: Entry, family: int) -> dict[str, Reference]:
    by_name: dict[str, Reference] = {}
    for name, limit in power(entry, family).items():
        change = limit.worst / limit.level - 1
        tolerance = change if name.better is Better.LOWER else -change
        by_name[name] = Reference(
            median=float(f"{limit.level if tolerance > 0 else limit.worst:.6g}"),
            tolerance=round(max(0.0, tolerance), 4),
            unit=name.unit.text,
            better=name.better,
        )
    return by_name
