"""Check figures of merit: above 0, consistent with each other and with the duration, no two launches alike."""

from __future__ import annotations

from collections.abc import Iterator

from railyard.records import units
from railyard.records.benchmark import Series
from railyard.records.record import Launch, Origin, Record
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


_Point = frozenset[tuple[str, str | int]]


def _point(series: Series) -> _Point:
    """Return the labels of a series as a key."""
    return frozenset(series.labels.items())


@rule("no-two-alike")
def alike(read: Record) -> Iterator[Fault]:
    """No two launches have the same samples, and on a virtual torus none the same bytes of more than two NICs."""
    if read.origin not in RAN:
        return
    samples: dict[object, int] = {}
    sent: dict[object, int] = {}
    for field, launch in ended_well(read):
        taken = _compared(launch)
        key = tuple((series.fom, _point(series), series.samples) for series in taken)
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
