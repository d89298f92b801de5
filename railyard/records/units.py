"""The one registry of units: a figure of merit (FOM) is a name whose suffix is its unit.

Models: suffix -> text for axes, better direction, range of valid samples. A new unit is one row here, and the
pattern `fom` of both schemas follows (a test compares them). Leaves out: conversions. A sample is stored and
shown in the unit that its name says.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from railyard.errors import InputError


class Better(StrEnum):
    """Which direction of a FOM is an improvement; `NEITHER` for one that only describes."""

    LOWER = "lower"
    HIGHER = "higher"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One suffix: `text` for people (`exact` says more). Units that can be converted into each other have one word in
    `measures`. Samples lie in [minimum, maximum]: no machine reaches the maximum, and sums of such samples are finite.
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
        """For axes and tables: the text, the decimal size of an ambiguous unit, the better direction."""
        better = "" if self.better is Better.NEITHER else f"{self.better} is better"
        aside = ", ".join(filter(None, [self.exact, better]))
        return f"{self.text} ({aside})" if aside else self.text


#: What the nodes count of a whole launch: one sample, whatever its repeats.
ENERGY = "energy"
UNITS: tuple[Unit, ...] = (
    Unit(suffix="us", measures="time", text="µs", better=Better.LOWER, maximum=1e12),
    Unit(suffix="s", measures="time", text="s", better=Better.LOWER, maximum=1e8),
    Unit(suffix="bytes", measures="size", text="bytes", better=Better.LOWER, maximum=1e18),
    Unit(suffix="hops", measures="hops", text="hops", better=Better.LOWER, maximum=1e6),
    Unit(
        suffix="gbyte_s",
        measures="data rate",
        text="GB/s",
        exact="1e9 bytes/s",
        better=Better.HIGHER,
        maximum=1e9,
    ),
    Unit(
        suffix="mbit_s",
        measures="data rate",
        text="Mbit/s",
        exact="1e6 bits/s",
        better=Better.HIGHER,
        maximum=1e12,
    ),
    Unit(suffix="message_s", measures="message rate", text="messages/s", better=Better.HIGHER, maximum=1e15),
    Unit(suffix="mflop_s", measures="operation rate", text="Mflop/s", better=Better.HIGHER, maximum=1e15),
    Unit(suffix="gflop_s", measures="operation rate", text="Gflop/s", better=Better.HIGHER, maximum=1e12),
    Unit(suffix="zone_s", measures="zone rate", text="zones/s", better=Better.HIGHER, maximum=1e18),
    Unit(suffix="per_s", measures="rate", text="1/s", better=Better.HIGHER, maximum=1e18),
    Unit(suffix="joule", measures=ENERGY, text="J", better=Better.LOWER, maximum=1e15),
    Unit(suffix="percent", measures="share", text="%", better=Better.NEITHER, minimum=-1e6, maximum=1e6),
    Unit(suffix="count", measures="count", text="count", better=Better.NEITHER, maximum=1e18),
)

#: Words that name a rate: `rate_widget_s` would else be read as a time in seconds, lower is better.
RATE_WORDS = frozenset({"bandwidth", "rate", "throughput"})

_LONGEST_FIRST = sorted(UNITS, key=lambda unit: -len(unit.suffix))


def suffixes() -> tuple[str, ...]:
    """Every registered suffix, in the registry's order."""
    return tuple(unit.suffix for unit in UNITS)


def fom_pattern() -> str:
    """The regular expression of a FOM's name, as both schemas state it (`$` would let a newline follow)."""
    return f"^[a-z][a-z0-9_]*_({'|'.join(suffixes())})(?![\\s\\S])"


@functools.lru_cache(maxsize=1024)
def find_unit(fom: str) -> Unit | None:
    """The unit of a FOM's name (the longest suffix that fits), or None when the name carries none."""
    unit = next((unit for unit in _LONGEST_FIRST if fom.endswith(f"_{unit.suffix}")), None)
    if unit and unit.better is Better.LOWER and RATE_WORDS & set(fom.split("_")):
        return None
    return unit


def unit_of(fom: str, source: str = "", field: str = "") -> Unit:
    """The unit of a FOM's name; raises InputError for a name without a registered unit."""
    unit = find_unit(fom)
    if unit is None:
        names = ", ".join(f"_{suffix}" for suffix in suffixes())
        raise InputError(source or fom, field, fom, f"a name ending in a unit that fits it, one of {names}")
    return unit


@functools.lru_cache(maxsize=1024)
def stem(fom: str) -> str:
    """The name without its unit, for people: `bandwidth_gbyte_s` -> `bandwidth`."""
    return fom.removesuffix(f"_{unit_of(fom).suffix}").replace("_", " ")


def check_samples(fom: str, samples: Sequence[float], source: str, field: str) -> None:
    """Raises InputError naming the first sample that is not finite or lies outside the unit's range."""
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
