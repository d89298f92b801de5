"""References: what a check gave in the archive, so that a regression fails `reframe -r`.

Models: one YAML file in ReFrame's own form (`reference = {'$ref': ...}`): check -> case -> performance variable ->
[level, lower, upper, unit]. The top-level key `$about` has for each case the history that the references follow from:
the records that passed, the changes that were accepted, and the values of each variable. A case is everything that must
agree for two runs to be comparable (`railyard.records.comparable`), so that a small torus is never held against a large
one. Leaves out: making them (`analysis.references`).
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import yaml

from railyard.base.checkout import CHECKOUT
from railyard.base.errors import InputError
from railyard.records import comparable, watched
from railyard.records.benchmark import Labels
from railyard.records.json_io import Json
from railyard.records.record import Record, Software
from railyard.records.store.entries import Entry as Indexed
from railyard.records.store.entries import SeriesKey, head, series_values
from railyard.records.units import Better

FILE = CHECKOUT / "checks" / "references" / "archive.yaml"
INDEX = "reference_case"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """One performance variable: its level and how far a run may be worse, as a share of it."""

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
class Point:
    """One record's value of a variable, the median over its launches.

    `noise` is the relative standard deviation of that median by the spread of the launches, 0 for a single one.
    """

    median: float
    noise: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A record that passed. `accepted` has the variables that had become worse and were accepted, by how much."""

    record: str
    created: str
    commit: str
    launches: int
    accepted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What stands behind a case's references: `commit` and `date` of the newest record that they were met at."""

    commit: str
    date: str
    launches: int
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A case's references by performance variable, and the history that they follow from, oldest first."""

    about: About
    references: Mapping[str, Reference]
    history: tuple[Past, ...] = ()
    values: Mapping[str, tuple[Point, ...]] = field(default_factory=dict)


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
    return _medians(dict(series_values(record)), policies)


def medians(entry: Indexed) -> dict[str, float]:
    """Return the same from a record's entry in an index."""
    return _medians(dict(entry.values), entry.setting["nic_policies"])


def _medians(values: Mapping[SeriesKey, Sequence[float]], policies: Sequence[str]) -> dict[str, float]:
    return {name: statistics.median(launches) for name, launches in variables(values, policies).items()}


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
    given = {name: about[name] for name in ("commit", "date", "launches", "records")}
    return Entry(
        about=About(**given),
        references={name: _reference(*bounds) for name, bounds in variables.items()},
        history=tuple(
            Past(**{**past, "accepted": tuple(past.get("accepted", ()))}) for past in about.get("history", ())
        ),
        values={
            name: tuple(Point(median=median, noise=noise) for median, noise in points)
            for name, points in about.get("values", {}).items()
        },
    )


def _reference(level: float, lower: float | None, upper: float | None, unit: str) -> Reference:
    """Read ReFrame's form: a time has no lower bound, a rate no upper one."""
    if upper is not None:
        return Reference(median=level, tolerance=upper, unit=unit, better=Better.LOWER)
    if lower is None:
        raise ValueError("a reference without bounds")
    return Reference(median=level, tolerance=-lower, unit=unit, better=Better.HIGHER)


def text(references: References) -> str:
    """The file's text, the same for the same references."""
    document: dict[str, Json] = {
        check: {
            "$index": [INDEX],
            **{
                case: {name: reference.as_list() for name, reference in sorted(entry.references.items())}
                for case, entry in sorted(of_check.items())
            },
        }
        for check, of_check in sorted(references.items())
    }
    document["$about"] = {
        check: {case: _about(entry) for case, entry in sorted(of_check.items())}
        for check, of_check in sorted(references.items())
    }
    return HEADING + yaml.safe_dump(
        document, allow_unicode=True, sort_keys=True, width=110, default_flow_style=None
    )


HEADING = (
    "# Written by `railyard references update` from the archive; ReFrame reads it, see docs/report.md.\n"
)


def _about(entry: Entry) -> dict[str, Json]:
    history = [
        {name: list(value) if name == "accepted" else value for name, value in asdict(past).items() if value}
        for past in entry.history
    ]
    values = {
        name: [[point.median, point.noise] for point in points]
        for name, points in sorted(entry.values.items())
    }
    return {**asdict(entry.about), "history": history, "values": values}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a run is against its references: `worse` has a line per variable, `missing` what could not be judged.

    `judged` counts the variables that have a reference.
    """

    worse: tuple[str, ...]
    missing: tuple[str, ...]
    judged: int


def judged(check: str, case: str, values: Mapping[str, float], references: References) -> Judgement:
    """Hold the variables of a run against the references of its check and case."""
    cases = references.get(check, {})
    entry = cases.get(case)
    if entry is None:
        others = f"{check} has references of {len(cases)} other case(s), such as {next(iter(cases), '')!r}"
        missing = f"{check}: no reference for this case: {case!r}; {others}"
        return Judgement(worse=(), missing=(missing,) if cases else (), judged=0)
    compared = {name: reference for name, reference in entry.references.items() if name in values}
    return Judgement(
        worse=tuple(
            _regression(name, values[name], reference, entry.about)
            for name, reference in sorted(compared.items())
            if not reference.is_met(values[name])
        ),
        missing=tuple(
            f"{check}: no value of {name}, which has a reference"
            for name in sorted(entry.references.keys() - values.keys())
        ),
        judged=len(compared),
    )


def _regression(name: str, value: float, reference: Reference, about: About) -> str:
    side = "above" if reference.better is Better.LOWER else "below"
    change = 100 * abs(value / reference.median - 1)
    return (
        f"{name}: {value:.6g} {reference.unit} is {change:.1f} % {side} the reference {reference.median:.6g} "
        f"{reference.unit} ({100 * reference.tolerance:.1f} % allowed); last passed at commit {about.commit[:12]} "
        f"of {about.date} (n = {about.launches})"
    )
