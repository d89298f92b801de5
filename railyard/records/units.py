"""Register units, and declare figures of merit (FOMs): name, unit and better direction, given where one is made.

Models: the units that programs print, each with its spellings, text for axes and range of valid samples. A new unit is
one row here. `Fom` is the name of a figure with its declaration. Nothing reads a unit or a direction from a name.
Leaves out: conversions. A sample is stored and shown in the unit of its figure.
"""

from __future__ import annotations

import difflib
import functools
import math
import re
from collections.abc import Iterator, Sequence
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
    """One unit: `name` in documents, `text` for people, `exact` its size if the text is ambiguous.

    `spellings` are what programs print for it. Units that can be converted into each other have the same `measures`.
    Samples must lie in [minimum, maximum]; no machine reaches the maximum, and sums of such samples are finite.
    """

    name: str
    measures: str
    text: str
    exact: str = ""
    spellings: tuple[str, ...] = ()
    minimum: float = 0.0
    maximum: float = math.inf


class Fom(str):
    """The name of a figure of merit, with the unit and the direction that its maker declared.

    It is equal to its bare name, and to another declaration only if unit and direction are equal as well.
    """

    __slots__ = ("better", "stem", "unit")
    unit: Unit
    better: Better
    #: The name for people, without its unit if it ends in that: `bandwidth_gbyte_s` -> `bandwidth`.
    stem: str

    def __new__(cls, name: str, unit: Unit, better: Better) -> Fom:
        """Return the name with its declaration."""
        fom = super().__new__(cls, name)
        fom.unit, fom.better = unit, better
        fom.stem = name.removesuffix(f"_{unit.name}").replace("_", " ")
        return fom

    def __eq__(self, other: object) -> bool:
        """Return whether the names are equal, and the declarations if both have one."""
        if self is other:
            return True
        if isinstance(other, Fom) and (self.unit.name, self.better) != (other.unit.name, other.better):
            return False
        return str.__eq__(self, other) is True

    def __ne__(self, other: object) -> bool:
        """Return the opposite of `==`."""
        return not self == other

    __hash__ = str.__hash__

    def __reduce__(self) -> tuple[object, ...]:
        """Return how to make the same value again, in another process or as a copy."""
        return restored, (str(self), self.unit.name, str(self.better))

    @property
    def heading(self) -> str:
        """Return the heading of axes and tables: unit, exact size of an ambiguous unit, better direction."""
        return self.headed(self.unit.text)

    def headed(self, text: str) -> str:
        """Return the heading with another text for the unit, such as `1e6 bytes`."""
        better = "" if self.better is Better.NEITHER else f"{self.better} is better"
        aside = ", ".join(filter(None, [self.unit.exact, better]))
        return f"{text} ({aside})" if aside else text

    def named(self, name: str) -> Fom:
        """Return another name with the same declaration, as a point of a figure has it."""
        return Fom(name, self.unit, self.better)

    def document(self) -> dict[str, str]:
        """Return the declaration as it is in documents."""
        return {"unit": self.unit.name, "better": str(self.better)}


@functools.lru_cache(maxsize=4096)
def is_counted(fom: Fom) -> bool:
    """Return whether the nodes counted it over a whole launch, besides what the program measured."""
    return fom.unit.measures == ENERGY or fom == RANK_SENT


#: Seconds in one unit of time, by its name.
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "minute": 60.0, "hour": 3600.0}
#: Measured by the nodes' counters over a whole launch: one sample per launch, regardless of repeats.
ENERGY = "energy"
#: Share of the NICs' bytes that some ranks' own connections carried: of a whole launch, too.
RANK_SENT = "rank_sent_percent"
RATE = "rate"
#: Prefix of a unit's name -> its symbol, its factor, and the factor in words.
_PREFIXES = {
    "": ("", 1, ""),
    "k": ("k", 10**3, "1e3"),
    "m": ("M", 10**6, "1e6"),
    "g": ("G", 10**9, "1e9"),
    "t": ("T", 10**12, "1e12"),
    "p": ("P", 10**15, "1e15"),
    "e": ("E", 10**18, "1e18"),
    "ki": ("Ki", 2**10, "2^10"),
    "mi": ("Mi", 2**20, "2^20"),
    "gi": ("Gi", 2**30, "2^30"),
    "ti": ("Ti", 2**40, "2^40"),
}
_LARGEST = 1e18


