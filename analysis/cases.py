"""Load: records become comparable cases, and a launch becomes one number for each series.

Models: which records may stand in one comparison (all of origin, system, check, parameters, topology, nodes,
virtual torus, machine, MPI library and code equal; a record from a dirty or unknown checkout stands alone),
the arms that a case compares (placements, NIC policies or their pairs) and each launch's value, the median of
its repeats. Leaves out: intervals and verdicts (`analysis.statistics`, `analysis.comparison`).
"""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from results import strictjson
from results.benchmark import Label
from results.record import Launch, Origin, Record, Status
from results.strictjson import Json

Labels = tuple[tuple[str, Label], ...]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Arm:
    """One alternative of a comparison."""

    placement: str
    nic_policy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One launch's value of one series, in the FOM's unit; `record`, `index` lead to its raw samples."""

    record: str
    index: int
    repeats: int
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How the launches of an arm ended; `unverified` are ok, but the program does not check its data."""

    ok: int
    failed: int
    not_measured: int
    unverified: int = 0
    cannot_tell: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Records that may be compared, with at least one among them."""

    key: str
    records: tuple[Record, ...]
    arms: tuple[Arm, ...]

    @property
    def first(self) -> Record:
        """The record that stands for what all of them share."""
        return self.records[0]

    @property
    def origin(self) -> Origin:
        """Where all its numbers come from."""
        return self.first.origin

    @property
    def baseline(self) -> Arm:
        """What changes are relative to: the arm named plain or default, else the first the case asked for."""
        plain = [arm for arm in self.arms if arm.placement == "plain"] or list(self.arms)
        default = [arm for arm in plain if arm.nic_policy in {"library-default", "default"}]
        return (default or plain)[0]

    def name(self, arm: Arm) -> str:
        """An arm's name for people: only what differs between the arms."""
        if len({each.nic_policy for each in self.arms}) == 1:
            return arm.placement
        if len({each.placement for each in self.arms}) == 1:
            return arm.nic_policy
        return f"{arm.placement}, {arm.nic_policy}"


def group(records: Iterable[Record]) -> list[Case]:
    """Cases of records, each record in exactly one, in the order of system, check and size; the same record
    once.
    """
    cases: dict[str, list[Record]] = {}
    for record in {record.id: record for record in records}.values():
        cases.setdefault(case_key(record), []).append(record)
    made = [
        _case(key, sorted(of_key, key=lambda each: (each.created, each.id))) for key, of_key in cases.items()
    ]
    return sorted(made, key=_order)


def case_key(record: Record) -> str:
    """Equal for records that may be compared, and for no others."""
    asked = dict(record.document["case"])
    for varies in ("seed", "launches_per_combination", "studies"):
        asked.pop(varies)
    known = record.provenance["railyard"]["git_dirty"] is False
    parts = {
        "case": asked,
        "origin": record.document["origin"],
        "system": record.document["system"],
        "provenance": {name: part for name, part in record.provenance.items() if name != "reframe"},
        "alone": "" if known else record.id,
    }
    if record.status is Status.SKIPPED:
        parts["alone"] = record.id
    return hashlib.sha256(strictjson.canonical(parts).encode("ascii")).hexdigest()


def launches(case: Case) -> Iterator[tuple[Record, Launch]]:
    """All launches of a case with their records, in order."""
    return ((record, launch) for record in case.records for launch in record.launches)


def tally(case: Case, arm: Arm | None = None) -> Tally:
    """How the launches of an arm, or of all, ended."""
    chosen = [each for _, each in launches(case) if arm is None or arm_of(each) == arm]
    ok = [each for each in chosen if each.status is Status.OK]
    return Tally(
        ok=len(ok),
        failed=sum(each.status is Status.FAILED for each in chosen),
        not_measured=sum(each.status is Status.NOT_MEASURED for each in chosen),
        unverified=sum(each.verified is not True for each in ok),
        cannot_tell=sum(each.placement_verdict == "cannot-tell" for each in ok),
    )


def arm_of(launch: Launch) -> Arm:
    """Which alternative a launch ran."""
    return Arm(placement=launch.placement, nic_policy=launch.nic_policy)


def observations(case: Case) -> dict[tuple[str, Labels], dict[Arm, list[Observation]]]:
    """For each series (FOM and labels, in order of appearance) the values of each arm's ok launches."""
    found: dict[tuple[str, Labels], dict[Arm, list[Observation]]] = {}
    for record, launch in launches(case):
        if launch.status is not Status.OK:
            continue
        for series in launch.series:
            of_arm = found.setdefault((series.fom, frozen_labels(series.labels)), {})
            value = Observation(
                record=record.id,
                index=launch.index,
                repeats=len(series.samples),
                value=statistics.median(series.samples),
            )
            of_arm.setdefault(arm_of(launch), []).append(value)
    return found


def frozen_labels(labels: Mapping[str, Label]) -> Labels:
    """Labels as a key: sorted by name."""
    return tuple(sorted(labels.items()))


def _case(key: str, records: Sequence[Record]) -> Case:
    asked = records[0].case
    arms = [Arm(placement=one, nic_policy=other) for one in asked.placements for other in asked.nic_policies]
    return Case(key=key, records=tuple(records), arms=tuple(arms))


def _order(case: Case) -> tuple[Json, ...]:
    record = case.first
    size = len(record.case.allocation["nodes"])
    names = (record.origin, record.system.name, record.case.benchmark, record.case.check)
    return (*map(str, names), size, record.created, case.key)
