"""Answer what may have made a launch slow: one line for each possible cause, with yes, no or unknown and its evidence.

Models: the causes in the order in which they are looked at; the first yes explains the launch. What the other launches
of its combination have as well explains none of them. Leaves out: which launches were slow and the rule by which an
error counter explains one (`railyard.records.folded.slow`), and the wording of a verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from railyard.analysis.cases import cases
from railyard.analysis.text.numbers import counted
from railyard.records.folded import slow
from railyard.records.folded.health import Event, Health, Kind, Others, Spell
from railyard.records.folded.slow import SlowLaunch
from railyard.records.record import Launch, Record, Verdict
from railyard.records.units import Better

Answer = Literal["yes", "no", "unknown"]
#: Counters and states of heat and frequency, as benchmarks/counters/groups/node.txt names them.
HEAT = ("HOT_CORES", "FREQUENCY_LIMIT")
_OBEYED: Mapping[Verdict, Answer] = {
    Verdict.OBEYED: "no",
    Verdict.NOT_OBEYED: "yes",
    Verdict.CANNOT_TELL: "unknown",
}
#: A part (a pair, a rank) that is so many times as slow as the median of its likes is the one that was waited for.
PART = 1.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A possible cause of a slow launch: whether it was one, and the evidence in a line."""

    cause: str
    answer: Answer
    evidence: str


def suspects(one: SlowLaunch, noise: Record | None = None) -> list[Suspect]:
    """Return what may have made a launch slow, in the order in which it is looked at.

    `noise` is a record of the check `noise` on the same system.
    """
    launch = one.launch
    likes = [
        other
        for other in one.record.launches
        if other.is_result and other is not launch and slow.alike(other, launch)
    ]
    reason = f": {launch.nic_reason}" if launch.nic_reason else ""
    placed = Suspect(
        cause="ranks elsewhere",
        answer=_OBEYED[launch.placement_verdict],
        evidence=f"placement {launch.placement_verdict}",
    )
    policy = Suspect(
        cause="other NICs",
        answer=_OBEYED[launch.nic_verdict],
        evidence=f"NIC policy {launch.nic_verdict}{reason}",
    )
    return [
        placed,
        policy,
        _errors(one),
        _heat(one),
        _neighbours(one, likes),
        _model(one),
        _machine(one, likes),
        _noise(one, noise),
        _parts(launch),
        _when(one),
    ]


def explained(answers: Iterable[Suspect]) -> str:
    """Return the first cause that explains the launch; empty if none does."""
    return next((suspect.cause for suspect in answers if suspect.answer == "yes"), "")


def _errors(one: SlowLaunch) -> Suspect:
    health = one.launch.health
    if one.causes:
        named = "; ".join(event.text() for event in one.causes)
        return Suspect(cause="errors", answer="yes", evidence=f"{named} (by chance in 1 of {one.by_chance})")
    if health is None or not one.is_readable:
        evidence = "the error counters of this or another launch were not read"
        return Suspect(cause="errors", answer="unknown", evidence=evidence)
    count = sum(map(len, health.read.values()))
    other = f"; {_names(health.faults)} grew, but as much elsewhere or too little" if health.faults else ""
    return Suspect(
        cause="errors", answer="no", evidence=f"{counted(count, 'counter')} were read{other}{_blind(health)}"
    )


def _names(events: Iterable[Event]) -> str:
    return ", ".join(sorted({event.event for event in events}))


def _blind(health: Health) -> str:
    names = sorted({name for of_group in health.not_read.values() for name in of_group})
    return f"; not read: {', '.join(names)}" if names else ""


def _heat(one: SlowLaunch) -> Suspect:
    health = one.launch.health
    if health is None or not one.is_readable or not health.has_read(*HEAT):
        return Suspect(
            cause="heat or frequency", answer="unknown", evidence="no core has a readable counter of it"
        )
    hot = [event for event in one.causes if event.event in HEAT]
    read = [name for name in HEAT if health.has_read(name)]
    evidence = "; ".join(event.text() for event in hot) or f"unchanged or as elsewhere: {', '.join(read)}"
    return Suspect(cause="heat or frequency", answer="yes" if hot else "no", evidence=evidence)


def _neighbours(one: SlowLaunch, likes: Sequence[Launch]) -> Suspect:
    """Answer by the counters that grow where other traffic is in the way, each by its sum over all NICs."""
    cause = "neighbours' traffic"
    roles = ", ".join(role.name for role in one.launch.roles or ())
    beside = f"; in the same job: {roles}" if roles else ""
    grown, others = _congestion(one.launch), [_congestion(launch) for launch in likes]
    if one.launch.health is None or not any([grown, *others]):
        evidence = f"no counter of waits, pauses or congestion marks{beside}"
        return Suspect(cause=cause, answer="unknown", evidence=evidence)
    unusual = [
        name
        for name, growth in grown.items()
        if others and all(growth > slow.TIMES * other.get(name, 0) for other in others)
    ]
    if unusual:
        evidence = f"more than {slow.TIMES} times as in any like launch: {', '.join(unusual)}{beside}"
        return Suspect(cause=cause, answer="yes", evidence=evidence)
    return Suspect(
        cause=cause, answer="no", evidence=f"as in the others: {', '.join(grown) or 'no wait'}{beside}"
    )


def _congestion(launch: Launch) -> Mapping[str, int]:
    grown: dict[str, int] = {}
    if launch.health:
        changes: tuple[Event | Others, ...] = (*launch.health.events, *launch.health.others)
        for event in changes:
            if event.kind is Kind.CONGESTION:
                grown[event.event] = grown.get(event.event, 0) + event.count
    return grown