def _scaled(
    name: str, measures: str, prefixes: str, printed: str, *, exact: str = "", largest: float = _LARGEST
) -> Iterator[Unit]:
    """Yield a unit for each prefix, `-` for none. `printed` are the words after it, the first of which is the text.

    `exact` is what a multiple counts. The largest sample is so large in the unit without a prefix.
    """
    text, *words = printed.split(",")
    for prefix in prefixes.replace("-", "").split(" "):
        symbol, factor, times = _PREFIXES[prefix]
        yield Unit(
            name=f"{prefix}{name}",
            measures=measures,
            text=f"{symbol}{text}",
            exact=f"{times} {exact}" if exact and times else "",
            spellings=tuple(f"{symbol}{word}" for word in words),
            maximum=largest / factor,
        )


#: What programs count per second: word in a unit's name -> (word for people, what programs print before `/s`).
_COUNTED = {
    "message": ("messages", "messages", "Messages", "msg", "msgs", "Msg"),
    "zone": ("zones", "zones", "z"),
    "cell": ("cells", "cells", "cell"),
    "atom": ("atoms", "atoms", "atom"),
    "atom_step": ("atom-steps", "atom-step", "atom-steps"),
    "step": ("steps", "timesteps", "steps", "time steps"),
    "dof": ("DOF", "DOF", "DOFs", "dofs"),
    "dof_step": ("DOF-steps", "dofs x time steps"),
    "particle": ("particles", "particles"),
    "segment": ("segments", "segments"),
    "track": ("tracks", "tracks"),
    "unknown": ("unknowns", "unknowns"),
    "point": ("points", "points", "grid points"),
    "element": ("elements", "elements"),
    "lup": ("LUP", "LUP", "LUPs"),
    "update": ("updates", "updates", "UP", "UPs"),
    "block": ("blocks", "blocks"),
    "sample": ("samples", "samples"),
    "image": ("images", "images"),
    "token": ("tokens", "tokens"),
    "lookup": ("lookups", "lookups", "Lookups"),
    "iteration": ("iterations", "iterations", "iter", "it"),
    "packet": ("packets", "packets"),
    "event": ("events", "events"),
}
#: What programs print for such rates without a slash.
_RATES_BY_NAME = {"lup": ("LUPS",), "update": ("UPS",), "packet": ("pps",)}


def _counted(word: str, prefix: str) -> Unit:
    text, *printed = _COUNTED[word]
    symbol = _PREFIXES[prefix][0]
    symbols = {"m": ("M", "Mega ", "mega"), "g": ("G", "Giga ", "giga")}.get(prefix, (prefix,))
    endings = ("/s", "/sec", "/second", " / second", "/(second/iteration)")
    by_name = (f"{symbol}{rate}" for rate in _RATES_BY_NAME.get(word, ()))
    every = (f"{mark}{thing}{per}" for mark in symbols for thing in printed for per in endings)
    return Unit(
        name=f"{prefix}{word}_s",
        measures=f"{word} rate" if word in ("zone", "message") else RATE,
        text=f"{symbol}{text}/s",
        spellings=(*by_name, *every),
        maximum=_LARGEST,
    )


def _unit(name: str, measures: str, text: str, *spellings: str, largest: float = _LARGEST) -> Unit:
    """Return a unit whose samples may reach `largest`."""
    return Unit(name=name, measures=measures, text=text, spellings=spellings, maximum=largest)


def _per(time: str, text: str, *spellings: str) -> Unit:
    return _unit(f"per_{time}", RATE, f"1/{text}", f"1/{text}", *spellings)


#: What programs print after a prefix.
_BYTES = "B/s,B/sec,Bytes/s,byte/s,bytes/s,Bytes/sec,bytes/sec,Bps"
_BITS = "bit/s,bits/s,bit/sec,bits/sec,b/s,b/sec,bps"
_FLOPS = "flops,FLOPS,flop/s,FLOP/s,Flop/s,Flops,FLOPs,FLOP/S,flop/sec,flops/seconds,F/s"

