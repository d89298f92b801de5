"""Group records into comparable cases, and reduce each launch to one number per series.

Models: the pools of records that agree (`railyard.records.comparable` has the rule), the combinations that a case
compares (placements, NIC policies or their pairs) and each launch's value, the median of its repeats. Leaves out:
verdicts (`railyard.analysis.stats.verdicts`).
"""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from railyard.analysis.stats.medians import Summary, summarise
from railyard.records import comparable, noise
from railyard.records.benchmark import Label, Labels
from railyard.records.json_io import Json
from railyard.records.record import Launch, Origin, Record, Software
from railyard.records.store import entries
from railyard.records.units import Fom

K = TypeVar("K")
#: How a launch ended, by the names that documents use, for people; the guard refused `void` ones, which ended well.
ENDINGS = {"ok": "with a result", "void": "void", "failed": "failed", "not_measured": "not measured"}
#: What a combination consists of, for people.
_PARTS = {"placement": "placement", "NIC policy": "nic_policy", "software": "software"}


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Combination:
    """One placement with one NIC policy and one software: what a comparison compares."""

    placement: str
    nic_policy: str
    software: Software = Software.NATIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One launch's value of one series, in the FOM's unit; `job` identifies the job that started the launch.

    `repeats` are its raw samples, those of several pairs of hosts or ranks one after another.
    """

    value: float
    job: str = ""
    repeats: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Records that may be compared: one at least."""

    key: str
    records: tuple[Record, ...]
    combinations: tuple[Combination, ...]

    @property
    def first(self) -> Record:
        """Return the record from which the fields that all share are read."""
        return self.records[0]

    @property
    def origin(self) -> Origin:
        """Return where all its numbers come from."""
        return self.first.origin

    @property
    def baseline(self) -> Combination:
        """Return what changes are relative to: the combination named plain or default, else the case's first."""
        return min(  # the first of the best
            self.combinations,
            key=lambda combination: (
                combination.placement != "plain",
                combination.nic_policy not in {"library-default", "default"},
                combination.software is not Software.NATIVE,
            ),
        )

    @property
    def head(self) -> str:
        """Return what its combinations differ in, for a table's head."""
        return " + ".join(self._differing) or "placement"

    def name(self, combination: Combination) -> str:
        """Return a combination's name for people: only what differs between the combinations."""
        return " + ".join(getattr(combination, _PARTS[part]) for part in self._differing or ["placement"])

    @property
    def _differing(self) -> list[str]:
        """Return what its combinations differ in."""
        return [
            part
            for part, name in _PARTS.items()
            if len({getattr(combination, name) for combination in self.combinations}) > 1
        ]


def group(records: Iterable[Record]) -> list[Case]:
    """Return the cases in the order of origin, system, check and size; every record is in exactly one of them."""
    by_job: dict[str, Record] = {}  # of the records made before and after a job ended, the one with the most results
    for record in records:
        if _results(record) > _results(by_job.setdefault(record.job, record)):
            by_job[record.job] = record
    pools: dict[str, list[Record]] = {}
    for record in by_job.values():
        pools.setdefault(comparable.pool_key(record), []).append(record)
    return sorted(itertools.starmap(_case, pools.items()), key=_order)


def _results(record: Record) -> int:
    return sum(launch.is_result for launch in record.launches)


def differences(one: Case, other: Case) -> list[str]:
    """Return why two cases are not one: the names of the fields that differ, or that a checkout cannot be trusted."""
    first, second = dict(flat(comparable.pool(one.first))), dict(flat(comparable.pool(other.first)))
    names = [name for name in sorted(first.keys() | second.keys()) if first.get(name) != second.get(name)]
    return names or ["a checkout with uncommitted changes, or none"]


def flat(part: Json, prefix: str = "") -> Iterator[tuple[str, Json]]:
    """Yield the leaves of nested objects with their dotted names; arrays are leaves."""
    if isinstance(part, Mapping):
        for name in sorted(part):
            yield from flat(part[name], f"{prefix}.{name}" if prefix else name)
    else:
        yield prefix, part


