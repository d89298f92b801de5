"""Find the launches that were slower than their likes, and what error counters say of them.

Models: the slowness of a launch is the median over its series of its value over the median of the launches of its
combination. A launch is slow if it lies beyond Tukey's upper fence, and by more than `LEAST_PERCENT`.

A counter explains a slow launch if its growth there, added up over all NICs, is more than `TIMES` that of every launch
that was not slow. Were the counter independent of the times, it would name this one of n launches with the probability
1/n, which every statement says. A counter that grows as much in other launches explains nothing, however large it is.

Leaves out: combinations with fewer than `ENOUGH` launches, jobs that ran on other nodes (each job is looked at alone),
and causes that no counter shows (`railyard why` lists what was looked at).
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from railyard.analysis.cases import cases, outliers
from railyard.analysis.cases.cases import Case
from railyard.analysis.cases.comparison import Statement
from railyard.records.health import Event
from railyard.records.record import Launch, Record
from railyard.records.store import entries
from railyard.records.units import Better

ENOUGH = 5
LEAST_PERCENT = 5.0
TIMES = 3
#: Events that stop a link are named before those that slow it down.
WORST = ("LINK_DOWNS", "OUTAGES", "OUTAGE_NS", "SPEED", "RATE", "PCIE_WIDTH")
#: The most events that a statement names.
SHOWN = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowLaunch:
    """A launch of a record that was slower than its likes.

    `percent` is by how much, `of` the number of launches of its combination in its job. `causes` are the events of the
    counters that explain it, those that stop a link first. `is_readable` is whether counters were read.
    """

    record: Record
    launch: Launch
    percent: float
    of: int
    causes: tuple[Event, ...]
    is_readable: bool

    def text(self) -> str:
        """Return the launch in a sentence."""
        head = f"Launch {self.launch.repeat + 1} of {self.of} was {self.percent:.0f} % slower than the median"
        if self.causes:
            more = len(self.causes) - SHOWN
            named = "; ".join(event.text() for event in self.causes[:SHOWN])
            also = f"; and {more} more" if more > 0 else ""
            return f"{head}; in it alone {named}{also} (by chance in 1 of {self.of})."
        known = "no error counter explains it" if self.is_readable else "no error counter was read"
        return f"{head}; {known}."


def launches(record: Record) -> list[SlowLaunch]:
    """Return the slow launches of a record, in the order of the job."""
    of_combination: dict[cases.Combination, list[Launch]] = {}
    for launch in record.launches:
        if launch.is_result:
            of_combination.setdefault(cases.combination_of(launch), []).append(launch)
    slow = [one for alike in of_combination.values() for one in _slow(record, alike)]
    return sorted(slow, key=lambda one: one.launch.index)


def statements(case: Case) -> list[Statement]:
    """Return a sentence for each slow launch of a case that an event explains."""
    return [
        Statement(case.name(cases.combination_of(one.launch)) or one.record.id, one.text(), "slow")
        for record in case.records
        for one in launches(record)
        if one.causes
    ]


def _slow(record: Record, alike: Sequence[Launch]) -> list[SlowLaunch]:
    if len(alike) < ENOUGH:
        return []
    slowness = _slowness(alike)
    low, high = np.percentile(slowness, [25, 75])
    limit = max(high + outliers.FENCE * (high - low), math.log1p(LEAST_PERCENT / 100))
    is_slow = [value > limit for value in slowness]
    grown = [_grown(launch) for launch in alike]
    others = [growth for growth, slow in zip(grown, is_slow, strict=True) if not slow]
    return [
        SlowLaunch(
            record=record,
            launch=launch,
            percent=100 * math.expm1(value),
            of=len(alike),
            causes=_causes(launch, growth, others),
            is_readable=launch.health is not None,
        )
        for launch, value, slow, growth in zip(alike, slowness, is_slow, grown, strict=True)
        if slow
    ]


def _slowness(alike: Sequence[Launch]) -> list[float]:
    """Return the logarithm of how much slower each launch was than the median of all."""
    values = [
        {key: entries.value_of(samples) for key, samples in entries.launch_samples(launch).items()}
        for launch in alike
    ]
    common = [key for key in values[0] if all(of_launch.get(key, 0.0) > 0 for of_launch in values)]
    sign = {key: -1.0 if key[0].better is Better.HIGHER else 1.0 for key in common}
    usual = {key: statistics.median(of_launch[key] for of_launch in values) for key in common}
    return [
        statistics.median(
            [
                sign[key] * math.log(of_launch[key] / usual[key])
                for key in common
                if key[0].better is not Better.NEITHER
            ]
            or [0.0]
        )
        for of_launch in values
    ]


def _grown(launch: Launch) -> Counter[str]:
    grown: Counter[str] = Counter()
    for event in launch.health.events if launch.health else ():
        grown[event.event] += event.count
    return grown


def _causes(
    launch: Launch, grown: Mapping[str, int], others: Sequence[Mapping[str, int]]
) -> tuple[Event, ...]:
    """Return the events of the counters that grew in this launch as in no other that was not slow."""
    unusual = {
        name
        for name, growth in grown.items()
        if all(growth > TIMES * other.get(name, 0) for other in others) and growth
    }
    events = launch.health.events if launch.health else ()
    named = [event for event in events if event.event in unusual]
    return tuple(sorted(named, key=lambda event: (event.event not in WORST, -event.count)))
