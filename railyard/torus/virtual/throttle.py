"""Limit what the nodes of a torus send while its network is congested, as Cray's network daemon does.

Models active throttling (Ezell, CUG'13, section II.G). A router is congested while the ratio of its stalls to the flits
that it forwards is above a limit. If any router is congested for a period, every node sends at a share of its rate,
until no router has been congested for as long. A flit takes one clock of its link, so the ratio is the time in which
packets stalled over the time in which the router's links sent. Needs the network `router`, whose buffers are finite.
Leaves out: the application that causes congestion (a torus has one), and auto-throttling without the daemon.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from railyard.base.errors import InputError
from railyard.placements.topology.faults import Faults
from railyard.torus.virtual import lifecycle, live_faults, locks
from railyard.torus.virtual.counters import CounterReading
from railyard.torus.virtual.lifecycle import VirtualTorus


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleLimits:
    """When to throttle a torus (stall ratio and period), and the percentage of their rate that NICs then get."""

    ratio: float
    period_s: float
    percent: float


@dataclass(slots=True)
class Throttle:
    """Decides from a series of samples whether a torus is to be throttled."""

    limits: ThrottleLimits
    is_on: bool = False
    _other_since_s: float | None = None

    def changes(self, ratio: float, at_s: float) -> bool:
        """Take the highest ratio of any router at a time; return whether `is_on` has changed.

        `at_s` are seconds since any fixed moment.
        """
        if (ratio > self.limits.ratio) == self.is_on:
            self._other_since_s = None
            return False
        if self._other_since_s is None:
            self._other_since_s = at_s
        if at_s - self._other_since_s < self.limits.period_s:
            return False
        self.is_on, self._other_since_s = not self.is_on, None
        return True


def ratios(counted: CounterReading) -> Mapping[str, float]:
    """Return router -> ratio of its stalls to its flits, from the difference of two readings.

    The ratio is 0 for a router that sent nothing. Raises InputError on the network `kernel`, which counts no stalls.
    """
    stalled_ns: dict[str, float] = defaultdict(float)
    sent_ns: dict[str, float] = defaultdict(float)
    for link in counted.links:
        if link.input_stall_ns is None or link.output_stall_ns is None:
            raise InputError("torus", "network", "kernel", "router, because the kernel counts no stalls")
        stalled_ns[link.target] += link.input_stall_ns
        stalled_ns[link.source] += link.output_stall_ns
        if link.rate_mbit_s > 0:  # a cable that is down has the rate 0
            sent_ns[link.source] += link.bytes * 8e3 / link.rate_mbit_s
    routers = {link.source for link in counted.links if (link.dimension, link.direction) != ("H", "+")}
    return {name: stalled_ns[name] / sent_ns[name] if sent_ns[name] else 0.0 for name in sorted(routers)}


def throttled(torus: VirtualTorus, percent: float) -> Faults:
    """Return the faults of a torus, with every NIC limited to a percentage of its rate."""
    percents = torus.faults.injection_percent
    limited = {node.name: min(percent, percents.get(node.name, 100.0)) for node in torus.topology.nodes}
    return dataclasses.replace(torus.faults, injection_percent=limited)


def inject(name: str, percent: float | None, before: Mapping[str, float]) -> None:
    """Limit the NICs of a torus to a percentage of their rate, also during a launch.

    With None restore `before`, node -> percentage of each NIC that a fault limits. Raises as `live_faults.apply` does.
    """
    launching = lifecycle.get(name).folder / lifecycle.LAUNCHING
    with locks.turn_unless_held(launching), lifecycle.lock():
        torus = lifecycle.get(name)
        released = dataclasses.replace(torus.faults, injection_percent=dict(before))
        live_faults.apply(torus, released if percent is None else throttled(torus, percent))
