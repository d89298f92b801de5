"""Check the health of a launch: which counters were read, and which of them changed."""

from __future__ import annotations

from collections.abc import Iterator

from railyard.base import host_names
from railyard.records.folded.health import Kind
from railyard.records.record import Origin, Record
from railyard.records.rules.registry import Fault, ended_well, rule


@rule("health")
def of_launches(read: Record) -> Iterator[Fault]:
    """Events are changes of counters that were read, on the nodes of the launch."""
    for field, launch in ended_well(read):
        if launch.health is None:
            continue
        health, place = launch.health, f"{field}.health"
        names = {name for group in health.read.values() for name in group}
        own = {node for node, _ in launch.nics.pairs} if launch.nics else set(launch.ranks.hosts)
        named = {event.node for event in health.events}
        strange = named - host_names.matched(named, own).keys()
        if strange and read.origin is Origin.MEASURED:
            yield Fault(field=f"{place}.events", text=f"{min(strange)} is no node whose NICs were counted")
        for number, event in enumerate(health.events):
            grew = event.after - event.before
            if event.event not in names:
                yield Fault(field=f"{place}.events[{number}].event", text=f"{event.event} was not read")
            if not grew or (event.kind is not Kind.STATE and (grew < 0) is not (event.kind is Kind.RESET)):
                text = f"{event.kind} of {event.event}: {event.before} before and {event.after} after"
                yield Fault(field=f"{place}.events[{number}]", text=text)
