"""Find the launches that were slower than their likes, and the error counters that explain them.

Models: the slowness of a launch is the median over its series of its value over the median of the launches of its
combination, by the median of its samples and by their mean, which a single long iteration changes. A launch is slow if
one of the two lies beyond Tukey's upper fence, and by more than `LEAST_PERCENT`.

A counter explains a slow launch if two things hold. It is unusual: its growth on one NIC is more than `TIMES` that on
any NIC in every launch of the job that was not slow. It is enough: by what one such event can cost (`COSTS_S`, the
default is long), it can have taken `SHARE` of the time that was lost.

If a counter did not depend on the times and grew in one of n launches alone, it would be in this one with a probability
of 1/n, which every statement contains. An event that falls into one launch in x of a machine explains a launch that is
slow for another reason with a probability of (1 - 1/x) ** (n - 1) / x: at most 3.2 % with 12 launches, 2 % with 19. A
counter that grows as much in other launches explains nothing, at any size. `tests/analysis/test_slow.py` measures it.

Leaves out: combinations with fewer than `ENOUGH` launches, events where the counters of a launch were not read, jobs
that ran on other nodes (each job is looked at alone), and causes that no counter shows
(`railyard.analysis.report.causes`).
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from railyard.records import benchmark
from railyard.records.benchmark import SAMPLE_BEGUN, Labels, Series
from railyard.records.folded.health import Event
from railyard.records.record import Combination, Launch, Origin, Record
from railyard.records.units import Better, Fom

#: Tukey's fence, as multiples of the distance of the quartiles.
FENCE = 1.5
ENOUGH = 5
LEAST_PERCENT = 5.0
TIMES = 3
SHARE = 0.1
#: The longest that one event can hold up its NIC, in seconds: a replay is a round trip of the link and its timer, a
#: corrected word nothing or a short interrupt, a packet sent again TCP's least timeout (RFC 6298; Linux 0.2 s). A frame
#: that a node dropped on receipt costs little: the kernel counts those of unknown protocols, too, and one that mattered
#: is sent again, which its sender counts.
COSTS_S = {
    **dict.fromkeys(("REPLAYS", "TX_REPLAYS", "RX_REPLAYS", "SYMBOL_ERRORS", "PCIE_CORRECTED"), 1e-4),
    **dict.fromkeys(
        ("MEMORY_CORRECTED", "OUT_OF_SEQUENCE", "RETRANSMISSIONS", "RETRANSMITTED", "RX_DROPPED", "RX_DROPS"), 1e-3
    ),
    **dict.fromkeys(("TCP_RETRANSMITTED", "TX_DROPPED", "DROPS"), 0.2),
    **dict.fromkeys(("OUTAGE_NS", "DELAYED_NS"), 1e-9),
}
LONG_S = 60.0
#: Costs of a link that grow as its rate is scaled.
SCALED = frozenset({"REPLAYS", "DROPS"})
#: Events that stop a link are named before those that slow it down.
WORST = ("LINK_DOWNS", "OUTAGES", "OUTAGE_NS", "SPEED", "RATE", "PCIE_WIDTH")
#: The most events that a statement names.
SHOWN = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowLaunch:
    """A launch of a record, compared with the others of its combination.

    `percent` is how much slower it was, `is_slow` whether that is unusual, and `of` the number of launches of its
    combination in its job. `is_spike` is whether single iterations made it slow, and not most of them. `causes` are the
    events of the counters that explain it, those that stop a link first, and `by_chance` the number of launches into
    which they could have fallen. `is_readable` is whether the counters of all launches of the job were read.
    """

    record: Record
    launch: Launch
    percent: float
    of: int
    is_slow: bool
    is_spike: bool
    causes: tuple[Event, ...]
    by_chance: int
    is_readable: bool

    @property
    def slowed(self) -> str:
        """Return which launch was slow and by how much."""
        measure = "by the mean of its iterations " if self.is_spike else ""
        name = f"Launch {self.launch.repeat + 1} of {self.of}"
        return f"{name} was {measure}{self.percent:.0f} % slower than the median"

    def text(self) -> str:
        """Return the launch in a sentence."""
        if self.causes:
            more = len(self.causes) - SHOWN
            named = "; ".join(event.text() for event in self.causes[:SHOWN])
            also = f"; and {more} more" if more > 0 else ""
            return f"{self.slowed}; in it {named}{also} (by chance in 1 of {self.by_chance})."
        rest = "no error counter explains it" if self.is_readable else "not all error counters were read"
        return f"{self.slowed}; {rest}."


def launches(record: Record, *, every: bool = False) -> list[SlowLaunch]:
    """Return the slow launches of a record, in the order of the job, or `every` launch with a result."""
    of_combination: dict[Combination, list[Launch]] = {}
    for launch in record.launches:
        if launch.is_result:
            of_combination.setdefault(launch.combination, []).append(launch)
    measured = [how for group in of_combination.values() for how in _measured(group)]
    slow = {launch.index for launch, _, _, is_slow in measured if is_slow}
    compared = [launch for group in of_combination.values() if len(group) >= ENOUGH for launch in group]
    is_readable = all(launch.health is not None for launch in compared)
    others = [_largest(launch) for launch in compared if launch.index not in slow and is_readable]
    scale = (record.provenance["torus"] or {}).get("rate_scale") if record.origin is Origin.EMULATED else None
    return [
        SlowLaunch(
            record=record,
            launch=launch,
            percent=percent,
            of=sum(planned.combination == launch.combination for planned in record.launches),
            is_slow=is_slow,
            is_spike=is_spike,
            causes=_causes(launch, percent, others, scale or 1.0) if is_slow else (),
            by_chance=len(others) + 1,
            is_readable=is_readable,
        )
        for launch, percent, is_spike, is_slow in sorted(measured, key=lambda how: how[0].index)
        if is_slow or every
    ]


def are_few(record: Record) -> bool:
    """Return whether no combination has enough launches to call one slow."""
    counts = Counter(launch.combination for launch in record.launches if launch.is_result)
    return max(counts.values(), default=0) < ENOUGH


def marked(record: Record) -> list[SlowLaunch]:
    """Return the slow launches of a record that an event explains."""
    if not any(launch.health and launch.health.faults for launch in record.launches):
        return []
    return [one for one in launches(record) if one.causes]


def without_marked(record: Record) -> Record:
    """Return a record without the launches that an event explains, the same object if there is none."""
    indices = {one.launch.index for one in marked(record)}
    rest = tuple(launch for launch in record.launches if launch.index not in indices)
    return dataclasses.replace(record, launches=rest) if indices else record


@dataclass(frozen=True, slots=True, kw_only=True)
class Iterations:
    """The iterations of a launch: how long each took, the numbers from 0 of the slow ones, and when each began.

    `begun_s` is in seconds since 1970, None for a program that does not record it.
    """

    series: Series
    slow: Sequence[int]
    begun_s: Sequence[float] | None

    def span_s(self, number: int) -> tuple[float, float]:
        """Return when an iteration began, and when the next one did; for ever where that is not known."""
        if self.begun_s is None:
            return math.inf, math.inf
        return self.begun_s[number], (*self.begun_s, math.inf)[number + 1]

    def text(self) -> str:
        """Return which iterations were slow, and when."""
        few = ", ".join(str(number + 1) for number in self.slow[:5]) + (", ..." if len(self.slow) > 5 else "")
        head = f"{len(self.slow)} of {len(self.series.samples)} were slow" + (f": {few}" if self.slow else "")
        if not self.slow or self.begun_s is None:
            return head
        begin_s, end_s = (self.begun_s[number] for number in (self.slow[0], self.slow[-1]))
        date = datetime.fromtimestamp(begin_s, UTC).isoformat(" ", "milliseconds").removesuffix("+00:00")
        return f"{head}; the first began at {date} UTC, the last {end_s - begin_s:.2f} s later"


def iterations(launch: Launch) -> Iterations | None:
    """Return the slow iterations of a launch: those above Tukey's fence of its first series of times; None without."""
    series = next((one for one in launch.series if one.fom.better is Better.LOWER and len(one.samples) >= 4), None)
    if series is None:
        return None
    limit = max(_fence(series.samples), statistics.median(series.samples) * (1 + LEAST_PERCENT / 100))
    dates_s = launch.reported.get(SAMPLE_BEGUN)
    return Iterations(
        series=series,
        slow=[number for number, sample in enumerate(series.samples) if sample > limit],
        begun_s=dates_s if isinstance(dates_s, list) and len(dates_s) == len(series.samples) else None,
    )


