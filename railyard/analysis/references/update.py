"""References from the archive: what each check and case allows, by the history of its records.

Models: the records of a case pass one after another, in the order of their creation. Each is held against the limits
that follow from those before it (`railyard.analysis.references.limits`). A record that is worse is left out, so that a
regression never becomes the measure of the next run, unless the caller accepts it: then the history of the variables
that are worse begins again, and names the change. A history has the oldest three records and the last thirty.
Leaves out: points that are not watched (`railyard.records.watched`).
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from railyard.analysis.references import limits
from railyard.analysis.stats import medians, samples
from railyard.analysis.text import counted
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
    by_case, left_out = good_by_case(entries)
    notes = []
    if left_out:
        why = "not ok, void launches, or a checkout with changes or without a commit"
        notes.append(f"{counted(left_out, 'record')} left out: {why}")
    cases: dict[str, dict[str, Entry]] = {check: dict(of_check) for check, of_check in old.items()}
    family = family_of(old, by_case)
    for (check, case), of_case in sorted(by_case.items()):
        entry = old.get(check, {}).get(case, NOTHING)
        newest = max((past.created for past in (*entry.history, *entry.suspects)), default="")
        for indexed in of_case:
            if indexed.own["created"] > newest:
                entry, note = after_record(entry, indexed, family, accept=accept)
                notes += [f"{check}, {case}: {note}"] if note else []
        if entry.references:
            cases.setdefault(check, {})[case] = entry
        else:
            notes.append(f"{check}, {case}: fewer than {medians.ENOUGH} launches, no reference")
    return Updated(references=cases, notes=tuple(notes))


def limits_of(entry: Entry, family: int) -> limits.Limits[Fom]:
    """Return the limits of a case."""
    worse_if_larger = {name: name.better is Better.LOWER for name in entry.values}
    return limits.limits(entry.values, larger_is_worse=worse_if_larger, family=family)


def variables_of(references: References) -> int:
    """Return the number of variables of all cases, the family of tests that one run makes."""
    return sum(len(entry.values) for of_check in references.values() for entry in of_check.values())


def good_by_case(entries: Iterable[Indexed]) -> tuple[Mapping[tuple[str, str], list[Indexed]], int]:
    """Return the good records from clean checkouts by check and case, oldest first, and how many others there are."""
    by_case: dict[tuple[str, str], list[Indexed]] = {}
    left_out = 0
    for entry in sorted(entries, key=lambda entry: (entry.own["created"], entry.own["id"])):
        head = entry.head
        if head["status"] != "ok" or head["git_dirty"] or head["git_commit"] is None or head["void"]:
            left_out += 1
        else:
            by_case.setdefault((head["check"], references.case_of(head)), []).append(entry)
    return by_case, left_out


def family_of(old: References, by_case: Mapping[tuple[str, str], Sequence[Indexed]]) -> int:
    """Return how many variables one run judges: those of all cases, with and without a history."""
    others = {
        check: {case: entry for case, entry in of_check.items() if (check, case) not in by_case}
        for check, of_check in old.items()
    }
    here = (max(len(launches_of(indexed)) for indexed in of_case) for of_case in by_case.values())
    return max(1, variables_of(others) + sum(here))


def after_record(entry: Entry, indexed: Indexed, family: int, *, accept: bool) -> tuple[Entry, str]:
    """Return a case after one more record, and a note: what is worse, or what was accepted."""
    launches = launches_of(indexed)
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
    """Return a case after one more record, and what is worse than its limits allow.

    `launches` has the launches' values of each variable. A worse record is a suspect or changes nothing, unless it is
    accepted.
    """
    points = {name: _point(values) for name, values in launches.items()}
    now = limits_of(entry, family)
    medians_of = {name: median for name, (median, _) in points.items()}
    names, shift = now.worse(medians_of) if entry.references else ((), 0.0)
    worse = tuple(
        f"{name} {100 * abs(medians_of[name] / now.of[name].level - 1):.1f} % worse" for name in sorted(names)
    )
    if worse and not accept:
        if shift or now.shift is None:
            suspect = dataclasses.replace(past, suspected={str(name): point for name, point in points.items()})
            entry = dataclasses.replace(entry, suspects=(*entry.suspects, suspect)[-limits.LAST :])
        return entry, worse
    for suspect in entry.suspects:
        if _is_refuted(suspect, medians_of, now):
            own = {name: suspect.suspected[name] for name in points if name in suspect.suspected}
            entry = _appended(entry, dataclasses.replace(suspect, suspected={}), own)
    values = {name: points_of for name, points_of in entry.values.items() if name not in names}
    entry = dataclasses.replace(entry, values=values, suspects=())
    after = _appended(entry, dataclasses.replace(past, accepted=worse), points)
    if after.about.launches < medians.ENOUGH:
        return after, worse
    by_name: dict[str, Reference] = {}
    for name, limit in limits_of(after, family).of.items():
        change = limit.worst / limit.level - 1
        tolerance = change if name.better is Better.LOWER else -change
        by_name[name] = Reference(
            median=float(f"{limit.level if tolerance > 0 else limit.worst:.6g}"),
            tolerance=round(max(0.0, tolerance), 4),
            unit=name.unit.text,
            better=name.better,
        )
    return dataclasses.replace(after, references=by_name), worse


def _is_refuted(suspect: Past, now: Mapping[Fom, float], limits_now: limits.Limits[Fom]) -> bool:
    """Return whether a record that passes is nearer to the level than to the suspect: not the commit was slow."""
    common = [name for name in now if name in suspect.suspected and name in limits_now.of]
    passed = [limits_now.of[name].distance(now[name]) for name in common]
    red = [limits_now.of[name].distance(suspect.suspected[name][0]) for name in common]
    return bool(common) and 2 * statistics.median(passed) < statistics.median(red)


def _appended(entry: Entry, past: Past, points: Mapping[Fom, tuple[float, float]]) -> Entry:
    """Return a case's history with one more record."""
    about = About(
        commit=past.commit,
        date=past.created[:10],
        launches=entry.about.launches + past.launches,
        records=entry.about.records + 1,
    )
    new = {name: Point(median=median, noise=noise, record=about.records) for name, (median, noise) in points.items()}
    appended = {name: _shortened((*entry.values.get(name, ()), point)) for name, point in new.items()}
    history = _shortened((*entry.history, past))
    return dataclasses.replace(entry, about=about, history=history, values={**entry.values, **appended})


def launches_of(indexed: Indexed) -> dict[Fom, list[float]]:
    """Return the values of a record's variables that have a better direction and a logarithm."""
    return {
        name: values
        for name, values in references.variables(indexed).items()
        if values and min(values) > 0 and name.better is not Better.NEITHER
    }


def _point(values: Sequence[float]) -> tuple[float, float]:
    """Return a record's median, and its standard error by the median deviation of the launches, relative to it."""
    median = statistics.median(values)
    deviation = samples.OF_A_NORMAL * statistics.median(abs(value - median) for value in values)
    noise = deviation / median * math.sqrt(math.pi / 2 / len(values))
    return float(f"{median:.6g}"), float(f"{noise:.3g}")


def _shortened(points: tuple[T, ...]) -> tuple[T, ...]:
    """Return the oldest and the newest points of a history, which are all that it keeps."""
    is_short = len(points) <= limits.OLDEST + limits.KEPT
    return points if is_short else (*points[: limits.OLDEST], *points[-limits.KEPT :])
