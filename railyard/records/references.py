"""References: what a check gave in the archive, so that a regression fails `reframe -r`.

Models: one YAML file in ReFrame's own form (`reference = {'$ref': ...}`): check -> case -> performance variable ->
[median, lower, upper, unit], with the top-level key `$about` saying for each case how many launches and records stand
behind it, and the commit and date at which it last passed. A case is everything that must agree for two runs to be
comparable (`railyard.records.comparable`), so that a small torus is never held against a large one.
Leaves out: making them (`analysis.references`).
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from railyard.base.checkout import CHECKOUT
from railyard.base.errors import InputError
from railyard.records import comparable, units, watched
from railyard.records.benchmark import Labels
from railyard.records.json_io import Json
from railyard.records.record import Record, Software
from railyard.records.store.entries import SeriesKey, head, series_values
from railyard.records.units import Better

FILE = CHECKOUT / "checks" / "references" / "archive.yaml"
INDEX = "reference_case"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """One performance variable: its median and how far a run may be worse, as a share of it."""

    median: float
    tolerance: float
    unit: str
    better: Better

    def is_met(self, value: float) -> bool:
        """Return whether a run's value is not worse than allowed."""
        if self.better is Better.LOWER:
            return value <= self.median * (1 + self.tolerance)
        return value >= self.median * (1 - self.tolerance)

    def as_list(self) -> list[Json]:
        """ReFrame's form: [reference, lower, upper, unit]."""
        if self.better is Better.LOWER:
            return [self.median, None, self.tolerance, self.unit]
        return [self.median, -self.tolerance, None, self.unit]


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What stands behind a case's references: `commit` and `date` of the newest record that they were met at."""

    commit: str
    date: str
    launches: int
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A case's references by performance variable."""

    about: About
    references: Mapping[str, Reference]


#: Check -> case -> entry.
References = Mapping[str, Mapping[str, Entry]]


def side(placement: str, nic_policy: str, software: str, policies: Sequence[str]) -> str:
    """What tells a launch from the others of its job, in a performance variable's name: its placement, its NIC policy
    where there are several, and `image` where it ran from one. `random:1` is `random-1`: ReFrame cuts names at colons.
    """
    parts = [placement.replace(":", "-"), *([nic_policy] if len(policies) > 1 else [])]
    return "/".join([*parts, *([software] if software != Software.NATIVE else [])])


def values(record: Record, policies: Sequence[str]) -> dict[str, float]:
    """Return the performance variables of a record: of each point that is watched the median over launches."""
    by_series = dict(series_values(record))
    return {name: statistics.median(each) for name, each in variables(by_series, policies).items()}


def variables(values: Mapping[SeriesKey, Sequence[float]], policies: Sequence[str]) -> dict[str, list[float]]:
    """Return the performance variables of a case: of each point that is watched a value for each launch."""
    sides: dict[str, dict[tuple[str, Labels], Sequence[float]]] = {}
    for key, of_launches in values.items():
        of_side = sides.setdefault(side(key.placement, key.nic_policy, key.software, policies), {})
        of_side[key.fom, key.labels] = of_launches
    return {
        f"{name}/{variable}": of_launches
        for name, of_side in sides.items()
        for variable, of_launches in watched.variables(of_side).items()
    }


def case_name(record: Record) -> str:
    """A case for people and machines: `vtorus:netns+openmpi gemini-4x4x4 1f2e3d4c`."""
    return case_of(head(record))


def case_of(fields: Mapping[str, Json]) -> str:
    """The same from the head of an index entry."""
    where = f"{fields['system']}:{fields['partition']}+{fields['environment']}"
    return " ".join(filter(None, [where, fields["topology"], comparable.reference_digest(fields)]))


def load(path: Path = FILE) -> dict[str, dict[str, Entry]]:
    """The references in a file, none if it is not there; raises InputError for a file of another form."""
    if not path.exists():
        return {}
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        abouts = document.pop("$about", {})
        return {
            check: {
                case: _entry(abouts[check][case], variables)
                for case, variables in cases.items()
                if case != "$index"
            }
            for check, cases in document.items()
        }
    except (yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError) as error:
        wanted = "a file of `railyard references update`"
        raise InputError(str(path), "", " ".join(str(error).split())[:100], wanted) from error


def _entry(about: Mapping[str, Json], variables: Mapping[str, list[Json]]) -> Entry:
    return Entry(
        about=About(**about), references={name: _reference(name, found) for name, found in variables.items()}
    )


def _reference(name: str, found: list[Json]) -> Reference:
    median, lower, upper, unit = found
    better = units.unit_of(watched.figure(name)).better
    return Reference(median=median, tolerance=upper if lower is None else -lower, unit=unit, better=better)


def text(references: References) -> str:
    """The file's text, the same for the same references."""
    document: dict[str, Json] = {
        check: {
            "$index": [INDEX],
            **{
                case: {name: each.as_list() for name, each in sorted(entry.references.items())}
                for case, entry in sorted(of_check.items())
            },
        }
        for check, of_check in sorted(references.items())
    }
    document["$about"] = {
        check: {case: _about(entry.about) for case, entry in sorted(of_check.items())}
        for check, of_check in sorted(references.items())
    }
    return HEADING + yaml.safe_dump(
        document, allow_unicode=True, sort_keys=True, width=110, default_flow_style=None
    )


HEADING = (
    "# Written by `railyard references update` from the archive; ReFrame reads it, see docs/report.md.\n"
)


def _about(about: About) -> dict[str, Json]:
    return {
        "commit": about.commit,
        "date": about.date,
        "launches": about.launches,
        "records": about.records,
    }


def regressions(check: str, case: str, values: Mapping[str, float], known: References) -> list[str]:
    """What is worse than its reference allows, each in one line that names the commit at which it last passed."""
    entry = known.get(check, {}).get(case)
    if entry is None:
        return []
    return [
        _regression(name, values[name], reference, entry.about)
        for name, reference in sorted(entry.references.items())
        if name in values and not reference.is_met(values[name])
    ]


def _regression(name: str, value: float, reference: Reference, about: About) -> str:
    side = "above" if reference.better is Better.LOWER else "below"
    change = 100 * abs(value / reference.median - 1)
    return (
        f"{name}: {value:.6g} {reference.unit} is {change:.1f} % {side} the reference {reference.median:.6g} "
        f"{reference.unit} ({100 * reference.tolerance:.1f} % allowed); last passed at commit {about.commit[:12]} "
        f"of {about.date} (n = {about.launches})"
    )