def _measured(alike: Sequence[Launch]) -> Iterable[tuple[Launch, float, bool, bool]]:
    """Yield launches of a combination: slower by how many percent, by single iterations alone, whether it is slow."""
    by_median, by_mean = _slowness(alike, statistics.median), _slowness(alike, statistics.fmean)
    limits = [max(_fence(slowness), math.log1p(LEAST_PERCENT / 100)) for slowness in (by_median, by_mean)]
    for launch, middle, mean in zip(alike, by_median, by_mean, strict=True):
        is_spike = middle <= limits[0] and mean > limits[1]
        is_slow = len(alike) >= ENOUGH and (is_spike or middle > limits[0])
        yield launch, 100 * math.expm1(mean if is_spike else middle), is_spike, is_slow


def _fence(values: Sequence[float]) -> float:
    """Return Tukey's upper fence of values; infinity for a single one."""
    if len(values) < 2:
        return math.inf
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return high + FENCE * (high - low)


def _slowness(alike: Sequence[Launch], middle: Callable[[Sequence[float]], float]) -> list[float]:
    """Return the logarithm of how much slower each launch was than the median of all; `middle` reduces its samples."""
    values = [_values(launch, middle) for launch in alike]
    common = [key for key in values[0] if all(of_launch.get(key, 0.0) > 0 for of_launch in values)]
    usual = {key: statistics.median(of_launch[key] for of_launch in values) for key in common}
    return [
        statistics.median([math.log(of_launch[key] / usual[key]) for key in common] or [0.0]) for of_launch in values
    ]


