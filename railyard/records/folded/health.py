"""Hold what went wrong on NICs, links and nodes while a launch ran: their error counters before and after it.

Models: counters whose growth is a fault (a link that went down, a packet sent again), counters that grow where other
traffic is in the way, and states of which less is a fault (the speed of a link). A launch lists only what changed, and
which counters were read at all: one that no driver has is `not_read` with the reason, never zero. Of a counter that
changed on many NICs the `LISTED` largest changes are events, and the rest is one sum.

Leaves out: whether an event made the launch slow (`railyard.records.folded.slow`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

Json = Any
#: Events of one counter that a launch lists; those of more NICs are added up. With 10,000 nodes, of which each sent
#: packets again in each of 12 launches, a record grows by less than 1 MB.
LISTED = 16
#: Bits of the counters that wrap: Linux's and mlx5's of transport, Omni-Path's, Cassini's, all others.
WIDTHS = (32, 48, 56, 64)


class Kind(StrEnum):
    """What two readings show.

    A counter counted faults or `congestion`, wrapped to 0, or was set back (`reset`). A `state` changed. A NIC is
    `gone` if it could be read before alone.
    """

    COUNT = "count"
    CONGESTION = "congestion"
    WRAP = "wrap"
    STATE = "state"
    RESET = "reset"
    GONE = "gone"


#: Kinds that no fault explains.
NO_FAULT = frozenset({Kind.CONGESTION, Kind.RESET})


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A counter that changed during a launch.

    `node` is a host or, on a virtual torus, the router or host that sends; `nic` is the NIC or the link, empty for the
    node itself. `event` is the counter's name in its group (benchmarks/counters/groups), `unit` what it counts.
    """

    node: str
    nic: str
    event: str
    unit: str
    kind: Kind
    before: int
    after: int

    @property
    def count(self) -> int:
        """Return by how much the counter grew; 1 for a state that is less than before, and for a NIC that is gone."""
        match self.kind:
            case Kind.COUNT | Kind.CONGESTION:
                return self.after - self.before
            case Kind.WRAP:
                return self.after + (1 << _wrapped(self.before, self.after)) - self.before
            case Kind.STATE:
                return int(self.after < self.before)
            case Kind.RESET:
                return 0
            case Kind.GONE:
                return 1

    @property
    def is_fault(self) -> bool:
        """Return whether something went wrong, and no more than traffic in the way or a counter that was set back."""
        return self.kind not in NO_FAULT and self.count != 0

    @property
    def where(self) -> str:
        """Return the node and its NIC."""
        return " ".join(filter(None, [self.node, self.nic]))

    def text(self) -> str:
        """Return the event in words, such as `n0412 hsn2: LINK_DOWNS 1 events`."""
        if self.kind is Kind.STATE:
            return f"{self.where}: {self.event} {self.before} to {self.after} {self.unit}"
        if self.kind is Kind.RESET:
            return f"{self.where}: {self.event} was set back"
        if self.kind is Kind.GONE:
            return f"{self.where}: gone, its {self.event} cannot be read any more"
        if self.unit == "ns":
            return f"{self.where}: {self.event.removesuffix('_NS')} for {self.count / 1e9:.3g} s"
        return f"{self.where}: {self.event} {self.count} {self.unit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Others:
    """The smaller changes of a counter that is in the events already: on how many NICs, by how much in all."""

    event: str
    unit: str
    kind: Kind
    nics: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spell:
    """A fault that a virtual torus was scheduled to have during a launch, in seconds since 1970."""

    link: str
    what: str
    begin_s: float
    end_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The events of a launch; by group the counters that some NIC has, and why others were not read of some NIC."""

    read: Mapping[str, Sequence[str]]
    not_read: Mapping[str, Mapping[str, str]]
    events: tuple[Event, ...]
    others: tuple[Others, ...] = ()
    spells: tuple[Spell, ...] = ()

    def has_read(self, *names: str) -> bool:
        """Return whether some NIC or node has one of these counters."""
        return any(name in group for group in self.read.values() for name in names)

    @property
    def faults(self) -> list[Event]:
        """Return the events that are faults."""
        return [event for event in self.events if event.is_fault]


def document(
    read: Mapping[str, Sequence[str]], not_read: Mapping[str, Mapping[str, str]], events: Iterable[Mapping[str, Json]]
) -> dict[str, Json]:
    """Return the health of a launch as the record has it, from all changes that were read.

    A NIC one of whose counters was set back, was set back as a whole, so that none of its counters wrapped. One that is
    gone is one event.
    """
    changes = [Event(**{**item, "kind": Kind(item["kind"])}) for item in events]
    set_back = {
        (event.node, event.nic)
        for event in changes
        if event.kind is Kind.RESET and not _wrapped(event.before, event.after)
    }
    by_counter: dict[tuple[str, str, Kind], list[Event]] = {}
    gone: dict[tuple[str, str], Event] = {}
    for event in changes:
        where = event.node, event.nic
        if event.kind is Kind.GONE and gone.setdefault(where, event) is not event:
            continue
        if event.kind is Kind.RESET and where not in set_back:
            event = replace(event, kind=Kind.WRAP)
        by_counter.setdefault((event.event, event.unit, event.kind), []).append(event)
    listed, others = [], []
    for (name, unit, kind), changed in by_counter.items():
        changed.sort(key=lambda event: -event.count)
        listed += changed[:LISTED]
        if rest := changed[LISTED:]:
            count = sum(event.count for event in rest)
            others.append({"event": name, "unit": unit, "kind": str(kind), "nics": len(rest), "count": count})
    return {
        "read": read,
        "not_read": not_read,
        "events": [{**asdict(event), "kind": str(event.kind)} for event in listed],
        **({"others": others} if others else {}),
    }


def _wrapped(before: int, after: int) -> int:
    """Return the bits of the counter that ended between two readings, 0 for one that was set back.

    A counter wrapped if it was in the last sixteenth of its range before, and in the first afterwards.
    """
    return next((bits for bits in WIDTHS if before >> (bits - 4) == 15 and not after >> (bits - 4)), 0)


def fault_of(event: Event) -> str:
    """Return why two readings cannot be of an event's kind; empty if they can."""
    grew = event.after - event.before
    wrapped = grew < 0 and _wrapped(event.before, event.after) > 0
    possible = dict.fromkeys((Kind.COUNT, Kind.CONGESTION), grew > 0)
    possible |= {Kind.WRAP: wrapped, Kind.STATE: grew != 0, Kind.RESET: grew < 0, Kind.GONE: event.after == 0}
    text = f"{event.kind} of {event.event}: {event.before} before and {event.after} after"
    return "" if possible[event.kind] else text
