"""Bounds the error of a launch on the virtual torus, in percent of its times, from what must hold on a sound machine.

Pure.

Four things make times longer than the network's, and each is measured:

- lateness: how late the user-space router handed packets over, over their time on their way (network `router` alone);
- waiting: how long a rank could have run and no processor was free, as the mean over the ranks. Part of it passes while
  the rank's messages are on their way, so mostly less is lost; where all ranks go in step more may be lost
  (docs/torus.md, "The error bound");
- steal: what the machine's own host took of the processors;
- throttling: how long the control groups of the launch held it at its quota.

Their sum is the bound, unless the network itself bounds it closer: the link that sent most needs its bytes over its
rate on any machine, so no more of a launch's time than that link was idle can be the machine's.

Leaves out what only makes times shorter (the kernel's token buckets) and what no program waits for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

VOID_PERCENT = 5.0
WARNING_PERCENT = VOID_PERCENT / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RankActivity:
    """What all ranks together did between two looks at them.

    `ranks` counts those that both looks saw, `timed` those of them that took timed samples at both.
    """

    seconds: float
    ranks: int
    timed: int
    run_s: float
    wait_s: float
    most_wait_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Lateness:
    """How late the router handed chunks over; shares are of a chunk's whole time on its way, in percent."""

    chunks: int
    median_us: float
    p99_us: float
    max_us: float
    median_percent: float
    p99_percent: float
    mean_percent: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorBound:
    """The error bound of a launch and its terms, in percent of the time with traffic.

    `idle_percent` is how long the link that sent most was idle; the bound is that or the sum of the terms, the smaller.
    """

    percent: float
    lateness_percent: float
    waiting_percent: float
    steal_percent: float
    throttled_percent: float
    idle_percent: float

    @property
    def worst(self) -> str:
        """The largest term, as the end of a sentence."""
        terms = {
            "the router handed packets over late": self.lateness_percent,
            "ranks waited for a processor": self.waiting_percent,
            "the machine's own host took processor time": self.steal_percent,
            "a processor quota held the launch back": self.throttled_percent,
        }
        return max(terms, key=lambda term: terms[term])

    def to_dict(self) -> Mapping[str, float]:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Counts by the smallest value of each bucket."""

    count: int
    sum: int
    buckets: Mapping[int, int]

    def since(self, earlier: Histogram) -> Histogram:
        """Return what was added after an earlier reading."""
        more = {start: n - earlier.buckets.get(start, 0) for start, n in self.buckets.items()}
        return Histogram(
            count=self.count - earlier.count,
            sum=self.sum - earlier.sum,
            buckets={start: n for start, n in more.items() if n > 0},
        )

    def quantile(self, share: float) -> int:
        """Return the smallest value of the bucket below which a share of all values is; 0 of nothing."""
        below = 0
        for start in sorted(self.buckets):
            below += self.buckets[start]
            if below >= share * self.count:
                return start
        return 0


def bound(
    looks: Sequence[RankActivity],
    lateness: Lateness | None,
    *,
    steal_share: float,
    throttled_share: float,
    busiest_link_share: float = 0.0,
) -> ErrorBound:
    """Return the error bound of a launch. Shares are of the time with traffic, from 0 to 1.

    `busiest_link_share` is the time that the link which sent most needs for it at its rate.
    """
    rank_s = sum(look.ranks * look.seconds for look in looks)
    waiting = sum(look.wait_s for look in looks) / rank_s if rank_s else 0.0
    terms = {
        "lateness_percent": lateness.mean_percent if lateness else 0.0,
        "waiting_percent": 100 * waiting,
        "steal_percent": 100 * steal_share,
        "throttled_percent": 100 * throttled_share,
    }
    idle = 100 * (1 - min(busiest_link_share, 1.0))
    return ErrorBound(percent=min(sum(terms.values()), idle), idle_percent=idle, **terms)


def rank_activity(line: str) -> RankActivity:
    """Return what a line `w` of railyard-counters tells."""
    seconds, ranks, run_ns, wait_ns, most_ns, timed = map(float, line.split()[1:])
    return RankActivity(
        seconds=seconds,
        ranks=int(ranks),
        timed=int(timed),
        run_s=run_ns / 1e9,
        wait_s=wait_ns / 1e9,
        most_wait_s=most_ns / 1e9,
    )


def lateness(lines: Sequence[str]) -> Lateness | None:
    """Return what the router's histograms say between the first snapshot and the last; None without a router."""
    times, shares = (_difference(lines, name) for name in ("late_ns", "late_ppm"))
    flights = [int(line.split()[8]) for line in lines if line.startswith("r ")]
    if times is None or shares is None or not flights:
        return None
    flight_ns = flights[-1] - flights[0]
    return Lateness(
        chunks=times.count,
        median_us=times.quantile(0.5) / 1e3,
        p99_us=times.quantile(0.99) / 1e3,
        max_us=max(times.buckets, default=0) / 1e3,
        median_percent=shares.quantile(0.5) / 1e4,
        p99_percent=shares.quantile(0.99) / 1e4,
        mean_percent=100 * times.sum / flight_ns if flight_ns else 0.0,
    )


def not_handed_over(lines: Sequence[str]) -> str:
    """Return what of the chunks that the router read was not handed over, in one line; empty where all were."""
    read = [[int(word) for word in line.split()[2:]] for line in lines if line.startswith("r ")]
    if not read:
        return ""
    lost, refused = (read[-1][place] - read[0][place] for place in (2, 4))
    found = {"lost on links that went down": lost, "refused by a node": refused}
    return "; ".join(f"{count} chunks {what}" for what, count in found.items() if count)


def _difference(lines: Iterable[str], name: str) -> Histogram | None:
    read = [_histogram(line) for line in lines if line.startswith(f"h {name} ")]
    return read[-1].since(read[0]) if read else None


def _histogram(line: str) -> Histogram:
    _, _, count, total, _, *buckets = line.split()
    pairs = (bucket.split(":") for bucket in buckets)
    return Histogram(count=int(count), sum=int(total), buckets={int(start): int(n) for start, n in pairs})


def describe(found: Lateness | None) -> Mapping[str, Any] | None:
    """Return the lateness as JSON."""
    return asdict(found) if found else None
