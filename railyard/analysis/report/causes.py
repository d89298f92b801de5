"""Answer what may have made a launch slow: one line for each possible cause, with yes, no or unknown and its evidence.

Models: the causes in the order in which they are looked at; the first yes explains the launch. What the other launches
of its combination have as well explains none of them. Leaves out: which launches were slow and the rule by which an
error counter explains one (`railyard.records.folded.slow`), and the wording of a verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from railyard.analysis.cases import cases
from railyard.analysis.text import counted
from railyard.records.folded import slow
from railyard.records.folded.health import Event, Kind, Others
from railyard.records.folded.slow import SlowLaunch
from railyard.records.record import Launch, Record, Verdict
from railyard.records.units import Better

Answer = Literal["yes", "no", "unknown"]
#: Counters and states of heat and frequency, as benchmarks/counters/groups/node.txt names them.
HEAT = ("HOT_CORES", "FREQUENCY_LIMIT")
_OBEYED: Mapping[Verdict, Answer] = {Verdict.OBEYED: "no", Verdict.NOT_OBEYED: "yes", Verdict.CANNOT_TELL: "unknown"}
#: A part (a pair, a rank) that is so many times as slow as the median of its likes is the one that was waited for.
PART = 1.25


class Suspect(NamedTuple):
    """A possible cause of a slow launch: whether it was one, and the evidence in a line."""

    cause: str
    answer: Answer
    evidence: str


Answered = tuple[Answer, str]


def suspects(one: SlowLaunch, noise: Record | None = None) -> list[Suspect]:
    """Return what may have made a launch slow, in the order in which it is looked at.

    `noise` is a record of the check `noise` on the same system.
    """
    launch = one.launch
    likes = [
        other
        for other in one.record.launches
        if other.is_result and other is not launch and other.combination == launch.combination
    ]
    reason = f": {launch.nic_reason}" if launch.nic_reason else ""
    answered: dict[str, Answered] = {
        "ranks elsewhere": (_OBEYED[launch.placement_verdict], f"placement {launch.placement_verdict}"),
        "other NICs": (_OBEYED[launch.nic_verdict], f"NIC policy {launch.nic_verdict}{reason}"),
        "errors": _errors(one),
        "heat or frequency": _heat(one),
        "neighbours' traffic": _neighbours(launch, likes),
        "shared links": _model(one),
        "this machine's load": _machine(one),
        "noise of cores": _noise(one, noise),
        "one pair or rank": _parts(launch),
        "single iterations": _when(one),
    }
    return [Suspect(cause, *how) for cause, how in answered.items()]


def _errors(one: SlowLaunch) -> Answered:
    health = one.launch.health
    if one.causes:
        return "yes", f"{'; '.join(event.text() for event in one.causes)} (by chance in 1 of {one.by_chance})"
    if health is None or not one.is_readable:
        return "unknown", "the error counters of this or another launch were not read"
    count = counted(sum(map(len, health.read.values())), "counter")
    names = sorted({event.event for event in health.faults})
    grown = f"; {', '.join(names)} grew, but as much elsewhere or too little" if names else ""
    set_back = sorted({event.where for event in health.events if event.kind is Kind.RESET})
    back = f"; counters of {', '.join(set_back[: slow.SHOWN])} were set back" if set_back else ""
    unread = sorted({name for of_group in health.not_read.values() for name in of_group})
    return "no", f"{count} were read{grown}{back}" + (f"; not read: {', '.join(unread)}" if unread else "")


def _heat(one: SlowLaunch) -> Answered:
    health = one.launch.health
    if health is None or not one.is_readable or not health.has_read(*HEAT):
        return "unknown", "no core has a readable counter of it"
    if hot := [event.text() for event in one.causes if event.event in HEAT]:
        return "yes", "; ".join(hot)
    return "no", f"unchanged or as elsewhere: {', '.join(name for name in HEAT if health.has_read(name))}"


def _neighbours(launch: Launch, likes: Sequence[Launch]) -> Answered:
    """Answer by the counters that grow where other traffic is in the way, each by its sum over all NICs."""
    roles = ", ".join(role.name for role in launch.roles or ())
    programs = f"; in the same job: {roles}" if roles else ""
    grown, others = _congestion(launch), [_congestion(like) for like in likes]
    if launch.health is None or not any([grown, *others]):
        return "unknown", f"no counter of waits, pauses or congestion marks{programs}"
    unusual = [
        name
        for name, growth in grown.items()
        if others and all(growth > slow.TIMES * other.get(name, 0) for other in others)
    ]
    if unusual:
        return "yes", f"more than {slow.TIMES} times as in any like launch: {', '.join(unusual)}{programs}"
    return "no", f"as in the others: {', '.join(grown) or 'no wait'}{programs}"


def _congestion(launch: Launch) -> Mapping[str, int]:
    grown: Counter[str] = Counter()
    changes: tuple[Event | Others, ...] = (*launch.health.events, *launch.health.others) if launch.health else ()
    for event in changes:
        if event.kind is Kind.CONGESTION:
            grown[event.event] += event.count
    return grown


def _model(one: SlowLaunch) -> Answered:
    """Answer which link the placement's own ranks share; it is the same in all launches of the combination."""
    from railyard.analysis.figures import network  # draws, too: its library is slow to load

    (case,) = cases.group([one.record])
    panel = next((panel for panel in network.panels(case) if panel.placement == one.launch.placement), None)
    if panel is None or not panel.loads.slowest_s:
        return "unknown", "no model: traffic, topology or the nodes of the ranks are not known"
    ((link, _, seconds),) = panel.loads.slowest(1)
    times = seconds / panel.loads.mean_s if panel.loads.mean_s else 1.0
    likewise = f"alike in all launches of {panel.placement}"
    return "no", f"by the model {link.name} carries {times:.1f} times the mean, {likewise}"