def launches(case: Case) -> Iterator[tuple[Record, Launch]]:
    """Return all launches of a case with their records, in order."""
    return ((record, launch) for record in case.records for launch in record.launches)


def tally(case: Case, combination: Combination | None = None) -> Counter[str]:
    """Return the number of launches of a combination, or of all: `planned`, and how these ended (`ENDINGS`).

    Of the results `unverified` are from a program that does not check its data, and `cannot_tell` have a placement that
    is not proved.
    """
    chosen = [launch for _, launch in launches(case) if combination is None or combination_of(launch) == combination]
    ok = [launch for launch in chosen if launch.is_result]
    return Counter(
        {
            **entries.counts(chosen),
            "planned": len(chosen),
            "unverified": sum(launch.verified is not True for launch in ok),
            "cannot_tell": sum(launch.placement_verdict == "cannot-tell" for launch in ok),
        }
    )


def tally_text(counts: Mapping[str, int], *, zeros: bool = True) -> str:
    """Return `5 with a result, 1 void, 0 failed, 0 not measured`, the zeros left out on request."""
    return ", ".join(f"{counts[ending]} {words}" for ending, words in ENDINGS.items() if counts[ending] or zeros)


def noise_percent(case: Case) -> float:
    """Return the largest difference between two groups of a case's launches that shows nothing."""
    return max(map(noise.floor_percent, case.records))


def combination_of(launch: Launch) -> Combination:
    """Return the combination that a launch ran."""
    return Combination(placement=launch.placement, nic_policy=launch.nic_policy, software=launch.software)


def observations(case: Case) -> dict[tuple[Fom, Labels], dict[Combination, list[Observation]]]:
    """Return for each series (FOM and labels, in order of appearance) the values of each combination's results.

    Labels that name hosts or ranks are evidence and no part of the key. A launch that measured a series between several
    pairs of them still has one value, the median over the pairs.
    """
    observed: dict[tuple[Fom, Labels], dict[Combination, list[Observation]]] = {}
    for record, launch in launches(case):
        if not launch.is_result:
            continue
        for (fom, labels), samples in entries.samples_of(launch.series).items():
            value, repeats = entries.value_of(samples), tuple(itertools.chain.from_iterable(samples))
            of_series = observed.setdefault((fom, labels), {}).setdefault(combination_of(launch), [])
            of_series.append(Observation(value=value, job=record.job, repeats=repeats))
    return observed


def medians(case: Case, fom: str, part_of: Callable[[dict[str, Label]], K | None]) -> dict[K, float]:
    """Return the median of each part of a figure of merit over all launches and combinations.

    `part_of` returns the part that a series is of by its labels, None for one that is left out.
    """
    values: dict[K, list[float]] = {}
    for (name, labels), by_combination in observations(case).items():
        part = part_of(dict(labels)) if name == fom else None
        if part is not None:
            of_part = values.setdefault(part, [])
            of_part += [launch.value for launches in by_combination.values() for launch in launches]
    return {part: statistics.median(of_part) for part, of_part in values.items()}


def summary(observed: Sequence[Observation]) -> Summary:
    """Return the statistics of one group of launches; raises ValueError for none."""
    return summarise([launch.value for launch in observed], [launch.job for launch in observed])


def frozen_labels(labels: Mapping[str, Label]) -> Labels:
    """Return labels as a key, sorted by name."""
    return tuple(sorted(labels.items()))


def _case(key: str, records: Sequence[Record]) -> Case:
    ordered = tuple(sorted(records, key=lambda record: (record.created, record.id)))
    request = ordered[0].case
    combinations = tuple(
        Combination(placement=placement, nic_policy=policy, software=software)
        for placement, policy, software in itertools.product(request.placements, request.nic_policies, request.software)
    )
    return Case(key=key, records=ordered, combinations=combinations)


def _order(case: Case) -> tuple[Json, ...]:
    record = case.first
    size = len(record.case.allocation["nodes"])
    names = (record.origin, record.system.name, record.case.benchmark, record.case.check)
    return (*map(str, names), size, record.created, case.key)
