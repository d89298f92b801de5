r"""Read a program's output by the patterns of its check, for a program that has no parser of its own.

Models: figures of merit, the number of ranks, parameters and limits, each one line of the output with NUMBER or a group
where the wanted text is. A pattern is a regular expression for a whole line, or for several with `\n` between them.
Leaves out programs whose figures are in a file or in a table: they have a module with a `parse` function.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from railyard.applications.reading import Output, Parser, Reading, single
from railyard.base.decoded import decoded
from railyard.base.errors import InputError
from railyard.records import units
from railyard.records.json_io import Json
from railyard.records.units import Fom


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A condition of a right run: a printed number is at most `at_most`, or at most that share of another number."""

    pattern: str
    at_most: float
    share_of: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure of merit: the pattern of its line, its unit as printed or registered, and its better direction.

    A group `unit` in the pattern is the unit that the program prints, which must be the declared one or one of time.
    """

    pattern: str
    unit: str
    better: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Patterns:
    """The patterns of a program's output.

    `figures` are name -> figure, of units in railyard/records/units.py; the first is the score's.
    `verified` is a line that only a right run prints; a run needs it, or a limit, to be verified. `ranks` matches the
    number of ranks that the program itself counts, `parameters` further values for the record.
    """

    program: str
    figures: Mapping[str, Figure]
    ranks: str = ""
    verified: str = ""
    limits: Mapping[str, Limit] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    version: str = "unknown"

    def __post_init__(self) -> None:
        """Raise InputError for patterns that can never give a figure, before anything runs."""
        declared = self.declared()
        if not self.figures:
            valid = "at least one figure of merit, with its pattern"
            raise InputError(self.program, "figures", problem="none is named", valid=valid)
        stems = [fom.stem for fom in declared]
        if twice := next((fom for fom in declared if stems.count(fom.stem) > 1), None):
            same = ", ".join(fom for fom in declared if fom.stem == twice.stem)
            valid = "names that differ before the unit, because the report shows them without it"
            raise InputError(self.program, "figures", same, valid)
        if not self.verified and not self.limits:
            valid = "a line or a limit of a right run"
            raise InputError(self.program, "verified, limits", problem="neither is named", valid=valid)

    def declared(self) -> list[Fom]:
        """Return the figures with unit and direction; raises InputError for an unknown one."""
        return [
            units.fom(name, figure.unit, figure.better, source=self.program, field="figures")
            for name, figure in self.figures.items()
        ]

    def document(self) -> dict[str, Json]:
        """Return the patterns as the JSON that a job contains."""
        return asdict(self)


def load(document: Mapping[str, Json]) -> Patterns:
    """Return the patterns in a job's JSON."""
    return decoded(Patterns, document, "patterns")


def parser(patterns: Patterns) -> Parser:
    """Return a parser that applies patterns."""

    def parse(text: str, _left: str, source: str) -> Reading:
        output = Output(source=source, text=text)
        return Reading(
            program=patterns.program,
            version=patterns.version,
            series=[single(fom, _value(output, fom, patterns.figures[fom].pattern)) for fom in patterns.declared()],
            ranks=output.whole("ranks", patterns.ranks) if patterns.ranks else None,
            parameters={name: output.token(name, pattern) for name, pattern in patterns.parameters.items()},
            fault=_fault(patterns, output),
        )

    return parse


def _value(output: Output, fom: Fom, pattern: str) -> float:
    """Return a figure in its declared unit; InputError if the program printed it in one that is not a multiple."""
    value = output.number(fom, pattern)
    text = output.lines(pattern)[0].groupdict().get("unit")
    printed = fom.unit if text is None else units.find(text)
    if printed is not None and {printed.name, fom.unit.name} <= units.SECONDS.keys():
        return value * units.SECONDS[printed.name] / units.SECONDS[fom.unit.name]
    if printed is not fom.unit:
        raise InputError(output.source, f"unit of {fom}", text, f"{fom.unit.text}, as declared")
    return value


def _fault(patterns: Patterns, output: Output) -> str:
    """Return why a run is not verified, in one line; empty for a verified one."""
    if patterns.verified and not output.lines(patterns.verified):
        return f"{patterns.program}: no line matches {patterns.verified!r}, which a right run prints"
    for name, limit in patterns.limits.items():
        value = output.number(name, limit.pattern)
        most = limit.at_most * (output.number(f"{name}, share of", limit.share_of) if limit.share_of else 1.0)
        if not value <= most:
            return f"{patterns.program}: {name} is {value:g}, to be at most {most:g}"
    return ""
