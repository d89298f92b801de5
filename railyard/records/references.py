"""Read and write references: the past values of each check in the archive, so that a regression fails `reframe -r`.

Models: one YAML file in ReFrame's own form (`reference = {'$ref': ...}`): check -> case -> performance variable ->
[level, lower, upper, unit]. The top-level key `$about` has the history of each case, from which its references are
computed: the records that passed, the changes that were accepted, and the values of each variable. A case consists of
all fields that must agree for two runs to be comparable (`railyard.records.comparable`), so that a small torus is never
compared with a large one. Leaves out: computing references (`railyard.analysis.references`).
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

import yaml

from railyard.base import yaml_io
from railyard.base.checkout import CHECKOUT
from railyard.base.decoded import decoded
from railyard.base.errors import InputError
from railyard.records import benchmark, comparable, units, watched
from railyard.records.benchmark import Labels
from railyard.records.json_io import Json
from railyard.records.record import Record, Software
from railyard.records.store.entries import Entry as Indexed
from railyard.records.store.entries import head
from railyard.records.units import Better, Fom

FILE = CHECKOUT / "checks" / "references" / "archive.yaml"
INDEX = "reference_case"
#: What separates the kind of machine in the name of a case.
ON = " on "


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The reference of one performance variable; a run may be worse by `tolerance`, a fraction of `median`."""

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
        """Return ReFrame's form: [reference, lower, upper, unit], the bounds as fractions, None on the better side."""
        if self.better is Better.LOWER:
            return [self.median, None, self.tolerance, self.unit]
        return [self.median, -self.tolerance, None, self.unit]


class Point(NamedTuple):
    """One record's value of a performance variable: the median over its launches.

    `noise` is the relative standard error of that median, estimated from the spread of the launches; 0 for one launch.
    `record` is equal for the points of one record, and rises with time.
    """

    median: float
    noise: float
    record: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A record of the history. `accepted` has one text for each variable that got worse and was accepted nevertheless.

    `suspected` are the points of a record that was worse alike in all variables: variable -> (median, noise).
    """

    record: str
    created: str
    commit: str
    launches: int
    accepted: tuple[str, ...] = ()
    suspected: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The origin of a case's references; `commit` and `date` are those of the newest record that passed."""

    commit: str
    date: str
    launches: int
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A case's references by performance variable, and the history from which they are computed, oldest first.

    `suspects` are records that may have been slow because of the machine. They enter the history when a later record is
    as fast as before.
    """

    about: About
    references: Mapping[str, Reference]
    history: tuple[Past, ...] = ()
    values: Mapping[Fom, tuple[Point, ...]] = field(default_factory=dict)
    suspects: tuple[Past, ...] = ()


#: Check -> case -> entry.
References = Mapping[str, Mapping[str, Entry]]


def side(placement: str, nic_policy: str, software: str, policies: Sequence[str]) -> str:
    """Return the first part of a performance variable's name, which distinguishes the combinations of a job.

    It has the placement, the NIC policy if there are several, and `image` if the launch ran from an image, separated by
    slashes. `random:1` becomes `random-1`, because ReFrame splits names at colons.
    """
    parts = [part.replace(":", "-") for part in (placement, *([nic_policy] if len(policies) > 1 else []))]
    return "/".join([*parts, *([software] if software != Software.NATIVE else [])])


def medians(entry: Indexed) -> dict[Fom, float]:
    """Return the performance variables of a record: name -> median over launches."""
    return {name: statistics.median(launches) for name, launches in variables(entry).items()}


def variables(entry: Indexed) -> dict[Fom, list[float]]:
    """Return the performance variables of a record (`railyard.records.watched`): name -> one value per launch."""
    policies = entry.setting["nic_policies"]
    sides: dict[str, dict[tuple[Fom, Labels], Sequence[float]]] = {}
    for key, of_launches in entry.values:
        of_side = sides.setdefault(side(key.placement, key.nic_policy, key.software, policies), {})
        of_side[key.fom, key.labels] = of_launches
    return {
        variable.named(f"{name}/{variable}"): of_launches
        for name, of_side in sides.items()
        for variable, of_launches in watched.variables(of_side).items()
    }


def case_name(record: Record) -> str:
    """Return the name of a record's case, such as `vtorus:netns+openmpi gemini-4x4x4 1f2e3d4c on EPYC 7763, 4 CPUs`."""
    return case_of(head(record))


