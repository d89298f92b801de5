"""Check figures: what case, figures and NICs determine of them, the duration, no two launches and no samples alike."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping

from railyard.records import programs, units
from railyard.records.benchmark import Series
from railyard.records.programs.base import Run
from railyard.records.record import Launch, Origin, Record, Verdict
from railyard.records.rules import rebuilt
from railyard.records.rules.registry import Fault, ended_well, rule

#: Parts of an iteration that may take 0 s; the delay that `noise` finds is one.
MAY_BE_ZERO = frozenset({"pack", "unpack", "wait", "delay"})
RATES = frozenset({"data rate", "message rate", "operation rate", "zone rate", "rate"})
RAN = frozenset({Origin.EMULATED, Origin.MEASURED})
#: The least number of digits, over all samples of a launch, for which two equal launches are not a coincidence.
DIGITS = 12
#: The most NICs with traffic whose equal bytes may be a coincidence. Two launches of a pair of ranks differ by a few
#: acknowledgements at most: 15 of 24 launches of OSU's latency test had the bytes of another one.
PAIR = 2


@rule("above-zero")
def above_zero(read: Record) -> Iterator[Fault]:
    """Rates are above 0, and so are times of what was run, but for parts of an iteration such as packing."""
    for field, launch in ended_well(read):
        for index, series in enumerate(launch.series):
            least = min(series.samples)
            if least > 0:
                continue
            measures = series.fom.unit.measures
            if measures in RATES or (measures == "time" and read.origin in RAN and series.fom.stem not in MAY_BE_ZERO):
                yield Fault(f"{field}.series[{index}]", f"{series.fom} is {least:g}")


@rule("within-the-launch")
def within(read: Record) -> Iterator[Fault]:
    """No sample of a time is longer than its launch, and the iterations together are not."""
    if read.origin not in RAN:
        return
    for field, launch in ended_well(read):
        for index, series in enumerate(launch.series):
            unit = series.fom.unit.name
            if unit not in units.SECONDS or launch.elapsed_s is None:
                continue
            is_whole = series.fom == "iteration_us"
            taken = units.SECONDS[unit] * (sum(series.samples) if is_whole else max(series.samples))
            if taken > launch.elapsed_s:
                text = f"{series.fom}: {taken:.3f} s in a launch of {launch.elapsed_s:.3f} s"
                yield Fault(f"{field}.series[{index}]", text)


@rule("no-two-alike")
def alike(read: Record) -> Iterator[Fault]:
    """No two launches have the same samples, and on a virtual torus none the same bytes of more than two NICs."""
    if read.origin not in RAN:
        return
    samples: dict[object, int] = {}
    sent: dict[object, int] = {}
    for field, launch in ended_well(read):
        taken = _compared(launch)
        key = tuple((series.fom, frozenset(series.labels.items()), series.samples) for series in taken)
        if taken and (other := samples.setdefault(key, launch.index)) != launch.index:
            yield Fault(f"{field}.series", f"this launch has the same samples as launch {other}")
        nics = launch.nics
        if read.origin is Origin.EMULATED and nics and sum(map(bool, nics.tx_bytes)) > PAIR:
            bytes_ = tuple(sorted(zip(nics.pairs, nics.tx_bytes, nics.rx_bytes, strict=True)))
            if (other := sent.setdefault(bytes_, launch.index)) != launch.index:
                yield Fault(f"{field}.nics", f"the NICs of this launch sent the same bytes as those of launch {other}")


def _compared(launch: Launch) -> list[Series]:
    """Return the series that two launches share only if one is a copy; none if they have fewer than `DIGITS` digits.

    What nodes counted is left out, because a copied launch with another energy is still a copy.
    """
    taken = [series for series in launch.series if not units.is_counted(series.fom)]
    digits = 0
    for series in taken:
        for sample in series.samples:
            digits += sum(map(str.isdigit, f"{sample:.12g}"))
            if digits >= DIGITS:
                return taken
    return []


#: Figures that a program measures once and writes for each sample.
ONCE = frozenset({"quantum"})
#: Digits of a time that samples share, because they differ by a thousandth at least; and the most that a clock gives. A
#: rate has more than its clock, so that only one of its digits counts.
ALIKE, MOST = 4, 8
#: The least sum of the other digits over all samples that are alike but the first, less those of the number of ways to
#: choose these samples: one launch in 10^8 has so many by chance.
CHANCE = 8


@rule("clock-digits")
def constant(read: Record) -> Iterator[Fault]:
    """Most samples of a time or a rate differ from one another, unless they are few or have few digits."""
    for field, launch in ended_well(read) if read.origin in RAN else ():
        for index, series in enumerate(launch.series):
            count = len(series.samples)
            if count < 2 or 2 * len(set(series.samples)) > count + 1:
                continue  # the samples that are alike are fewer than half
            ((sample, alike),) = Counter(series.samples).most_common(1)
            ways = (math.lgamma(count + 1) - math.lgamma(alike + 1) - math.lgamma(count - alike + 1)) / math.log(10)
            if 2 * alike > count and (_digits(series, sample) - ALIKE) * (alike - 1) >= CHANCE + ways:
                of = "all" if alike == count else f"{alike} of {count}"
                yield Fault(f"{field}.series[{index}].samples", f"{count} samples of {sample:.12g}, {of} alike")


def _digits(series: Series, sample: float) -> int:
    """Return how many digits a clock gave a sample, without zeros at the end; 0 for a figure of no clock."""
    measures = series.fom.unit.measures
    if series.fom.stem in ONCE or (measures != "time" and measures not in RATES):
        return 0
    mantissa = f"{sample:.11e}".partition("e")[0]
    digits = len(mantissa.replace(".", "").strip("-0"))
    return min(digits, MOST if measures == "time" else ALIKE + 1)


def _run(read: Record, launch: Launch) -> Run:
    return Run(
        parameters=read.case.parameters,
        ranks=launch.ranks,
        series=launch.series,
        not_measured=launch.not_measured,
        reported=launch.reported,
        grid=rebuilt.grid(read) or (),
    )


@rule("contradiction")
def contradiction(read: Record) -> Iterator[Fault]:
    """Each figure is what the case and the other figures of its launch determine; none of the program's is missing."""
    if read.origin is Origin.MODELLED:
        return  # the model writes other figures, and all of them are computed again
    contradictions = programs.contradictions(read.case.benchmark)
    for field, launch in ended_well(read):
        for text in contradictions(_run(read, launch)):
            yield Fault(f"{field}.series", text[:300])


