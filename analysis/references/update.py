"""References from the archive: medians and tolerances of every check and case that has enough launches.

Models: the median over the launches of all records of a case from a commit without changes, and a tolerance of four
times their run-to-run variation, at least 3 % and at most 30 %. A reference that would become worse by more than its
tolerance is kept as it is, unless the caller accepts it: a regression must not become the measure of the next run.
Leaves out: points that are not watched (`railyard.records.watched`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from analysis.stats import medians
from railyard.records import references, units, watched
from railyard.records.references import About, Entry, Reference, References
from railyard.records.store.entries import Entry as Indexed
from railyard.records.units import Better

SPREADS = 4.0
LEAST, MOST = 0.03, 0.30


@dataclass(frozen=True, slots=True, kw_only=True)
class Updated:
    """New references, and one line for everything that was left as it was or left out."""

    references: References
    notes: tuple[str, ...]


@dataclass(slots=True)
class _Case:
    values: dict[str, list[float]] = field(default_factory=dict)
    newest: tuple[str, str] = ("", "")
    records: int = 0


def updated(entries: Iterable[Indexed], old: References, *, accept: bool = False) -> Updated:
    """The references that follow from an archive's entries; cases that are not in the archive stay as they are."""
    made: dict[str, dict[str, Entry]] = {check: dict(of_check) for check, of_check in old.items()}
    found_cases, left_out = _gathered(entries)
    notes = (
        [
            f"{left_out} records left out: not ok, void launches, or a checkout with changes or without a commit"
        ]
        if left_out
        else []
    )
    for (check, case), found in sorted(found_cases.items()):
        entry = _entry(found)
        before = old.get(check, {}).get(case)
        if not entry.references:
            notes.append(f"{check}, {case}: fewer than {medians.ENOUGH} launches, no reference")
        elif not accept and before and (worse := _worse(entry, before)):
            notes.append(f"{check}, {case}: kept, because it got worse: {worse}")
        else:
            made.setdefault(check, {})[case] = entry
    return Updated(references=made, notes=tuple(notes))


def _gathered(entries: Iterable[Indexed]) -> tuple[Mapping[tuple[str, str], _Case], int]:
    """The launches' values of good records from clean checkouts, by check and case; how many are no such records."""
    found: dict[tuple[str, str], _Case] = {}
    left_out = 0
    for entry in entries:
        head = entry.head
        if head["status"] != "ok" or head["git_dirty"] or head["git_commit"] is None or head["void"]:
            left_out += 1
            continue
        of_case = found.setdefault((head["check"], references.case_of(head)), _Case())
        of_case.records += 1
        of_case.newest = max(of_case.newest, (head["created"], head["git_commit"]))
        for name, values in references.variables(dict(entry.values), head["nic_policies"]).items():
            of_case.values.setdefault(name, []).extend(values)
    return found, left_out


def _entry(found: _Case) -> Entry:
    date, commit = found.newest
    enough = {name: values for name, values in found.values.items() if len(values) >= medians.ENOUGH}
    about = About(
        commit=commit,
        date=date[:10],
        launches=min(map(len, enough.values()), default=0),
        records=found.records,
    )
    made = {name: reference for name, values in enough.items() if (reference := _reference(name, values))}
    return Entry(about=about, references=made)


def _reference(name: str, values: list[float]) -> Reference | None:
    unit = units.unit_of(watched.figure(name))
    summary = medians.summarise(values)
    if unit.better is Better.NEITHER or summary.median <= 0:
        return None
    spread = (summary.spread_percent or 0.0) / 100
    return Reference(
        median=float(f"{summary.median:.6g}"),
        tolerance=round(min(MOST, max(LEAST, SPREADS * spread)), 3),
        unit=unit.text,
        better=unit.better,
    )


def _worse(entry: Entry, before: Entry) -> str:
    """The first reference that fails the old one, or nothing."""
    for name, reference in sorted(entry.references.items()):
        old = before.references.get(name)
        if old and not old.is_met(reference.median):
            return f"{name} {reference.median:.6g} {reference.unit}, was {old.median:.6g}"
    return ""