def _machine(one: SlowLaunch) -> Answered:
    """Answer by the guard of a virtual torus, whose nodes share one machine, and by why like launches were void."""
    void = [launch for launch in one.record.launches if launch.is_void and launch.combination == one.launch.combination]
    reasons = sorted({reason for launch in void for reason in (launch.guard.reasons if launch.guard else ())})
    more = f"; {counted(len(void), 'like launch')} void: {'; '.join(reasons)}" if void else ""
    if one.launch.guard is None:
        return "unknown", f"no guard watched: the nodes have machines of their own{more}"
    bound = one.launch.guard.figures.get("error_bound_percent")
    if bound is None:
        return "unknown", f"its error bound is not known{more}"
    return "yes" if bound >= one.percent else "no", f"its times may be {bound:.1f} % too long{more}"


def _noise(one: SlowLaunch, record: Record | None) -> Answered:
    """Answer by what the check `noise` measured: what the noise of cores cost there is too little, or may be enough."""

    def measured(fom: str) -> list[tuple[float, str]]:
        launches = [launch for launch in (record.launches if record else ()) if launch.is_result]
        series = (series for launch in launches for series in launch.series if series.fom == fom)
        return [(max(one.samples), str(one.labels.get("host", ""))) for one in series]

    if record is None or not (of_launches := measured("worst_noise_percent")):
        return "unknown", "the check noise was not run on this system"
    worst, host = max(of_launches)[0], max(measured("rank_noise_percent"), default=(0.0, ""))[1]
    evidence = f"record {record.id} of {record.created[:10]}: at most {worst:.2g} %{f', on {host}' if host else ''}"
    return "no" if worst < one.percent / 2 else "unknown", evidence


def _parts(launch: Launch) -> Answered:
    """Answer whether one pair or rank was slower than its likes in the same launch."""
    families: dict[tuple[object, ...], list[tuple[float, str]]] = {}
    for series in launch.series:
        labels = {name: value for name, value in series.labels.items() if name in _PARTS}
        if labels and series.samples and series.fom.better is not Better.NEITHER:
            value = float(np.median(series.samples))
            slowness = value if series.fom.better is Better.LOWER else 1 / value if value else 0.0
            rest = tuple(sorted((name, value) for name, value in series.labels.items() if name not in _PARTS))
            ends = " to ".join(str(value) for label, value in labels.items() if "rank" not in label)
            part = slowness, ends or f"rank {labels.get('rank')}"
            families.setdefault((series.fom, *rest), []).append(part)
    slowest = []
    for members in families.values():
        usual = float(np.median([slowness for slowness, _ in members]))
        if len(members) >= slow.ENOUGH and usual > 0:
            slowest.append((max(members)[0] / usual, max(members)[1]))
    if not slowest:
        return "unknown", "its series have no pairs and no ranks"
    times, name = max(slowest)
    return ("yes" if times > PART else "no", f"{name} took {times:.2f} times as long as the median of its likes")


#: Labels of the parts of a launch.
_PARTS = ("from", "to", "from_rank", "to_rank", "host", "rank")


def _when(one: SlowLaunch) -> Answered:
    """Answer whether single iterations were slow, when, and whether a scheduled fault of a torus falls on them."""
    if (measured := slow.iterations(one.launch)) is None:
        return "unknown", "its samples are fewer than 4"
    spells = one.launch.health.spells if one.launch.health else ()
    during = {
        f"{spell.link} was {spell.what}"
        for spell in spells
        for begin_s, end_s in map(measured.span_s, measured.slow)
        if spell.begin_s < end_s and spell.end_s > begin_s
    }
    also = f"; meanwhile {', '.join(sorted(during))}" if during else ""
    return "yes" if one.is_spike else "no", f"{measured.text()}{also}"