@rule("payload")
def payload(read: Record) -> Iterator[Fault]:
    """The NICs of each node sent at least the payload that left it, wherever the bytes are proof of a policy."""
    program = programs.PROGRAMS.get(read.case.benchmark)
    if program is None or read.origin is Origin.MODELLED:
        return
    cached: dict[object, Mapping[str, float]] = {}
    for field, launch in ended_well(read):
        of_ranks = rebuilt.counts_nics(read, launch)
        if not launch.nics or (of_ranks and launch.nic_verdict is not Verdict.OBEYED):
            continue
        key = id(launch.ranks.host_of), tuple(len(series.samples) for series in launch.series)
        if key not in cached:
            cached[key] = _summed(program.sent(_run(read, launch)))
        counted = _summed((node, size) for (node, _), size in zip(launch.nics.pairs, launch.nics.tx_bytes, strict=True))
        counted[""] = sum(counted.values())
        for host, size in cached[key].items():
            if counted.get(host, 0) < size:
                where = f"the NICs of {host}" if host else "all NICs"
                text = f"{where} sent {counted.get(host, 0):.0f} bytes; {size:.0f} left it by the figures"
                yield Fault(f"{field}.nics", text)
                break


def _summed(parts: Iterator[tuple[str, float]]) -> dict[str, float]:
    """Return the sum of each name's numbers."""
    sums: dict[str, float] = {}
    for name, size in parts:
        sums[name] = sums.get(name, 0.0) + size
    return sums
