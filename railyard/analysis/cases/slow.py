"""Find the launches that were slower than their likes, and the error counters that explain them.

Models: the slowness of a launch is the median over its series of its value over the median of the launches of its
combination. A launch is slow if it lies beyond Tukey's upper fence, and by more than `LEAST_PERCENT`.

A counter explains a slow launch if its growth there, added up over all NICs, is more than `TIMES` that of every launch
that was not slow. If the counter did not depend on the times, it would name this one of n launches with a probability
of 1/n, which every statement contains. A counter that grows as much in other launches explains nothing, at any size.

Leaves out: combinations with fewer than `ENOUGH` launches, events where the counters of a launch were not read, jobs
that ran on other nodes (each job is looked at alone), and causes that no counter shows (`railyard why` lists what was
looked at).
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from railyard.analysis.cases import cases, outliers
from railyard.analysis.cases.cases import Case
from railyard.analysis.cases.comparison import Statement
from railyard.records.folded.health import Event
from railyard.records.record import Launch, Record, Verdict
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
    counters that explain it, those that stop a link first. `is_readable` is whether the counters of all
    launches of the combination were read.
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
            return f"{head}; in it {named}{also} (by chance in 1 of {self.of})."
        rest = "no error counter explains it" if self.is_readable else "not all error counters were read"
        return f"{head}; {rest}."

    def suspects(self) -> list[Suspect]:
        """Return what may have made the launch slow, the surest evidence first."""
        return list(_suspects(self))


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
    is_known = all(launch.health is not None for launch in alike)
    others = [growth for growth, slow in zip(grown, is_slow, strict=True) if is_known and not slow]
    return [
        SlowLaunch(
            record=record,
            launch=launch,
            percent=100 * math.expm1(value),
            of=len(alike),
            causes=_causes(launch, growth, others),
            is_readable=is_known,
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
    """Return the events of the counters that grew in this launch as in none of the others, empty without others."""
    unusual = {
        name
        for name, growth in grown.items()
        if others and growth and all(growth > TIMES * other.get(name, 0) for other in others)
    }
    events = launch.health.events if launch.health else ()
    named = [event for event in events if event.event in unusual]
    return tuple(sorted(named, key=lambda event: (event.event not in WORST, -event.count)))


# ---- what may have made a launch slow ----

#: Counters of heat, as benchmarks/counters/groups/node.txt names them.
HOT = "HOT_CORES"
Answer = Literal["yes", "no", "unknown"]
_OBEYED: Mapping[Verdict, Answer] = {
    Verdict.OBEYED: "no",
    Verdict.NOT_OBEYED: "yes",
    Verdict.CANNOT_TELL: "unknown",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A possible cause of a slow launch: whether it was one, and the evidence in a line."""

    cause: str
    answer: Answer
    evidence: str


def _suspects(one: SlowLaunch) -> Iterator[Suspect]:
    launch, health = one.launch, one.launch.health
    moved, strayed = _OBEYED[launch.placement_verdict], _OBEYED[launch.nic_verdict]
    yield Suspect(cause="ranks elsewhere", answer=moved, evidence=f"placement {launch.placement_verdict}")
    reason = f": {launch.nic_reason}" if launch.nic_reason else ""
    yield Suspect(cause="other NICs", answer=strayed, evidence=f"NIC policy {launch.nic_verdict}{reason}")
    if one.causes:
        yield Suspect(cause="errors", answer="yes", evidence="; ".join(event.text() for event in one.causes))
    elif health is None or not one.is_readable:
        evidence = "the error counters of this or another launch were not read"
        yield Suspect(cause="errors", answer="unknown", evidence=evidence)
    else:
        count = sum(map(len, health.read.values()))
        lacking = ", ".join(sorted({name for names in health.not_read.values() for name in names}))
        other = "; others grew in other launches as well" if health.events else ""
        blind = f"; not read: {lacking}" if lacking else ""
        yield Suspect(cause="errors", answer="no", evidence=f"{count} counters were read{other}{blind}")
    if health is not None and one.is_readable and any(HOT in names for names in health.read.values()):
        hot = any(event.event == HOT for event in one.causes)
        yield Suspect(cause="heat", answer="yes" if hot else "no", evidence=f"counter {HOT}")
    else:
        yield Suspect(cause="heat", answer="unknown", evidence="no core has a readable counter")
    names = ", ".join(role.name for role in launch.roles or ())
    yield Suspect(
        cause="other programs",
        answer="unknown",
        evidence=f"in the same job: {names or 'none'}; other jobs are not seen",
    )
    if (guard := launch.guard) is not None:
        bound = guard.figures.get("error_bound_percent")
        load = "its error bound is not known" if bound is None else f"its times may be {bound:.1f} % too long"
        answer: Answer = "unknown" if bound is None else "yes" if bound >= one.percent else "no"
        yield Suspect(cause="this machine", answer=answer, evidence=load)
        share = 100 * guard.figures.get("busiest_link_share", 0.0)
        evidence = f"{guard.figures.get('busiest_link', 'no link')} sent at {share:.0f} % of its rate"
        yield Suspect(cause="a full link", answer="unknown" if share > 90 else "no", evidence=evidence)
    else:
        yield Suspect(cause="a full link", answer="unknown", evidence="no link's counters were read")
    yield Suspect(cause="noise", answer="unknown", evidence="the check `noise` measures each core")
