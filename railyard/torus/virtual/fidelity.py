"""Watch the machine during a launch, and judge whether the network or the machine determined its times.

The times of a virtual torus are right as long as the machine forwards packets as fast as the links allow. `Watch` runs
railyard-counters, which reads the processors and the busiest link every tenth of a second. `judge` then returns:

- `void` if packets were dropped or bytes lost;
- `void` if for more than `HOST_SHARE` of the time with traffic no link was busy, but the processors were, or the one
  that spends most time on packets: the machine limited the packets, and not the network;
- `void` on the network `router` if the error estimate (`error_bound`) is above 5 %. On the network `kernel` the delay
  of packets is unknown, so only the terms steal and throttling make a launch void, each above 5 %;
- `cannot-tell` if nothing was observed, or there was too little traffic for a verdict;
- `ok` otherwise.

Leaves out latency: a small message loads no link, and its time is the machine's in any case (docs/torus.md).
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any

from railyard.base import sysfs
from railyard.base.errors import RunError
from railyard.placements.topology.base import Topology
from railyard.torus.native.programs import built
from railyard.torus.plan import pace
from railyard.torus.virtual import counters, error_bound, lifecycle, machines, packet_budget
from railyard.torus.virtual.counters import CounterReading, LinkCounter
from railyard.torus.virtual.error_bound import ENOUGH_TRAFFIC_S, HOST_SHARE, TRAFFIC_SHARE, ErrorBound
from railyard.torus.virtual.lifecycle import VirtualTorus

FORMAT = "railyard-evidence/1"
CGROUPS = Path("/sys/fs/cgroup")
INTERVAL_MS = 100
END_OF_SNAPSHOT = "\n.\n"
BULK_PACKETS_S = 1000
BULK_BYTES = 500
#: The machine is busy with packets if its processors are idle for less than IDLE_SHARE of the time and spend at least
#: SOFTIRQ_SHARE on packets; with less they are busy with what ranks compute.
IDLE_SHARE = 0.05
SOFTIRQ_SHARE = 0.1
#: So is one processor that is never idle and spends this share on packets, because one flow cannot be faster.
HOT_SOFTIRQ_SHARE = 0.5
#: A link that sends at more than this share of its rate is the limit, and not the machine.
LINK_SHARE = 0.6
#: The same if ranks show when they take timed samples, because then the start is left out.
ENOUGH_TIMED_S = 0.3


class GuardVerdict(StrEnum):
    """Whether the times of a launch are those of the network."""

    OK = "ok"
    VOID = "void"
    CANNOT_TELL = "cannot-tell"


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchInterval:
    """What was observed in an interval of a tenth of a second. Shares are from 0 to 1.

    `idle`, `softirq` and `steal` are shares of the time of all usable processors, `hot_idle` and `hot_softirq` of the
    one that spent most time on packets. `link_share` is the rate of the busiest link over its full rate. `timed` is the
    number of ranks that took timed samples at both ends of the interval. `rank_s` is the time of all ranks together,
    and `wait_s` that in which they waited for a processor.
    """

    seconds: float
    idle: float
    softirq: float
    steal: float
    link_share: float
    packets: int
    bytes: int
    hot_idle: float = 1.0
    hot_softirq: float = 0.0
    timed: int = 0
    rank_s: float = 0.0
    wait_s: float = 0.0

    @property
    def traffic(self) -> bool:
        """Return whether the network transferred more than small messages."""
        bulk = self.packets >= BULK_PACKETS_S * self.seconds and self.bytes >= BULK_BYTES * self.packets
        return bulk or self.link_share >= TRAFFIC_SHARE

    @property
    def host_limited(self) -> bool:
        """Return whether the machine limited the traffic, and no link did."""
        busy = self.idle < IDLE_SHARE and self.softirq >= SOFTIRQ_SHARE
        one_is_full = self.hot_idle < IDLE_SHARE and self.hot_softirq >= HOT_SOFTIRQ_SHARE
        return self.traffic and (busy or one_is_full) and self.link_share < LINK_SHARE


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardReport:
    """The verdict on a launch, its reasons and its figures. Shares are of the time with traffic, from 0 to 1.

    The busiest link is the one that needs most time, at its rate, for what it sent. `by_load`: void only because the
    machine was busy, so a retry may succeed. `attempts` is the number of times that the launch was started; all but the
    last were void by load. Before the first it waited `waited_s` for other launches on the machine.
    """

    verdict: GuardVerdict
    reasons: tuple[str, ...]
    watched_s: float
    traffic_s: float
    host_limited_s: float
    idle_share: float
    softirq_share: float
    steal_share: float
    busiest_link: str
    busiest_link_share: float
    packets_per_s: float
    drops: int
    conserved: bool
    by_load: bool
    attempts: int = 1
    waited_s: float = 0.0
    error_bound_percent: float
    error_bound: Mapping[str, float]
    lateness: Mapping[str, float] | None = None

    @property
    def warning(self) -> str:
        """Return that a launch is void, with all reasons, or that its error estimate is above half of what makes it so.

        Otherwise the text is empty.
        """
        if self.verdict == GuardVerdict.VOID:
            return f"this launch is void: {'; '.join(self.reasons)}"
        if self.error_bound_percent <= error_bound.WARNING_PERCENT:
            return ""
        times = f"times may be {self.error_bound_percent:.1f} % too long"
        return f"{times}, because this machine was busy (docs/torus.md#the-guard)"


def judge(
    intervals: Sequence[WatchInterval],
    counted: CounterReading,
    bound: ErrorBound,
    *,
    network: str,
    carrier: str = "",
    busiest: tuple[str, float] | None = None,
) -> GuardReport:
    """Return the verdict on a launch from its intervals, its links' counters and its error estimate.

    `carrier` is a failure of the router, or empty. `busiest` is the busiest link while ranks took timed samples, with
    its share of its rate; None if the program does not show when it takes them.
    """
    busy = measured(intervals)
    enough_s = ENOUGH_TIMED_S if any(i.timed for i in busy) else ENOUGH_TRAFFIC_S
    traffic_s = sum(i.seconds for i in busy)
    limited_s = sum(i.seconds for i in busy if i.host_limited)
    drops = sum(link.drops for link in counted.links)
    lost = [f"bytes are not conserved: {line}" for line in counted.lost[:1]]
    if drops:
        worst = max(counted.links, key=lambda link: link.drops)
        lost.append(f"{drops} packets dropped, most on {worst.name}; a lossless network drops none")
    lost += [carrier] if carrier else []
    load: list[str] = []
    doubts = [] if intervals else ["the launch was too short to be watched"]
    if limited_s > HOST_SHARE * traffic_s:
        reason = f"the machine held the packets back for {limited_s:.1f} of {traffic_s:.1f} s with traffic"
        if traffic_s < enough_s:
            doubts.append(f"{reason}, too little to tell; use more repeats")
        else:
            load.append(f"{reason}; use fewer nodes or a smaller --rate-scale")
    if beyond := _beyond(network, bound):
        (doubts if traffic_s < enough_s else load).append(beyond)
    reasons = [*lost, *load]
    verdict = GuardVerdict.VOID if reasons else GuardVerdict.CANNOT_TELL if doubts else GuardVerdict.OK
    busiest_link, busiest_share = busiest or _busiest_link(counted, traffic_s)
    return GuardReport(
        verdict=verdict,
        reasons=tuple(reasons or doubts),
        watched_s=sum(i.seconds for i in intervals),
        traffic_s=traffic_s,
        host_limited_s=limited_s,
        idle_share=_mean(busy, "idle"),
        softirq_share=_mean(busy, "softirq"),
        steal_share=_mean(busy, "steal"),
        busiest_link=busiest_link,
        busiest_link_share=busiest_share,
        packets_per_s=sum(i.packets for i in busy) / traffic_s if traffic_s else 0.0,
        drops=drops,
        conserved=counted.conserved,
        by_load=bool(load) and not lost,
        error_bound_percent=bound.percent,
        error_bound=asdict(bound),
    )


def _beyond(network: str, bound: ErrorBound) -> str:
    """Return why a launch is void because of its error estimate; an empty text if it is not.

    On the network `kernel` only what others took of the processors decides. The other terms are recorded.
    """
    most = error_bound.VOID_PERCENT
    if network == "router":
        words = f"times up to {bound.percent:.0f} % too long, as {bound.worst}"
        return f"{words}; use fewer nodes or a smaller --rate-scale" if bound.percent > most else ""
    quota = "a processor quota (cgroup cpu.max)"
    for percent, taker in ((bound.steal_percent, "the machine's own host"), (bound.throttled_percent, quota)):
        if percent > most:
            return f"{taker} took {percent:.0f} % of the processors' time; run it where they are its own"
    return ""


def _seconds_at_rate(link: LinkCounter) -> float:
    """Return the time that a link needs, at its rate, for what it sent; 0 for a cable that is down."""
    return link.bytes * 8e-6 / link.rate_mbit_s if link.rate_mbit_s else 0.0


def _busiest_link(counted: CounterReading, traffic_s: float) -> tuple[str, float]:
    """Return the link that needs most time for what it sent, and that time over the time with traffic."""
    busiest = max(counted.links, key=_seconds_at_rate)
    return busiest.name, _seconds_at_rate(busiest) / traffic_s if traffic_s else 0.0


def _busiest_while_timed(lines: Sequence[str], topology: Topology) -> tuple[str, float] | None:
    """Return the busiest link while ranks took timed samples, and its share of its rate, from a line `b`.

    Returns None if the program does not show when it takes samples.
    """
    words = next((line.split() for line in lines if line.startswith("b ")), None)
    if words is None:
        return None
    _, _, share, host, port = words
    name = next(counter.name for counter, sender, _ in counters.directed(topology) if sender == (host, port))
    return name, float(share)


def _mean(intervals: Sequence[WatchInterval], share: str) -> float:
    """Return the mean over time of a field of intervals; 0 without intervals."""
    total = sum(i.seconds for i in intervals)
    return sum(getattr(i, share) * i.seconds for i in intervals) / total if total else 0.0


class Watch:
    """Context manager around a launch. After it `guard` is the verdict and `counted` what the links sent.

    Raises RunError if the counters cannot be read before or during the launch.
    """

    guard: GuardReport
    counted: CounterReading

    def __init__(self, torus: VirtualTorus, attempt: int = 1, waited_s: float = 0.0) -> None:
        self.torus = torus
        self.attempt = attempt
        self.waited_s = waited_s

    def __enter__(self) -> Watch:
        command = [built(counters.PROGRAM), self.torus.name, str(INTERVAL_MS)]
        self.watchers = machines.watch(self.torus.parts, command, self.torus.folder)
        for watcher in self.watchers:  # no launch may start before the first counters
            watcher.wait_for(END_OF_SNAPSHOT)
        self.estimate = threading.Timer(pace.ESTIMATE_S, self._print_estimate)
        self.estimate.daemon = True
        self.estimate.start()
        self.begun = datetime.now(UTC)
        self.throttled_s = _throttled_s()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.estimate.cancel()
        self.estimate.join()
        outputs = [watcher.end() for watcher in reversed(self.watchers)]
        if kind is None:
            self._conclude(outputs[::-1])

    def _print_estimate(self) -> None:
        """Print how long a launch may take, while it runs; not for a program that shows when it takes samples."""
        text = self.watchers[0].text()
        seen = intervals(text[: text.rfind("\n") + 1].splitlines())
        if any(i.timed for i in seen) or not any(i.packets for i in seen):
            return
        most = packet_budget.most_scale(self.torus.topology, self.torus.shape)
        line = pace.estimate(self.torus.shape.rate_scale, most)
        print(f"railyard: {line}", file=sys.stderr, flush=True)

    def _conclude(self, outputs: Sequence[list[str]]) -> None:
        """Judge the launch by the output of railyard-counters, here and then on each other machine."""
        lines = outputs[0]
        every = [counters.parse(output) for output in outputs]
        if any(len(snapshots) != 3 for snapshots in every):
            status = self.watchers[0].process.returncode
            how = f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
            reason = self.watchers[0].complaint.strip() or f"railyard-counters ended early, {how}"
            raise RunError(f"the counters of {self.torus.name} could not be read during the launch: {reason}")
        snapshots = counters.merged(every)
        name, topology, parts = self.torus.name, self.torus.topology, self.torus.parts
        before = counters.reading(name, topology, snapshots[0], snapshots[0], parts=parts)
        after = counters.reading(name, topology, snapshots[1], snapshots[2], parts=parts)
        self.counted = counters.difference(after, before)
        self.wire = error_bound.wire(outputs)
        bound, lateness = max(map(self._bound, outputs), key=lambda machine: machine[0].percent)
        has_ended = self.torus.shape.network == "router" and not lifecycle.carries(self.torus)
        refused = next(filter(None, map(error_bound.not_handed_over, outputs)), "")
        judged = judge(
            intervals(lines),
            self.counted,
            bound,
            network=self.torus.shape.network,
            carrier="the router ended" if has_ended else refused,
            busiest=_busiest_while_timed(lines, topology),
        )
        self.guard = replace(judged, attempts=self.attempt, waited_s=round(self.waited_s, 3), lateness=lateness)

    def _bound(self, lines: list[str]) -> tuple[ErrorBound, Mapping[str, float] | None]:
        """Return the error estimate of a machine, and its router's lateness, from its output of railyard-counters."""
        watched = intervals(lines)
        busy = measured(watched)
        seconds = sum(i.seconds for i in watched)
        lateness = error_bound.lateness(lines)
        busiest = _busiest_while_timed(lines, self.torus.topology)
        share = (busiest or _busiest_link(self.counted, sum(i.seconds for i in busy)))[1]
        rank_s = sum(i.rank_s for i in busy)
        bound = error_bound.bound(
            lateness,
            waiting_share=sum(i.wait_s for i in busy) / rank_s if rank_s else 0.0,
            steal_share=_mean(busy, "steal"),
            throttled_share=(_throttled_s() - self.throttled_s) / seconds if seconds else 0.0,
            busiest_link_share=share,
        )
        return bound, lateness

    def evidence(self) -> dict[str, Any]:
        """Return the document that a check stores with the launch (docs/formats.md, "Launch evidence").

        `spells` are the faults that the torus was scheduled to have since the launch began.
        """
        begun_s, now_s = self.begun.timestamp(), time.time()
        spells = [
            {"link": name, "what": trouble.what, "begin_s": round(begin_s, 3), "end_s": round(end_s, 3)}
            for name, trouble in lifecycle.get(self.torus.name).faults.troubled.items()
            for begin_s, end_s in trouble.spells(begun_s, now_s)
        ]
        return {
            "format": FORMAT,
            "torus": self.torus.name,
            "begun": self.begun.isoformat(),
            "guard": asdict(self.guard),
            **({"wire": self.wire} if self.wire else {}),
            "nics": list(self.counted.nics(self.torus.topology)),
            "health": {**self.counted.health(), "spells": spells},
            "links": [asdict(link) for link in self.counted.links],
        }


