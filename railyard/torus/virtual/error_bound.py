"""Bound the error of a launch on the virtual torus, in percent of its times. Pure.

Four effects of the machine make times longer than those of the network, and each is measured:

- lateness: the delay with which the user-space router delivered packets, over their whole time in the network (network
  `router` only);
- waiting: the time that a rank was ready to run and no processor was free, as the mean over the ranks. A rank's
  messages travel during part of it, so usually less is lost. More may be lost if all ranks run in lockstep
  (docs/torus.md, "The error estimate");
- steal: processor time that the hypervisor of a virtual machine took;
- throttling: the time that the control groups of the launch were held at their processor quota.

Their sum is the bound, unless the busiest link gives a lower one. On any machine that link needs its bytes over its
rate, so the machine can have added no more than the time in which the link was idle.

Leaves out what makes times shorter (the kernel's token buckets) and delays that no program waits for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

#: A launch is void above this error, that is if what made it late took a larger share of its time.
VOID_PERCENT = 5.0
WARNING_PERCENT = VOID_PERCENT / 2
#: It is void also if the machine was the limit for more than this share of the time with traffic ...
HOST_SHARE = 0.5
#: ... and there were as many seconds with traffic. Less is a few intervals, one with the ranks' start.
ENOUGH_TRAFFIC_S = 1.0
#: An interval has traffic if the busiest link sends at this share of its rate, or if there are so many packets per
#: second, of so many bytes on average.
TRAFFIC_SHARE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorBound:
    """The error estimate of a launch and its terms, in percent of the time with traffic.

    `idle_percent` is the time that the busiest link was idle. The bound `percent` is the smaller of that and the sum of
    the other terms.
    """

    percent: float
    lateness_percent: float
    waiting_percent: float
    steal_percent: float
    throttled_percent: float
    idle_percent: float

    @property
    def worst(self) -> str:
        """Return the cause of the largest term, as a clause after `because`."""
        terms = {
            "the router handed packets over late": self.lateness_percent,
            "ranks waited for a processor": self.waiting_percent,
            "the machine's own host took processor time": self.steal_percent,
            "a processor quota held the launch back": self.throttled_percent,
        }
        return max(terms, key=lambda term: terms[term])


def bound(
    lateness: Mapping[str, float] | None = None,
    *,
    waiting_share: float = 0.0,
    steal_share: float = 0.0,
    throttled_share: float = 0.0,
    busiest_link_share: float = 0.0,
) -> ErrorBound:
    """Return the error estimate of a launch. Shares are of the time with traffic, from 0 to 1.

    `waiting_share` is that of the ranks' time in which they waited for a processor. `busiest_link_share` is the time
    that the busiest link needs, at its rate, for what it sent.
    """
    terms = {
        "lateness_percent": lateness["mean_percent"] if lateness else 0.0,
        "waiting_percent": 100 * waiting_share,
        "steal_percent": 100 * steal_share,
        "throttled_percent": 100 * throttled_share,
    }
    idle = 100 * (1 - min(busiest_link_share, 1.0))
    return ErrorBound(percent=min(sum(terms.values()), idle), idle_percent=idle, **terms)


def lateness(lines: Sequence[str]) -> dict[str, float] | None:
    """Return the delay with which the router delivered chunks of packets; None without a router.

    It is that between the first and the last histograms in `lines`, the output of railyard-counters. `chunks` is their
    number. Percentages are of a chunk's time in the network.
    """
    gained = [_gained(lines, name) for name in ("late_ns", "late_ppm")]
    flights = [int(line.split()[8]) for line in lines if line.startswith("r ")]
    if None in gained or not flights:
        return None
    (late_ns, times), (_, shares) = filter(None, gained)
    flight_ns = flights[-1] - flights[0]
    return {
        "chunks": times.total(),
        "median_us": _quantile(times, 0.5) / 1e3,
        "p99_us": _quantile(times, 0.99) / 1e3,
        "max_us": max(times, default=0) / 1e3,
        "median_percent": _quantile(shares, 0.5) / 1e4,
        "p99_percent": _quantile(shares, 0.99) / 1e4,
        "mean_percent": 100 * late_ns / flight_ns if flight_ns else 0.0,
    }


def wire(outputs: Iterable[Iterable[str]]) -> dict[str, float]:
    """Return what the routers of several machines counted of one another; empty for a torus on one machine.

    `cells` came from another machine, `late` of them after their time. `clock_error_us` is how far its clock may be
    from what was assumed, at most. Each element of `outputs` is that of railyard-counters on one machine.
    """
    read = [[list(map(int, line.split()[1:])) for line in lines if line.startswith("x ")] for lines in outputs]
    if not all(read):
        return {}
    cells, late = (sum(lines[-1][index] - lines[0][index] for lines in read) for index in (0, 1))
    if not any(lines[-1][2] for lines in read):
        return {}
    return {"cells": cells, "late": late, "clock_error_us": max(lines[-1][2] for lines in read) / 1e3}


def not_handed_over(lines: Sequence[str]) -> str:
    """Return in one line which chunks the router read and did not deliver; an empty text if it delivered all."""
    read = [[int(word) for word in line.split()[2:]] for line in lines if line.startswith("r ")]
    if not read:
        return ""
    lost, refused = (read[-1][index] - read[0][index] for index in (2, 4))
    counts = {"lost on links that went down": lost, "refused by a node": refused}
    return "; ".join(f"{count} chunks {what}" for what, count in counts.items() if count)


def _gained(lines: Iterable[str], name: str) -> tuple[int, Counter[int]] | None:
    """Return what a histogram gained between its first and its last line; None if there is no line.

    That is the sum of the values, and their number by the smallest value of each bucket.
    """
    read = []
    for line in (line for line in lines if line.startswith(f"h {name} ")):
        _, _, _, total, _, *pairs = line.split()
        buckets = {int(start): int(count) for start, count in (pair.split(":") for pair in pairs)}
        read.append((int(total), Counter(buckets)))
    if not read:
        return None
    return read[-1][0] - read[0][0], read[-1][1] - read[0][1]


def _quantile(buckets: Counter[int], share: float) -> int:
    """Return the lower edge of the bucket that contains the quantile of a share from 0 to 1; 0 without values."""
    below = 0
    for start in sorted(buckets):
        below += buckets[start]
        if below >= share * buckets.total():
            return start
    return 0