def case_of(fields: Mapping[str, Json]) -> str:
    """Return what `case_name` returns, from the fields of an index entry."""
    where = f"{fields['system']}:{fields['partition']}+{fields['environment']}"
    name = " ".join(filter(None, [where, fields["topology"], comparable.reference_digest(fields)]))
    return f"{name}{ON}{fields['processors']}"


def kind_of(case: str) -> tuple[str, str]:
    """Return a case's name without its kind of machine, and the kind."""
    name, _, kind = case.partition(ON)
    return name, kind


def load(path: Path = FILE) -> dict[str, dict[str, Entry]]:
    """Return check -> case -> entry from a file, empty if it does not exist; raises InputError for an invalid file."""
    if not path.exists():
        return {}
    try:
        document = yaml_io.read(path) or {}
        abouts = document.pop("$about", {})
        return {
            check: {
                case: _entry(abouts[check][case], variables) for case, variables in cases.items() if case != "$index"
            }
            for check, cases in document.items()
        }
    except (yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError) as error:
        wanted = "a file of `railyard references update`"
        raise InputError(str(path), "", " ".join(str(error).split())[:100], wanted) from error


def _entry(about: Mapping[str, Json], variables: Mapping[str, list[Json]]) -> Entry:
    return Entry(
        about=decoded(About, about, "history"),
        references={name: _reference(*bounds) for name, bounds in variables.items()},
        history=tuple(decoded(Past, past, "history") for past in about.get("history", ())),
        suspects=tuple(decoded(Past, past, "history") for past in about.get("suspects", ())),
        values={
            units.fom(figure, **about["figures"][figure]).named(name): tuple(Point(*point) for point in points)
            for name, points in about.get("values", {}).items()
            for figure in [watched.figure(name)]
        },
    )


def _reference(level: float, lower: float | None, upper: float | None, unit: str) -> Reference:
    """Return a reference from ReFrame's form, in which a time has no lower bound and a rate no upper bound."""
    if upper is not None:
        return Reference(median=level, tolerance=upper, unit=unit, better=Better.LOWER)
    if lower is None:
        raise ValueError("a reference without bounds")
    return Reference(median=level, tolerance=-lower, unit=unit, better=Better.HIGHER)


def text(references: References) -> str:
    """Return the text of the file of references; equal references give equal text."""
    document: dict[str, Json] = {
        check: {
            "$index": [INDEX],
            **{
                case: {str(name): reference.as_list() for name, reference in sorted(entry.references.items())}
                for case, entry in sorted(of_check.items())
            },
        }
        for check, of_check in sorted(references.items())
    }
    document["$about"] = {
        check: {case: _about(entry) for case, entry in sorted(of_check.items())}
        for check, of_check in sorted(references.items())
    }
    return HEADING + yaml.safe_dump(document, allow_unicode=True, sort_keys=True, width=110, default_flow_style=None)


HEADING = "# Written by `railyard references update` from the archive; ReFrame reads it, see docs/report.md.\n"


def _about(entry: Entry) -> dict[str, Json]:
    values = {str(name): list(map(list, points)) for name, points in sorted(entry.values.items())}
    figures = benchmark.figures_json(name.named(watched.figure(name)) for name in entry.values)
    suspects = {"suspects": list(map(_past_json, entry.suspects))} if entry.suspects else {}
    history = list(map(_past_json, entry.history))
    return {**asdict(entry.about), "history": history, "figures": figures, "values": values, **suspects}


def _past_json(past: Past) -> dict[str, Json]:
    lists = {"accepted": list(past.accepted), "suspected": {name: list(p) for name, p in past.suspected.items()}}
    return {name: value for name, value in {**asdict(past), **lists}.items() if value}
