"""Refuse a constant where a clock was read: times with many digits do not come out alike, sample for sample."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from railyard.records.benchmark import Series
from railyard.records.record import Record
from railyard.records.rules.figures import RAN, RATES
from railyard.records.rules.registry import Fault, ended_well, rule

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
