"""Hold what went wrong on NICs, links and nodes while a launch ran: their error counters before and after it.

Models: counters whose growth is a fault (a link that went down, a packet sent again), and states that should not change
(the speed of a link). A launch lists only what changed, and which counters were read at all: one that no driver has is
`not_read`, never zero. Leaves out: whether an event made the launch slow (`railyard.analysis.cases.slow`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Json = Any


class Kind(StrEnum):
    """What the two readings show: faults that were counted, a state that changed, or a counter that was set back."""

    COUNT = "count"
    STATE = "state"
    RESET = "reset"


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
        """Return by how much the counter grew; 1 for a state that changed, 0 for a counter that was set back."""
        return {Kind.COUNT: self.after - self.before, Kind.STATE: 1, Kind.RESET: 0}[self.kind]

    def text(self) -> str:
        """Return the event in words, such as `n0412 hsn2: LINK_DOWNS 1 events`."""
        where = " ".join(filter(None, [self.node, self.nic]))
        if self.kind is Kind.COUNT and self.unit == "ns":
            return f"{where}: {self.event.removesuffix('_NS')} for {self.count / 1e9:.3g} s"
        change = {
            Kind.COUNT: f"{self.count} {self.unit}",
            Kind.STATE: f"{self.before} to {self.after} {self.unit}",
            Kind.RESET: "was set back",
        }
        return f"{where}: {self.event} {change[self.kind]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The events of a launch, and by group the counters that some NIC has (`read`) and that some NIC lacks."""

    read: Mapping[str, Sequence[str]]
    not_read: Mapping[str, Sequence[str]]
    events: tuple[Event, ...]