UNITS: tuple[Unit, ...] = (
    _unit("ns", "time", "ns", "nsec", "nanoseconds", largest=1e15),
    _unit("us", "time", "µs", "usec", "usecs", "microseconds", "µsec", largest=1e12),
    _unit("ms", "time", "ms", "msec", "milliseconds", largest=1e9),
    _unit("s", "time", "s", "sec", "secs", "sec.", "secs.", "second", "seconds", "Seconds", "Sec", largest=1e8),
    _unit("minute", "time", "min", "minutes", "Minutes", largest=1e7),
    _unit("hour", "time", "h", "hours", "Hours", largest=1e5),
    _unit("bytes", "size", "bytes", "B", "byte"),
    Unit(name="hops", measures="hops", text="hops", maximum=1e6),
    # programs print MB/s for 1e6 bytes per second
    *_scaled("byte_s", "data rate", "- k m g t", f"B/s,{_BYTES},B/s/rank", exact="bytes/s"),
    *_scaled("byte_s", "data rate", "ki mi gi ti", "B/s,B/s,B/sec,B/s/rank", exact="bytes/s"),
    *_scaled("bit_s", "data rate", "m g t", f"bit/s,{_BITS}", exact="bits/s"),
    *_scaled("flop_s", "operation rate", "- m g t p e", f"flop/s,{_FLOPS}", largest=1e21),
    *_scaled("teps", "edge rate", "- k m g t", "TEPS,TEPS"),
    *_scaled("iops", "operation rate of storage", "- k", "IOPS,IOPS,iops,ops/sec,ops/s,op/s", largest=1e15),
    *(_counted(word, prefix) for word in _COUNTED for prefix in ("", "k", "m", "g")),
    _per("ns", "ns", "1/nsec"),
    _per("us", "µs", "1/us"),
    _per("ms", "ms"),
    _per("s", "s", "1/sec", "/s", "Hz"),
    _per("hour", "h", "1/hour"),
    _per("day", "d", "1/day", "/day"),
    _unit("ns_per_day", RATE, "ns/d", "ns/day"),
    _unit("hour_per_ns", "time per step", "h/ns", "hours/ns", "hour/ns"),
    _unit("tau_per_day", RATE, "tau/d", "tau/day"),
    _unit("sypd", RATE, "SYPD", "simulated_years/day", "simyears/day", largest=1e12),
    _unit("sdpd", RATE, "SDPD", "simulated_days/day", largest=1e12),
    _unit("us_per_zone_cycle", "grind time", "µs/zone/cycle", "us/z/c", "us/zone/cycle"),
    _unit("ns_per_unknown", "grind time", "ns/unknown", "ns/unknown/iteration"),
    _unit("s_per_unknown", "grind time", "s/unknown", "(seconds/iteration)/unknowns"),
    _unit("joule", ENERGY, "J", "Joule", "Joules", "joules", largest=1e15),
    _unit("kjoule", ENERGY, "kJ", "Joules (kJ)", "kilojoules", largest=1e12),
    _unit("watt", "power", "W", "Watt", "Watts", "watts", largest=1e12),
    _unit("gflop_s_per_watt", "efficiency", "Gflop/s/W", "GFlops/W", "Gflops/watt"),
    Unit(name="percent", measures="share", text="%", spellings=("percents", "pct"), minimum=-1e9, maximum=1e9),
    _unit("ratio", "ratio", "ratio", "Ratio", "X", "x", "score", "rate", "1"),
    _unit("count", "count", "count", "#", "#wrong", "elements", "number"),
)
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_BY_SPELLING = {spelling: unit for unit in UNITS for spelling in (*unit.spellings, unit.text, unit.name)}


def find(unit: str) -> Unit | None:
    """Return the unit of this name or spelling; None for an unknown one."""
    return _BY_SPELLING.get(unit)


@functools.lru_cache(maxsize=4096)
def fom(name: str, unit: str, better: str, *, source: str = "", field: str = "") -> Fom:
    """Return a declared figure of merit; `unit` is the name or a spelling of one, `better` a direction.

    Raises InputError for an unknown unit or direction, and for a name that is not of small letters, digits and `_`.
    """
    at = f"{field}.{name}" if field else name
    if not _NAME.fullmatch(name):
        raise InputError(source or name, field, name, "a name of small letters, digits and _")
    registered = find(unit)
    if registered is None:
        near = difflib.get_close_matches(unit, _BY_SPELLING, n=5, cutoff=0.5) or ["us", "s", "GB/s", "Gflop/s", "per_s"]
        valid = f"a unit of railyard/records/units.py, such as {', '.join(near)}"
        raise InputError(source or name, f"{at}.unit" if source else "unit", unit, valid)
    if better not in list(Better):
        raise InputError(source or name, f"{at}.better" if source else "better", better, ", ".join(Better))
    return restored(name, registered.name, better)


@functools.lru_cache(maxsize=4096)
def restored(name: str, unit: str, better: str) -> Fom:
    """Return the figure whose name, name of its unit, and direction were stored."""
    return Fom(name, _BY_SPELLING[unit], Better(better))


def check_samples(fom: Fom, samples: Sequence[float], source: str, field: str) -> None:
    """Raise InputError for the first sample that is not finite or lies outside the range of the FOM's unit."""
    unit = fom.unit
    if samples and unit.minimum <= min(samples) and max(samples) <= unit.maximum and math.isfinite(sum(samples)):
        return  # the sum finds NaN, which passes the other two
    for index, sample in enumerate(samples):
        if not (math.isfinite(sample) and unit.minimum <= sample <= unit.maximum):
            wanted = f"a number from {unit.minimum:g} to {unit.maximum:g}"
            raise InputError(source, f"{field}.samples[{index}]", sample, wanted)
