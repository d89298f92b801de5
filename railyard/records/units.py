"""Register units: the name of a figure of merit (FOM) ends in its unit, such as `latency_us`.

Models: suffix -> text for axes, better direction, range of valid samples. A new unit is one row here and a change of
the pattern `fom` in both schemas, which a test compares. Leaves out: conversions. A sample is stored and shown in the
unit that the name of its FOM contains.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from railyard.base.errors import InputError


class Better(StrEnum):
    """The direction in which a FOM improves; `NEITHER` for a FOM that only describes."""

    LOWER = "lower"
    HIGHER = "higher"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One suffix with `text` for people and, in `exact`, the size of a unit whose text is ambiguous.

    Units that can be converted into each other have the same `measures`. Samples must lie in [minimum, maximum]; no
    machine reaches the maximum, and sums of such samples are finite.
    """

    suffix: str
    measures: str
    text: str
    exact: str = ""
    better: Better
    minimum: float = 0.0
    maximum: float = math.inf

    @property
    def heading(self) -> str:
        """Return the heading for axes and tables: text, exact size of an ambiguous unit, better direction."""
        better = "" if self.better is Better.NEITHER else f"{self.better} is better"
        aside = ", ".join(filter(None, [self.exact, better]))
        return f"{self.text} ({aside})" if aside else self.text


def _rate(suffix: str, measures: str, text: str, *, exact: str = "", maximum: float) -> Unit:
    return Unit(
        suffix=suffix, measures=measures, text=text, exact=exact, better=Better.HIGHER, maximum=maximum
    )


#: Measured by the nodes' counters over a whole launch: one sample per launch, regardless of repeats.
ENERGY = "energy"
UNITS: tuple[Unit, ...] = (
    Unit(suffix="ns", measures="time", text="ns", better=Better.LOWER, maximum=1e15),
    Unit(suffix="us", measures="time", text="µs", better=Better.LOWER, maximum=1e12),
    Unit(suffix="ms", measures="time", text="ms", better=Better.LOWER, maximum=1e9),
    Unit(suffix="s", measures="time", text="s", better=Better.LOWER, maximum=1e8),
    Unit(suffix="bytes", measures="size", text="bytes", better=Better.LOWER, maximum=1e18),
    Unit(suffix="hops", measures="hops", text="hops", better=Better.LOWER, maximum=1e6),
    *(
        _rate(
            f"{prefix}byte_s",
            "data rate",
            f"{symbol}B/s",
            exact=f"1e{power} bytes/s",
            maximum=1e18 / 10**power,
        )
        for prefix, symbol, power in (("k", "k", 3), ("m", "M", 6), ("g", "G", 9), ("t", "T", 12))
    ),
    _rate("mibyte_s", "data rate", "MiB/s", exact="2^20 bytes/s", maximum=1e12),
    _rate("gibyte_s", "data rate", "GiB/s", exact="2^30 bytes/s", maximum=1e9),
    _rate("mbit_s", "data rate", "Mbit/s", exact="1e6 bits/s", maximum=1e12),
    _rate("gbit_s", "data rate", "Gbit/s", exact="1e9 bits/s", maximum=1e9),
    _rate("message_s", "message rate", "messages/s", maximum=1e15),
    *(
        _rate(f"{prefix}flop_s", "operation rate", f"{symbol}flop/s", maximum=1e21 / 10**power)
        for prefix, symbol, power in (("m", "M", 6), ("g", "G", 9), ("t", "T", 12), ("p", "P", 15))
    ),
    *(
        _rate(f"{prefix}teps", "edge rate", f"{symbol}TEPS", maximum=1e18)
        for prefix, symbol in (("", ""), ("m", "M"), ("g", "G"))
    ),
    _rate("iops", "operation rate of storage", "IOPS", maximum=1e15),
    _rate("kiops", "operation rate of storage", "kIOPS", maximum=1e12),
    _rate("zone_s", "zone rate", "zones/s", maximum=1e18),
    *(
        _rate(f"per_{time}", "rate", f"1/{text}", maximum=1e18)
        for time, text in (("ns", "ns"), ("us", "µs"), ("ms", "ms"), ("s", "s"), ("hour", "h"), ("day", "d"))
    ),
    Unit(suffix="joule", measures=ENERGY, text="J", better=Better.LOWER, maximum=1e15),
    Unit(suffix="percent", measures="share", text="%", better=Better.NEITHER, minimum=-1e6, maximum=1e6),
    Unit(suffix="count", measures="count", text="count", better=Better.NEITHER, maximum=1e18),
)