def measured(intervals: Sequence[WatchInterval]) -> list[WatchInterval]:
    """Return the intervals that a launch is judged by: those with traffic in which ranks took timed samples.

    For a program that does not show when it takes them (benchmarks/lib/measure/sampling.h), all those with traffic.
    """
    busy = [i for i in intervals if i.traffic]
    return [i for i in busy if i.timed] or busy


def _throttled_s() -> float:
    """Return the total time that the control groups of this process have been held at their processor quota."""
    lines = sysfs.text(Path("/proc/self/cgroup")).splitlines()
    own = next((CGROUPS / line[3:].lstrip("/") for line in lines if line.startswith("0::")), None)
    groups = [own, *own.parents] if own else []
    counted = "\n".join(sysfs.text(group / "cpu.stat") for group in groups).splitlines()
    return sum(int(line.split()[1]) for line in counted if line.startswith("throttled_usec")) / 1e6


def intervals(lines: Iterable[str]) -> list[WatchInterval]:
    """Return the intervals in the output of railyard-counters: lines `t`, each with the ranks' line `w` after it."""
    parsed: list[WatchInterval] = []
    for line in lines:
        if line.startswith("t "):
            seconds, total, idle, softirq, steal, share, _, _, packets, sent, *hot = line.split()[1:]
            ticks, hot_ticks = max(int(total), 1), max(int(hot[0]), 1)
            parsed.append(
                WatchInterval(
                    seconds=float(seconds),
                    idle=int(idle) / ticks,
                    softirq=int(softirq) / ticks,
                    steal=int(steal) / ticks,
                    link_share=float(share),
                    packets=int(packets),
                    bytes=int(sent),
                    hot_idle=int(hot[1]) / hot_ticks,
                    hot_softirq=int(hot[2]) / hot_ticks,
                )
            )
        elif line.startswith("w ") and parsed:
            seconds, ranks, _, wait_ns, _, timed = line.split()[1:]
            rank_s, wait_s = int(ranks) * float(seconds), float(wait_ns) / 1e9
            parsed[-1] = replace(parsed[-1], timed=int(timed), rank_s=rank_s, wait_s=wait_s)
    return parsed
