"""Refuse a constant where a clock was read: times with many digits never come out the same sample for sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from railyard.records.record import Record
from railyard.records.rules.figures import RAN, RATES
from railyard.records.rules.registry import Fault, ended_well, rule

#: Number of samples -> the least significant digits, without zeros at the end, that no clock gives so often alike.
#: Programs that print three digits, such as 1.23, do repeat them.
DIGITS = {2: 8, 3: 5}
#: Figures that a program measures once and writes for each sample.
ONCE = frozenset({"quantum"})


@rule("clock-digits")
def constant(read: Record) -> Iterator[Fault]:
    """Samples of a time or a rate differ from one another, unless they have few digits."""
    for field, launch in ended_well(read) if read.origin in RAN else ():
        for index, series in enumerate(launch.series):
            measures = series.fom.unit.measures
            is_read = (measures == "time" and series.fom.stem not in ONCE) or measures in RATES
            if is_read and _is_constant(series.samples):
                text = (
                    f"{len(series.samples)} samples of {series.fom} are {series.samples[0]:.12g}, all alike"
                )
                yield Fault(field=f"{field}.series[{index}].samples", text=text)


def _is_constant(samples: Sequence[float]) -> bool:
    if len(samples) < min(DIGITS) or min(samples) != max(samples):
        return False
    mantissa = f"{samples[0]:.11e}".partition("e")[0]
    return len(mantissa.replace(".", "").strip("-0")) >= DIGITS[min(len(samples), max(DIGITS))]
