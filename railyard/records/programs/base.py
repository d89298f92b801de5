"""Define one of railyard's own benchmarks: the options that a case gives, and what contradicts a launch's figures.

Parameters that old records or small cases lack are left out. `Free` marks a number that no parameter has and that does
not change the work, such as warm-up iterations. A function of `contradictions` yields a line for each figure that is
not what the case and the other figures of a launch determine. It never judges whether the numbers are good.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Never

from railyard.records.benchmark import Label, Series, Unmeasured
from railyard.records.folded.ranks import Ranks
from railyard.records.json_io import Json

Point = frozenset[tuple[str, Label]]
#: Relative room for figures that a program writes with 12 digits.
DIGITS = 1e-6
#: Relative room for times of two ranks, each by its own clock.
CLOCKS = 0.01


@dataclass(frozen=True, kw_only=True)
class Run:
    """One launch, as these functions read it."""

    parameters: Mapping[str, Json]
    ranks: Ranks
    series: Sequence[Series]
    not_measured: Sequence[Unmeasured] = ()
    reported: Mapping[str, Json] = field(default_factory=dict)
    grid: Sequence[int] = ()

    @functools.cached_property
    def figures(self) -> Mapping[str, Mapping[Point, Sequence[float]]]:
        """Return figure of merit -> point -> samples."""
        figures: dict[str, dict[Point, Sequence[float]]] = defaultdict(dict)
        for series in self.series:
            figures[str(series.fom)][frozenset(series.labels.items())] = series.samples
        return figures

    def points(self, *foms: str) -> Iterator[tuple[Mapping[str, Label], tuple[Sequence[float], ...]]]:
        """Yield the labels of each point of the first figure, and the samples of all; none where a figure lacks it."""
        for point, samples in self.figures.get(foms[0], {}).items():
            others = (self.figures.get(fom, {}).get(point, ()) for fom in foms[1:])
            yield dict(point), (samples, *others)

    def lacks(self, foms: Iterable[str], **labels: Label) -> Iterator[str]:
        """Yield a line for each figure without a series at some labels, unless that point is not measured."""
        wanted = labels.items()
        for fom in foms:
            points = self.figures.get(fom, ())
            if any(wanted <= point for point in points) if labels else points:
                continue
            if not any(
                all(one.labels.get(name, value) == value for name, value in wanted)
                for one in self.not_measured
                if one.labels
            ):
                at = ", ".join(f"{name} {value}" for name, value in wanted)
                yield f"no {fom}{' at ' if at else ''}{at}, which the program always writes"

    def counts(self, wanted: Json, foms: Iterable[str] = ()) -> Iterator[str]:
        """Yield a line for each figure, of all or of some, that has not the wanted number of samples."""
        for fom in foms or self.figures:
            for samples in self.figures.get(fom, {}).values():
                if type(wanted) is int and len(samples) != wanted:
                    yield f"{fom}: {len(samples)} samples; repeats is {wanted}"


def unlike(fom: str, samples: Sequence[float], determined: Sequence[float], *, room: float = DIGITS) -> Iterator[str]:
    """Yield a line for the first sample that is not what the rest determines."""
    yield from outside(fom, samples, determined, determined, room=room)


def outside(
    fom: str, samples: Sequence[float], least: Sequence[float], most: Sequence[float], *, room: float = DIGITS
) -> Iterator[str]:
    """Yield a line for the first sample below or above what the rest determines."""
    if not len(samples) == len(least) == len(most):
        yield f"{fom}: {len(samples)} samples; the figures that determine it have {len(least)}"
        return
    for sample, low, high in zip(samples, least, most, strict=True):
        if sample < low - room * abs(low) - 1e-12 or sample > high + room * abs(high) + 1e-12:
            bounds = f"{low:.6g}" if low == high else f"{low:.6g} to {high:.6g}"
            yield f"{fom} is {sample:.6g}; the rest of the launch gives {bounds}"
            return


def numbers(value: Json) -> list[int]:
    """Return the whole numbers of a parameter that is a list; none for another value."""
    return [number for number in value if type(number) is int] if isinstance(value, list) else []


def words(value: Json) -> list[str]:
    """Return the words of a parameter that is a list; none for another value."""
    return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []


#: Function from a launch to its contradictions.
Contradictions = Callable[[Run], Iterator[str]]
#: Function from a launch to (host, bytes that left it at least); the host is empty for all hosts together.
Sent = Callable[[Run], Iterator[tuple[str, float]]]


def nothing(run: Run) -> Iterator[Never]:
    """Yield nothing, for a program whose figures determine nothing of each other, or whose bytes are not known."""
    yield from ()


@dataclass(frozen=True, slots=True)
class Free:
    """A word of a command that no parameter determines; `pattern` matches every such word, and `shown` names it."""

    pattern: str
    shown: str = "NUMBER"


Word = str | Free
#: Figure -> the figures of the same point of which it may be a function.
Follows = Mapping[str, tuple[str, ...]]
NUMBER = Free(r"\d+(?:\.\d+)?")
SMALL = "small"
#: Untimed and timed seconds of each point of the programs that choose the length of a sample themselves, by scale.
TIMES: Mapping[str, tuple[str, ...]] = {
    SMALL: ("--warmup-time", "0", "--min-time-per-point", "0", "--max-time-per-point", "0"),
    "standard": ("--warmup-time", "0.05", "--min-time-per-point", "0.2", "--max-time-per-point", "10"),
    "large": ("--warmup-time", "0.2", "--min-time-per-point", "2", "--max-time-per-point", "60"),
}


class Kind(StrEnum):
    """The kind of a parameter's value."""

    INTEGER = "a whole number"
    INTEGERS = "a list of whole numbers"
    NUMBER = "a number"
    TEXT = "a text"
    TEXTS = "a list of texts"

    def has(self, value: Json) -> bool:
        """Return whether a value is of this kind."""
        items = value if self in {Kind.INTEGERS, Kind.TEXTS} else [value]
        types = {Kind.INTEGER: (int,), Kind.INTEGERS: (int,), Kind.NUMBER: (int, float)}.get(self, (str,))
        return isinstance(items, list) and bool(items) and all(type(item) in types for item in items)


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The parameters of a case, and what else the options depend on.

    `unrecorded` are numbers that are not parameters, by name; a number without an entry may be any (`Free`). `used` are
    the parameters from which options were made.
    """

    parameters: Mapping[str, Json]
    is_located: bool = True
    is_emulated: bool = False
    unrecorded: Mapping[str, float] = field(default_factory=dict)
    used: set[str] = field(default_factory=lambda: {"scale"})

    def value(self, parameter: str, default: Json = None) -> Json:
        """Return the value of a parameter, and note that the command has it."""
        self.used.add(parameter)
        return self.parameters.get(parameter, default)

    def option(self, name: str, parameter: str, mark: str = ",", unit: str = "") -> Iterator[Word]:
        """Yield an option with the value of a parameter; nothing if the case lacks the parameter."""
        value = self.value(parameter)
        if isinstance(value, list | tuple):
            yield from (name, mark.join(map(str, value)))
        elif value is not None:
            yield from (name, f"{value:g}{unit}" if isinstance(value, float) else f"{value}{unit}")

    def options(self, *named: str) -> Iterator[Word]:
        """Yield options, named as `--size=size_bytes` or, where the parameter has the option's name, as `--window`."""
        for one in named:
            name, _, parameter = one.partition("=")
            yield from self.option(name, parameter or name.removeprefix("--").replace("-", "_"))

    def number(self, name: str, unrecorded: str) -> Iterator[Word]:
        """Yield an option with a number that is not a parameter."""
        value = self.unrecorded.get(unrecorded)
        yield from (name, NUMBER if value is None else f"{value:g}")

    @property
    def scale(self) -> str:
        """Return the case's scale; empty for a case of a check without sizes by scale."""
        return str(self.parameters.get("scale", ""))

    def timing(self, scale: str = "", warmups: int | None = 0, least_s: float = 0) -> Iterator[Word]:
        """Yield the options that set how often each point is measured; `warmups` None is a number of no parameter."""
        yield from self.option("--repeats", "repeats")
        if not (scale or self.scale):
            return
        scale = scale or self.scale
        if warmups is None:
            yield from self.number("--warmups", "warmups")
        else:
            yield from ("--warmups", str(warmups if warmups or scale == SMALL else 2))
        times = list(TIMES[scale])
        if scale == SMALL:
            times[times.index("--min-time-per-point") + 1] = f"{least_s:g}"
        yield from times

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Return the option that names the file of the nodes' coordinates, where the machine has any."""
        return ("--coordinates", "coordinates") if self.is_located else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One benchmark: its name, and the function that yields its options in order.

    `noun` names what it measures in a sentence: "the halo exchange". `needs` are the parameters that every case has,
    with their kinds; `may` are the others. `figures` maps each figure that the program writes to the names of the
    labels that its series may have, with blanks between.
    `contradictions` yields what contradicts the case or other figures of a launch, and `sent` the bytes that left each
    host.
    `follows` maps a figure that is a function of another at the same point to that other: they are one measurement.
    Of several others the first that a launch has counts.
    """

    name: str
    noun: str
    options: Callable[[Given], Iterator[Word]]
    needs: Mapping[str, Kind]
    figures: Mapping[str, str]
    may: Mapping[str, Kind] = field(default_factory=dict)
    contradictions: Contradictions = nothing
    sent: Sent = nothing
    follows: Follows = field(default_factory=dict)