#: Words that mark a rate: without them `rate_widget_s` would be read as a time in seconds, of which lower is better.
RATE_WORDS = frozenset({"bandwidth", "rate", "throughput"})
#: Further names that a new FOM may not have: `cells_s` and `atoms_us` look like rates, too.
_RATES = re.compile(r"(?:^|_)(?:[a-z0-9]*[a-rt-z]s|speed|performance)_[mnu]?s$")

_LONGEST_FIRST = sorted(UNITS, key=lambda unit: -len(unit.suffix))


def suffixes() -> tuple[str, ...]:
    """Return every registered suffix, in the order of the registry."""
    return tuple(unit.suffix for unit in UNITS)


def fom_pattern() -> str:
    """Return the regular expression of a FOM's name, as in both schemas; `$` as its end would accept a newline."""
    return f"^[a-z][a-z0-9_]*_({'|'.join(suffixes())})(?![\\s\\S])"


@functools.lru_cache(maxsize=1024)
def find_unit(fom: str) -> Unit | None:
    """Return the unit of a FOM's name, by its longest registered suffix.

    None for a name without such a suffix, and for a name of a rate (`RATE_WORDS`) whose unit is better if lower.
    """
    unit = next((unit for unit in _LONGEST_FIRST if fom.endswith(f"_{unit.suffix}")), None)
    if unit and unit.better is Better.LOWER and RATE_WORDS & set(fom.split("_")):
        return None
    return unit


def unit_of_new(fom: str) -> Unit:
    """Return the unit of a FOM that a check declares; raises InputError for a rate that would be read as a time.

    Records that already contain such a FOM stay readable, because only new ones are refused.
    """
    if _RATES.search(fom):
        what = fom.rpartition("_")[0]
        raise InputError(fom, "", fom, f"{what}_per_s for a rate, {what}_time_s for a time")
    return unit_of(fom)


def unit_of(fom: str, source: str = "", field: str = "") -> Unit:
    """Return the unit of a FOM's name; raises InputError for a name without a registered unit."""
    unit = find_unit(fom)
    if unit is None:
        names = ", ".join(f"_{suffix}" for suffix in suffixes())
        raise InputError(source or fom, field, fom, f"a name ending in a unit that fits it, one of {names}")
    return unit


@functools.lru_cache(maxsize=1024)
def stem(fom: str) -> str:
    """Return a FOM's name without its unit, for people: `bandwidth_gbyte_s` -> `bandwidth`."""
    return fom.removesuffix(f"_{unit_of(fom).suffix}").replace("_", " ")


def check_samples(fom: str, samples: Sequence[float], source: str, field: str) -> None:
    """Raise InputError for the first sample that is not finite or lies outside the range of the FOM's unit."""
    unit = unit_of(fom, source, f"{field}.fom")
    if (
        samples
        and unit.minimum <= min(samples)
        and max(samples) <= unit.maximum
        and math.isfinite(sum(samples))  # NaN passes the other two
    ):
        return
    for index, sample in enumerate(samples):
        if not (math.isfinite(sample) and unit.minimum <= sample <= unit.maximum):
            wanted = f"a number from {unit.minimum:g} to {unit.maximum:g}"
            raise InputError(source, f"{field}.samples[{index}]", sample, wanted)
