"""Load: records become comparable cases, and a launch becomes one number for each series.

Models: the pools of records that agree (`railyard.records.comparable` has the rule),
the combinations that a case compares (placements, NIC policies or their pairs) and each launch's value, the
median of its repeats. Leaves out: intervals and verdicts (`analysis.stats.medians`, `analysis.stats.verdicts`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from railyard.records import comparable, noise
from railyard.records.benchmark import Label, Labels
from railyard.records.json_io import Json
from railyard.records.record import Launch, Origin, Record, Software, Status
from railyard.records.store import entries

#: What a combination consists of, for people.
_PARTS = {"placement": "placement", "NIC policy": "nic_policy", "software": "software"}


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Combination:
    """One placement with one NIC policy and one software: what a comparison sets side by side."""

    placement: str
    nic_policy: str
    software: Software = Software.NATIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One launch's value of one series, in the FOM's unit; `record`, `index` lead to its raw samples.

    `repeats` are those samples, of several pairs of hosts or ranks one after another.
    """

    record: str
    index: int
    value: float
    repeats: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How launches ended. `void` ended well but the guard refused them; `ok` are results, of which `unverified` come
    from a program that does not check its data and of `cannot_tell` the placement is not proved.
    """

    ok: int
    failed: int
    not_measured: int
    void: int = 0
    unverified: int = 0
    cannot_tell: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Records that may be compared, with at least one among them."""

    key: str
    records: tuple[Record, ...]
    combinations: tuple[Combination, ...]

    @property
    def first(self) -> Record:
        """The record that stands for what all of them share."""
        return self.records[0]

    @property
    def origin(self) -> Origin:
        """Return where all its numbers come from."""
        return self.first.origin

    @property
    def baseline(self) -> Combination:
        """Return what changes are relative to: the combination named plain or default, else the first the case asked
        for.
        """
        plain = [
            combination for combination in self.combinations if combination.placement == "plain"
        ] or list(self.combinations)
        default = [
            combination for combination in plain if combination.nic_policy in {"library-default", "default"}
        ]
        native = [each for each in default or plain if each.software is Software.NATIVE]
        return (native or default or plain)[0]

    @property
    def head(self) -> str:
        """Return what its combinations differ in, for a table's head."""
        return " + ".join(self._differing) or "placement"

    def name(self, combination: Combination) -> str:
        """A combination's name for people: only what differs between the combinations."""
        return " + ".join(getattr(combination, _PARTS[part]) for part in self._differing or ["placement"])

    @property
    def _differing(self) -> list[str]:
        """Return what its combinations differ in."""
        return [
            part
            for part, name in _PARTS.items()
            if len({getattr(each, name) for each in self.combinations}) > 1
        ]


def group(records: Iterable[Record]) -> list[Case]:
    """Cases of records, each record in exactly one, in the order of system, check and size; the same record
    once.
    """
    cases: dict[str, list[Record]] = {}
    for record in _once(records):
        cases.setdefault(comparable.pool_key(record), []).append(record)
    made = [
        _case(key, sorted(of_key, key=lambda each: (each.created, each.id))) for key, of_key in cases.items()
    ]
    return sorted(made, key=_order)


def _once(records: Iterable[Record]) -> list[Record]:
    """Each job's launches once: of several records of one job, made before and after it ended, the fullest."""
    by_job: dict[str, Record] = {}
    for record in records:
        known = by_job.setdefault(record.job, record)
        if sum(each.is_result for each in record.launches) > sum(each.is_result for each in known.launches):
            by_job[record.job] = record
    return list(by_job.values())


def differences(one: Case, other: Case) -> list[str]:
    """Why two cases are two: the names of the fields that differ, or the checkout that cannot be trusted."""
    first, second = dict(flat(comparable.pool(one.first))), dict(flat(comparable.pool(other.first)))
    names = [name for name in sorted(first.keys() | second.keys()) if first.get(name) != second.get(name)]
    return names or ["a checkout with uncommitted changes, or none"]


def flat(part: Json, prefix: str = "") -> Iterator[tuple[str, Json]]:
    """The leaves of nested objects with their dotted names; arrays are leaves."""
    if isinstance(part, Mapping):
        for name in sorted(part):
            yield from flat(part[name], f"{prefix}.{name}" if prefix else name)
    else:
        yield prefix, part


def launches(case: Case) -> Iterator[tuple[Record, Launch]]:
    """All launches of a case with their records, in order."""
    return ((record, launch) for record in case.records for launch in record.launches)


def tally(case: Case, combination: Combination | None = None) -> Tally:
    """Return how the launches of a combination, or of all, ended."""
    chosen = [
        each for _, each in launches(case) if combination is None or combination_of(each) == combination
    ]
    ok = [each for each in chosen if each.is_result]
    return Tally(
        ok=len(ok),
        failed=sum(each.status is Status.FAILED for each in chosen),
        not_measured=sum(each.status is Status.NOT_MEASURED for each in chosen),
        void=sum(each.is_void for each in chosen),
        unverified=sum(each.verified is not True for each in ok),
        cannot_tell=sum(each.placement_verdict == "cannot-tell" for each in ok),
    )


def noise_percent(case: Case) -> float:
    """Return the largest difference between two groups of a case's launches that shows nothing."""
    return max(map(noise.floor_percent, case.records))


def combination_of(launch: Launch) -> Combination:
    """Which alternative a launch ran."""
    return Combination(placement=launch.placement, nic_policy=launch.nic_policy, software=launch.software)


def observations(case: Case) -> dict[tuple[str, Labels], dict[Combination, list[Observation]]]:
    """For each series (FOM and labels, as they appear) the values of each combination's launches that are results.

    Labels that name hosts or ranks are evidence and no part of the key; a launch that took a series between several
    pairs of them still has one value, the median over the pairs.
    """
    found: dict[tuple[str, Labels], dict[Combination, list[Observation]]] = {}
    for record, launch in launches(case):
        if not launch.is_result:
            continue
        for (fom, labels), taken in entries.launch_samples(launch).items():
            value = entries.value_of(taken)
            repeats = tuple(itertools.chain.from_iterable(taken))
            made = Observation(record=record.id, index=launch.index, value=value, repeats=repeats)
            found.setdefault((fom, labels), {}).setdefault(combination_of(launch), []).append(made)
    return found


def frozen_labels(labels: Mapping[str, Label]) -> Labels:
    """Labels as a key: sorted by name."""
    return tuple(sorted(labels.items()))


def _case(key: str, records: Sequence[Record]) -> Case:
    asked = records[0].case
    combinations = [
        Combination(placement=one, nic_policy=other, software=whose)
        for one in asked.placements
        for other in asked.nic_policies
        for whose in asked.software
    ]
    return Case(key=key, records=tuple(records), combinations=tuple(combinations))


def _order(case: Case) -> tuple[Json, ...]:
    record = case.first
    size = len(record.case.allocation["nodes"])
    names = (record.origin, record.system.name, record.case.benchmark, record.case.check)
    return (*map(str, names), size, record.created, case.key)
