"""Define one of railyard's own benchmarks: the options that the parameters of a case give.

Parameters that old records or small cases lack are left out. `Free` marks a number that no parameter has and that does
not change the work, such as warm-up iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from railyard.records.json_io import Json
from railyard.records.programs.contradictions import Contradictions, Sent, no_bytes, nothing


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
    sent: Sent = no_bytes
    follows: Follows = field(default_factory=dict)