def _model(one: SlowLaunch) -> Suspect:
    """Answer which link the placement's own ranks share; it is the same in all launches of the combination."""
    from railyard.analysis.figures import network  # draws, too: its library is slow to load

    cause = "shared links"
    (case,) = cases.group([one.record])
    panel = next((one_ for one_ in network.panels(case) if one_.placement == one.launch.placement), None)
    if panel is None or not panel.loads.slowest_s:
        evidence = "no model: traffic, topology or the nodes of the ranks are not known"
        return Suspect(cause=cause, answer="unknown", evidence=evidence)
    ((link, _, seconds),) = panel.loads.slowest(1)
    times = seconds / panel.loads.mean_s if panel.loads.mean_s else 1.0
    alike = f"alike in all launches of {panel.placement}"
    evidence = f"by the model {link.name} carries {times:.1f} times the mean, {alike}"
    return Suspect(cause=cause, answer="no", evidence=evidence)


def _machine(one: SlowLaunch, likes: Sequence[Launch]) -> Suspect:
    """Answer by the guard of a virtual torus, whose nodes share one machine, and by why like launches were void."""
    cause = "this machine's load"
    void = [launch for launch in one.record.launches if launch.is_void and slow.alike(launch, one.launch)]
    reasons = sorted({reason for launch in void for reason in (launch.guard.reasons if launch.guard else ())})
    told = f"; {counted(len(void), 'like launch')} void: {'; '.join(reasons)}" if void else ""
    if one.launch.guard is None:
        evidence = f"no guard watched: the nodes have machines of their own{told}"
        return Suspect(cause=cause, answer="unknown", evidence=evidence)
    bound = one.launch.guard.figures.get("error_bound_percent")
    if bound is None:
        return Suspect(cause=cause, answer="unknown", evidence=f"its error bound is not known{told}")
    evidence = f"its times may be {bound:.1f} % too long{told}"
    return Suspect(cause=cause, answer="yes" if bound >= one.percent else "no", evidence=evidence)


def _noise(one: SlowLaunch, record: Record | None) -> Suspect:
    """Answer by what the check `noise` found: what the noise of cores cost there is too little, or may be enough."""
    found = {
        fom: [
            (max(series.samples), series.labels)
            for launch in (record.launches if record else ())
            if launch.is_result
            for series in launch.series
            if series.fom == fom
        ]
        for fom in ("worst_noise_percent", "rank_noise_percent")
    }
    if record is None or not found["worst_noise_percent"]:
        evidence = "the check noise was not run on this system"
        return Suspect(cause="noise of cores", answer="unknown", evidence=evidence)
    worst = max(percent for percent, _ in found["worst_noise_percent"])
    host = max(found["rank_noise_percent"], key=lambda one_: one_[0], default=(0.0, {}))[1].get("host", "")
    evidence = (
        f"record {record.id} of {record.created[:10]}: at most {worst:.2g} %{f', on {host}' if host else ''}"
    )
    return Suspect(
        cause="noise of cores", answer="no" if worst < one.percent / 2 else "unknown", evidence=evidence
    )


def _parts(launch: Launch) -> Suspect:
    """Answer whether one pair or rank was slower than its likes in the same launch."""
    families: dict[tuple[object, ...], list[tuple[float, str]]] = {}
    for series in launch.series:
        labels = {name: value for name, value in series.labels.items() if name in _PARTS}
        if labels and series.samples and series.fom.better is not Better.NEITHER:
            value = float(np.median(series.samples))
            slowness = value if series.fom.better is Better.LOWER else 1 / value if value else 0.0
            rest = tuple(sorted((name, value) for name, value in series.labels.items() if name not in _PARTS))
            name = " to ".join(str(value) for label, value in labels.items() if "rank" not in label)
            families.setdefault((series.fom, *rest), []).append(
                (slowness, name or f"rank {labels.get('rank')}")
            )
    worst = max(
        (
            (max(members)[0] / float(np.median([slowness for slowness, _ in members])), max(members)[1])
            for members in families.values()
            if len(members) >= slow.ENOUGH and np.median([slowness for slowness, _ in members]) > 0
        ),
        default=None,
    )
    if worst is None:
        return Suspect(
            cause="one pair or rank", answer="unknown", evidence="its series have no pairs and no ranks"
        )
    evidence = f"{worst[1]} took {worst[0]:.2f} times as long as the median of its likes"
    return Suspect(cause="one pair or rank", answer="yes" if worst[0] > PART else "no", evidence=evidence)


#: Labels of the parts of a launch.
_PARTS = ("from", "to", "from_rank", "to_rank", "host", "rank")


def _when(one: SlowLaunch) -> Suspect:
    """Answer whether single iterations were slow, when, and whether a scheduled fault of a torus falls on them."""
    cause = "single iterations"
    if (found := slow.iterations(one.launch)) is None:
        return Suspect(cause=cause, answer="unknown", evidence="its samples are fewer than 4")
    health = one.launch.health
    hit = sorted(set(_hit(found, health.spells if health else ())))
    also = f"; meanwhile {', '.join(hit)}" if hit else ""
    return Suspect(cause=cause, answer="yes" if one.is_spike else "no", evidence=f"{found.text()}{also}")


def _hit(found: slow.Iterations, spells: Sequence[Spell]) -> Iterator[str]:
    for spell in spells:
        for number in found.slow:
            begin_s, end_s = found.span_s(number)
            if spell.begin_s < end_s and spell.end_s > begin_s:
                yield f"{spell.link} was {spell.what}"
