"""Check the health of a launch: which counters were read, and which of them changed."""

from __future__ import annotations

from collections.abc import Iterator

from railyard.base import host_names
from railyard.records.folded import health as healths
from railyard.records.record import Origin, Record
from railyard.records.rules.registry import Fault, ended_well, rule


@rule("health")
def of_launches(read: Record) -> Iterator[Fault]:
    """Events are changes of counters that were read, on the nodes of the launch; no launch lacks what others have."""
    has_health = any(launch.health for launch in read.launches)
    for field, launch in ended_well(read):
        if launch.health is None:
            if has_health and launch.nics is not None:
                text = "null; the NICs of this launch were counted, and other launches have their errors"
                yield Fault(f"{field}.health", text)
            continue
        health, place = launch.health, f"{field}.health"
        names = {name for group in health.read.values() for name in group}
        own = {node for node, _ in launch.nics.pairs} if launch.nics else set(launch.ranks.hosts)
        named = {event.node for event in health.events}
        strange = named - host_names.matched(named, own).keys()
        if strange and read.origin is Origin.MEASURED:
            yield Fault(f"{place}.events", f"{min(strange)} is no node whose NICs were counted")
        for number, event in enumerate(health.events):
            if event.event not in names and event.kind is not healths.Kind.GONE:
                yield Fault(f"{place}.events[{number}].event", f"{event.event} was not read")
            if text := healths.fault_of(event):
                yield Fault(f"{place}.events[{number}]", text)
        for number, other in enumerate(health.others):
            listed = sum((event.event, event.kind) == (other.event, other.kind) for event in health.events)
            if listed != healths.LISTED:
                text = f"{other.event}: {listed} events; expected {healths.LISTED} before others are added up"
                yield Fault(f"{place}.others[{number}]", text)