def _values(launch: Launch, middle: Callable[[Sequence[float]], float]) -> Mapping[tuple[Fom, Labels], float]:
    pairs: dict[tuple[Fom, Labels], list[float]] = {}
    for series in launch.series:
        if series.fom.better is not Better.NEITHER:
            times: Sequence[float] = series.samples
            if series.fom.better is Better.HIGHER:  # rates become times, so that larger is worse
                times = [1 / sample if sample > 0 else 0.0 for sample in times]
            pairs.setdefault((series.fom, benchmark.point(series.labels)), []).append(middle(times))
    return {key: statistics.median(values) for key, values in pairs.items()}


def _largest(launch: Launch) -> Mapping[str, int]:
    """Return by how much each counter grew on the NIC where it grew most."""
    grown: dict[str, int] = {}
    for event in launch.health.faults if launch.health else ():
        grown[event.event] = max(grown.get(event.event, 0), event.count)
    return grown


def _causes(launch: Launch, percent: float, others: Sequence[Mapping[str, int]], scale: float) -> tuple[Event, ...]:
    """Return the events that are unusual among the other launches and can have cost enough; empty without others."""
    lost_s = (launch.elapsed_s or 0.0) * percent / (100 + percent)

    def cost_s(event: Event) -> float:
        return COSTS_S.get(event.event, LONG_S) / (scale if event.event in SCALED else 1.0)

    named = [
        event
        for event in (launch.health.faults if launch.health and others else ())
        if all(event.count > TIMES * other.get(event.event, 0) for other in others)
        and event.count * cost_s(event) >= SHARE * lost_s
    ]
    return tuple(sorted(named, key=lambda event: (event.event not in WORST, -event.count)))
